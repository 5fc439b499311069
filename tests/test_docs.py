"""The documentation keeps up with the code."""

import ast
import doctest
import functools
import importlib
import importlib.util
import inspect
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest

import vbmle
from vbmle.common import validation
from vbmle.common.settings import choices_of
from vbmle.common.stated import Stated

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def hooks():
    """docs/hooks.py, the very file that `make docs` runs."""
    spec = importlib.util.spec_from_file_location("docs_hooks", DOCS / "hooks.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_api_page_names_every_public_name_and_no_other(hooks):
    assert hooks.problems((DOCS / "api.md").read_text()) == []


def test_a_missing_name_is_found(hooks):
    text = (DOCS / "api.md").read_text()
    name = hooks.page_names(text)[0]
    assert hooks.problems(text.replace(f"::: {name}\n", "")) == [
        f"{name} is public but not documented in docs/api.md"
    ]


def test_an_invented_name_is_found(hooks):
    text = (DOCS / "api.md").read_text() + "\n::: vbmle.no_such_name\n"
    assert hooks.problems(text) == ["vbmle.no_such_name is documented in docs/api.md but not public"]


def test_formulas_are_set_as_mathematics(hooks):
    text = hooks.set_formulas("before\n\n$$\n\\frac{1}{2} \\le x\n$$\n\nafter")
    assert text.startswith("before\n\n<p><math")
    assert text.endswith("</math></p>\n\nafter")
    assert "<mfrac>" in text
    assert "$$" not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("θ_MLE and 1/p_min²", "θ<sub>MLE</sub> and 1/p<sub>min</sub>²"),
        ("A_t^{-1}", "A<sub>t</sub><sup>-1</sup>"),
        ("θ_{t+1}^MLE, Σ_{i<t} z_i", "θ<sub>t+1</sub><sup>MLE</sup>, Σ<sub>i&lt;t</sub> z<sub>i</sub>"),
        (
            "β'_t, V^π, log^1.5 T, T^0.409",
            "β'<sub>t</sub>, V<sup>π</sup>, log<sup>1.5</sup> T, T<sup>0.409</sup>",
        ),
        ("(I + P_π^T)^{-1}, 2^(k/500)", "(I + P<sub>π</sub><sup>T</sup>)<sup>-1</sup>, 2<sup>k/500</sup>"),
        ("::: vbmle.x_y.log_likelihood", "::: vbmle.x_y.log_likelihood"),
        ("`theta_t`, from_models, s_next", "`theta_t`, from_models, s<sub>next</sub>"),
        ("[a](large_x_y.md#a_b) ![](images/x_y.png)", "[a](large_x_y.md#a_b) ![](images/x_y.png)"),
        ("```\nx_1\n```\nx_1", "```\nx_1\n```\nx<sub>1</sub>"),
        ("a plain sentence, 3 of 4 (so)", "a plain sentence, 3 of 4 (so)"),
    ],
)
def test_indices_and_powers_are_set_below_and_above_the_line(hooks, text: str, expected: str):
    assert hooks.set_symbols(text) == expected


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_formulas_can_be_read(page: Path, hooks):
    """Every command of a formula is known: an unknown one stands on the page as it was written."""
    shown = hooks.set_formulas(page.read_text())
    for formula in re.findall(r"<math.*?</math>", shown, re.DOTALL):
        assert "\\" not in formula, formula
    assert "\n$$\n" not in shown


PAGES = [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
"""A block of code, and the block of output that follows it, if one does."""
END = "-- end of the example --"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run_as_they_stand_and_print_what_the_page_shows(page: Path, tmp_path: Path):
    blocks = EXAMPLE.findall(page.read_text())
    command = [sys.executable, "-c", "\n".join(f"{code}\nprint({END!r})" for code, _ in blocks)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    for (_, shown), printed in zip(blocks, done.stdout.split(END), strict=False):
        assert not shown or printed.strip() == shown.strip()


def is_there(dotted: str) -> bool:
    """Whether a dotted name leads to something: a module, or what is in one."""
    parts = dotted.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:k]))
        except ImportError:
            continue
        for part in parts[k:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_only_what_exists(page: Path):
    text = page.read_text()
    assert [name for name in re.findall(r"`(vbmle(?:\.\w+)+)\b", text) if not is_there(name)] == []
    files = re.findall(
        r"\b((?:src|tests|examples|core|vbmle|agents|estimation|planning)/[\w/.-]+\.(?:py|cpp|hpp|h)\b)", text
    )
    homes = [DOCS.parent / folder for folder in ("", "src", "src/vbmle")]
    assert [name for name in files if not any((home / name).exists() for home in homes)] == []


def test_a_name_that_is_gone_is_noticed():
    assert is_there("vbmle.agents.uclk.published_sweeps")
    assert is_there("vbmle.VBMLE.act")
    assert not is_there("vbmle.agents.uclk.no_such_function")
    assert not is_there("vbmle.no_such_module.function")


NAMES = re.findall(r"^::: (\S+)", (DOCS / "api.md").read_text(), re.MULTILINE)
"""What the reference documents."""


def named(name: str) -> Any:
    """The class or function of a dotted name."""
    return functools.reduce(getattr, name.split(".")[1:], vbmle)


def sections(name: str) -> dict[str, str]:
    """The sections of a docstring by title; what comes before the first is ""."""
    parts = re.split(r"^(\w+)\n-+\n", inspect.getdoc(named(name)) or "", flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def described(name: str) -> dict[str, str]:
    """The parameters, or the fields of a result, that a docstring lists: what follows the colon, by name."""
    found = sections(name)
    text = found.get("Parameters", "") + found.get("Attributes", "")
    return dict(re.findall(r"^(\w+) : (.+)$", text, re.MULTILINE))


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """What it is called with, but for **settings."""
    found = inspect.signature(named(name)).parameters
    return {key: one for key, one in found.items() if one.kind is not one.VAR_KEYWORD}


@pytest.mark.parametrize("name", NAMES)
def test_reference_has_an_example_that_holds(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = doctest.DocTestFinder(recurse=False).find(named(name), name, globs={})
    assert [case.name for case in found if case.examples], f"{name} has no example"
    for case in found:
        assert doctest.DocTestRunner().run(case).failed == 0


@pytest.mark.parametrize("name", NAMES)
def test_reference_describes_every_parameter(name: str):
    assert list(described(name)) == list(parameters(name))


@pytest.mark.parametrize("name", [name for name in NAMES if "Attributes" not in sections(name)])
def test_reference_states_the_defaults(name: str):
    for key, text in described(name).items():
        default = parameters(name)[key].default
        if default is None:
            assert text.endswith(", optional"), f"{name}: {key} is optional"
        elif default is inspect.Parameter.empty:
            assert "default" not in text, f"{name}: {key} has no default"
        else:
            assert eval(text.split(", default ")[1]) == default, f"{name}: {key}"


@pytest.mark.parametrize("name", NAMES)
def test_reference_lists_the_choices(name: str):
    for key, choices in choices_of(named(name)).items():
        text = described(name)[key]
        assert {item for item in choices if json.dumps(item) not in text} == set(), f"{name}: {key}"


def readable(name: str) -> list[str]:
    """The docstrings that the page shows for a name: its own, and those of its public members."""
    value = named(name)
    members = vars(value).items() if isinstance(value, type) else ()
    own = [getattr(member, "__doc__", None) for key, member in members if not key.startswith("_")]
    return [text for text in (value.__doc__, *own) if text]


@pytest.mark.parametrize("name", NAMES)
def test_reference_keeps_its_angle_brackets(name: str):
    """Markdown takes <c, theta> for a tag and drops it: such formulas stand in backticks."""
    for text in readable(name):
        plain = re.sub(r"`[^`]*`", "", re.sub(r"^ *>>>.*", "", text, flags=re.MULTILINE))
        assert re.findall(r"<[A-Za-z/]", plain) == []


def refuses(name: str) -> bool:
    """Whether the code of a function, or that makes one of a class, checks what it is given."""
    value, is_class = named(name), isinstance(named(name), type)
    if is_class and issubclass(value, Stated) and value.made_of_fields:
        return True  # it checks its fields
    made = inspect.getsource(value.__init__ if is_class else value)
    for node in ast.walk(ast.parse(textwrap.dedent(made))):
        if isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).split(".")[-1].lstrip("_")
            if called.startswith("require") or inspect.isfunction(getattr(validation, called, None)):
                return True
    return False


@pytest.mark.parametrize("name", [name for name in NAMES if "Attributes" not in sections(name)])
def test_reference_says_what_is_raised(name: str):
    assert not refuses(name) or "Raises" in sections(name)
