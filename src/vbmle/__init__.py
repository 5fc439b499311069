"""Learning to control Markov decision processes whose dynamics are an unknown mix of known models.

The public names are listed once, in `__init__.pyi`, where type checkers and editors look. Each loads on first use, so
that `import vbmle` stays light.
"""

from importlib import import_module

with open(f"{__file__}i", encoding="ascii") as _stub:
    # from HOME import NAME as NAME
    _HOME = {line.split()[3]: line.split()[1] for line in _stub if line.startswith("from ")}

__all__ = sorted(_HOME)
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import the module that holds `name` and hand it out; the next time it is there."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'vbmle' has no attribute {name!r}")
    found = import_module(f"vbmle.{name}") if home == "vbmle" else getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
