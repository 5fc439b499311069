"""The rules of the house: what may import what, what stays light, and what the first page promises."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "vbmle"

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def layers(text: str) -> list[str]:
    """The folders and modules of the tree in CONTRIBUTING.md, from the bottom layer up."""
    tree = re.search(r"^```\nsrc/vbmle/\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"^  (\w+)(?:/|\.py) ", tree.group(1), re.MULTILINE) if tree else []


# A module may import from its own layer and from those before it in this list.
LAYER_OF = {name: number for number, name in enumerate(layers(CONTRIBUTING))}

HEAVY = {"numba", "scipy.optimize", "matplotlib", "polars", "gymnasium", "plotly"}


def source_files() -> list[Path]:
    """Every source file but the front door, which imports from everywhere by design."""
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def dotted(path: Path) -> list[str]:
    """src/vbmle/agents/base.py as [vbmle, agents, base]."""
    parts = list(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def imported_modules(path: Path) -> set[str]:
    """Absolute names of all that a file imports, those inside functions and under TYPE_CHECKING included."""
    package = dotted(path) if path.name == "__init__.py" else dotted(path)[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{origin}.{alias.name}" for alias in node.names}
    return found


def misplaced_imports(path: Path) -> list[str]:
    """What a file imports against the order of the layers, in words."""
    here = dotted(path)[1]
    if here not in LAYER_OF:
        return [f"{here} has no layer: give it a line in the tree of CONTRIBUTING.md"]
    wrong = []
    for name in sorted(imported_modules(path)):
        parts = name.split(".")
        if parts[0] == "ctypes" and here != "core":
            wrong.append("ctypes, which only vbmle.core may import")
        if parts[:3] == ["vbmle", "core", "generated"] and here != "core":
            wrong.append("the structs of the core, which only vbmle.core may fill")
        if parts[0] != "vbmle":
            continue
        # `from vbmle import plan` goes through the front door, which knows every module: for the top alone.
        top = len(LAYER_OF) - 1
        layer = LAYER_OF.get(parts[1], top) if len(parts) > 1 else top
        if layer > LAYER_OF[here]:
            wrong.append(name)
    return wrong


@pytest.mark.parametrize("path", source_files(), ids=lambda path: ".".join(dotted(path)))
def test_imports_go_one_way(path: Path):
    assert misplaced_imports(path) == []


def test_the_tree_that_is_shown_is_the_tree_there_is():
    """Which also says that the parametrised test above had something to look at."""
    assert set(LAYER_OF) == {dotted(path)[1] for path in source_files()}


LINES_IN_A_FUNCTION = 60


def too_long(path: Path) -> list[str]:
    """The functions of a file that do not fit on a screen, in words; code counts, its docstring does not."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            docstring = first.lineno - node.body[0].lineno
            length = (node.end_lineno or 0) - node.lineno + 1 - docstring
            if length > LINES_IN_A_FUNCTION:
                found.append(f"{node.name} has {length} lines of code (at most {LINES_IN_A_FUNCTION})")
    return found


@pytest.mark.parametrize("folder", ["src", "tests", "docs", "core", "benchmarks", "chain", "examples"])
def test_functions_fit_on_a_screen(folder: str):
    built = ROOT / "core" / "build"  # where other tests put a Python of another processor
    paths = sorted(path for path in (ROOT / folder).rglob("*.py") if not path.is_relative_to(built))
    assert paths
    assert {str(path.relative_to(ROOT)): words for path in paths if (words := too_long(path))} == {}


def test_the_rule_of_length_sees_what_it_should(tmp_path: Path):
    path = tmp_path / "long.py"
    short = 'def short():\n    """One\n\n    line."""\n' + "    x = 1\n" * 59
    long = "def long():\n" + "    x = 1\n" * 60
    path.write_text(short + long)
    assert too_long(path) == ["long has 61 lines of code (at most 60)"]


WHERE = {
    "change the bias schedule": "class BiasSchedule",
    "add a setting that every agent has which learns from counts": "class Memory(",
    "add a kind of range for settings": "class Check(",
    "add an agent": "class Agent(",
    "add a world": "A new world is",
    "change the Newton step": "newton_step",
    "change a constant of the solvers": "struct Tuning",
    "say when policies are evaluated by factors, when by sweeps": "method_for_many_plans",
    "change how a climb goes about large models": "approach_for",
    "change the quadratic programs": "solve_qp",
    "change how interior points are found": "def move_inside",
    "change the resume rule": "The resume rule",
    "change a colour": "COLORS =",
    "add a column to a report table": "class RegretRow",
    "add a section to a report": "class Sections",
    "change what counts as significant": "def difference(",
    "record something else of every trial": "What is recorded of a run",
    "change how records are kept": "CREATE TABLE records",
    "change what a longer run continues from": "class Rest",
    "tighten the branch-and-bound bound": "value_excess",
    "change reward normalisation": "reward_scale =",
    "change the hit-and-run sampler": "hit_and_run",
    "change how policies are judged by draws": "find_losses",
    "change the order in which sparse chains are eliminated": "take_pivot",
    "change planning for sparse models": "sweep",
    "add a flag to `vbmle run`": "def run(",
    "find UCLK's radius": "def paper_radius",
    "change what a request to the service means": "class Controller",
    "change what the page of a loop says first": "verdict",
    "add a request to the service": "def operations(",
    "record another kind of event": "KINDS",
    "add an argument to `vbmle serve`": "add_argument(",
    "add a figure for Prometheus": "CounterMetricFamily(",
    "change how much a client may ask for at once": "class Limits",
    "read models from tables and logs": "def models_from_",
    "read or write models in another format": "WRITERS",
    "change what a prior may be": "def checked",
    "change what a saved model holds": "def arrays_of",
    "change how rounded rows of models are mended": "class _Rounding",
    "list a public name": "import VBMLE as VBMLE",
    "add an extra": "EXTRAS =",
    "add a world to the playground": "def scenes(",
    "add a row to the speed table": "def jobs(",
}
"""What a newcomer wants to do, and what the file that is named has to hold."""


def test_where_things_are_names_the_file_for_each_task():
    section = CONTRIBUTING.split("| You want to | Open |")[1].split("\n\n")[0]
    rows = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", section, re.MULTILINE))
    assert set(rows) == set(WHERE)
    for task, answer in rows.items():
        name = re.findall(r"`([\w/]+\.(?:pyi?|[ch]pp))`", answer)[0]
        home = (ROOT if name.startswith(("core/src", "benchmarks")) else PACKAGE) / name
        assert WHERE[task] in home.read_text(), f"{task}: {name}"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("planning/plan.py", "from vbmle.model.world import World", []),
        ("planning/plan.py", "from vbmle import agents", ["vbmle.agents"]),
        ("planning/plan.py", "from vbmle import plan", ["vbmle.plan"]),
        ("planning/plan.py", "import vbmle", ["vbmle"]),
        ("agents/base.py", "from ..cli import app", ["vbmle.cli.app"]),
        ("agents/base.py", "from . import other", []),
        ("agents/__init__.py", "from ..report import page", ["vbmle.report.page"]),
        ("model/mdp.py", "def f():\n    import vbmle.report.page", ["vbmle.report.page"]),
        ("model/mdp.py", "import ctypes", ["ctypes, which only vbmle.core may import"]),
        ("model/mdp.py", "from ctypes import c_void_p", ["ctypes, which only vbmle.core may import"]),
        ("core/lu.py", "from ctypes import c_void_p", []),
        (
            "model/mdp.py",
            "from vbmle.core.generated import vb_model_data",
            ["the structs of the core, which only vbmle.core may fill"],
        ),
        ("core/lu.py", "from vbmle.core.generated import vb_model_data", []),
        ("newcomer.py", "", ["newcomer has no layer: give it a line in the tree of CONTRIBUTING.md"]),
    ],
)
def test_the_import_rule_sees_what_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, expected: list[str]
):
    package = tmp_path / "vbmle"
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", package)
    (package / name).parent.mkdir(parents=True)
    (package / name).write_text(text)
    assert misplaced_imports(package / name) == expected


def modules_after(code: str) -> set[str]:
    """Names in sys.modules of a new interpreter after it has run `code`."""
    report = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


HELP = """
import sys
from vbmle.cli import app
sys.argv = ["vbmle", "--help"]
try:
    app()
except SystemExit as end:
    assert end.code == 0
"""


@pytest.mark.parametrize("code", ["import vbmle", HELP], ids=["import vbmle", "vbmle --help"])
def test_heavy_parts_load_on_first_use(code: str):
    assert modules_after(code) & HEAVY == set()


MODULES_OF_VBMLE = 30


def test_an_agent_brings_few_modules():
    """A reader of VBMLE has this many files to read, packages and the generated binding included."""
    behind = {name for name in modules_after("import vbmle; vbmle.VBMLE") if name.split(".")[0] == "vbmle"}
    assert len(behind) <= MODULES_OF_VBMLE, sorted(behind)


def test_public_names_exist_and_say_what_they_are():
    import vbmle

    assert len(set(vbmle.__all__)) == len(vbmle.__all__)
    for name in vbmle.__all__:
        if name.startswith("__"):
            continue
        text = getattr(vbmle, name).__doc__
        assert text, f"vbmle.{name} has no docstring"
        # A dataclass without a docstring gets its own signature for one.
        assert not text.startswith(f"{name}("), f"vbmle.{name} has no docstring of its own"


def test_the_first_page_shows_before_it_lists():
    page = (ROOT / "README.md").read_text()
    order = ["pip install", "![", "```python", "**What it is for.**", "**What it is not for.**"]
    at = [page.index(item) for item in order]
    assert at == sorted(at)
    first_list = re.search(r"^(- |\||1\. )", page, re.MULTILINE)
    assert first_list is None or first_list.start() > at[-1]


@pytest.mark.parametrize("target", ["paper", "test"])
def test_the_two_commands_are_there_and_named(target: str):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert f"make {target}" in (ROOT / "README.md").read_text()
