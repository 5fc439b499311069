"""The documentation keeps up with the code."""

import doctest
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_examples_run_as_they_stand(page: Path, tmp_path: Path):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    command = [sys.executable, "-c", "\n".join(blocks)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def documented() -> list[str]:
    """The public names that have an example."""
    import vbmle

    return [name for name in vbmle.__all__ if ">>>" in (getattr(vbmle, name).__doc__ or "")]


@pytest.mark.parametrize("name", documented())
def test_examples_of_the_reference_hold(name: str):
    import vbmle

    value = getattr(vbmle, name)
    for case in doctest.DocTestFinder(recurse=False).find(value, name, globs={}):
        assert doctest.DocTestRunner().run(case).failed == 0


def test_agents_and_solvers_have_an_example():
    agents = {"VBMLE", "ApproximateVBMLE", "MaximumLikelihood", "UCLK", "UCLKPlus", "UPACUCLK"}
    agents |= {"RBMLE", "PSRL", "UCRL2", "QLearning", "Random", "Oracle"}
    solvers = {"plan", "evaluate", "maximum_likelihood", "value_biased", "log_likelihood", "simulate"}
    assert agents | solvers <= set(documented())


def test_settings_of_agents_are_all_described():
    import vbmle

    for name in documented():
        value = getattr(vbmle, name)
        text = value.__doc__ or ""
        if isinstance(value, type) and issubclass(value, vbmle.Agent):
            for setting in inspect.signature(value).parameters.values():
                if setting.kind is not setting.VAR_KEYWORD:
                    assert f"\n    {setting.name} : " in text, f"{name} does not explain {setting.name}"
