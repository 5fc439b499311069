"""The resume key: what decides numbers is in it, and what only looks at them is not."""

import shutil
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from sweeps import NETWORK, small

from vbmle.experiments import catalogue, playing, resume_key
from vbmle.experiments.resume_key import PACKAGE, code_version, core_files, deciding_files
from vbmle.experiments.spec import Choice, Recording

LOOKED_UP = {
    "experiments/spec.py",  # settings, seeds and recorded steps: each record is compared with them by itself
    "experiments/catalogue.py",  # which function a name stands for
    "experiments/own_parts.py",  # which function of yours, whose code the fingerprint has
    "common/settings.py",  # whether a maker asks for a seed, which the fingerprint has
    "common/files.py",  # reading and writing
    "common/extras.py",
    "experiments/__init__.py",
}
"""Files that run while a trial is played and that decide no number, with the reason."""

ROOT = PACKAGE.parents[1]


def files_that_run(agent: str, world: Choice) -> set[str]:
    """The files of the package of which some function runs while a trial is made, played and measured."""
    record = Recording("log", distance=True, mle_error=True)
    agents = {"one": Choice(agent)}
    (trial,) = small(worlds={"here": world}, agents=agents, horizon=12, record=record).all_trials()
    found: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(PACKAGE):
            found.add(path.relative_to(PACKAGE).as_posix())

    sys.setprofile(note)
    try:
        playing.play(trial)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("agent", catalogue.general())
def test_all_that_an_agent_runs_is_in_the_key(agent: str):
    """The mistake of leaving out what decides numbers."""
    ran = files_that_run(agent, NETWORK)
    assert {"experiments/playing.py", "simulation.py", "experiments/measures.py"} <= ran
    assert ran - LOOKED_UP - dict(deciding_files()).keys() == set()


@pytest.mark.parametrize(
    ("world", "settings"),
    [
        ("riverswim", {"features": "mixture"}),
        ("hypercube", {"dimension": 3}),
        ("frozen_lake", {"size": 4}),
        ("inventory", {"capacity": 8}),
        ("closed_loop_trap", {}),
    ],
)
def test_all_that_a_world_runs_is_in_the_key(world: str, settings: dict[str, Any]):
    ran = files_that_run("MaximumLikelihood", Choice(world, settings))
    assert ran - LOOKED_UP - dict(deciding_files()).keys() == set()


def test_the_key_names_what_there_is():
    for part in resume_key.DECIDING:
        assert (PACKAGE / part).exists(), f"{part} is in the key, but not in the package"
    assert "core/include/vbmle.h" in dict(core_files())
    assert "core/src/climbing/climb.cpp" in dict(core_files())


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources; the package in it."""
    home = tmp_path_factory.mktemp("checkout")
    skipped = shutil.ignore_patterns("build", "__pycache__", "libvbmle*", "assets")
    for name in ("src", "core"):
        shutil.copytree(ROOT / name, home / name, ignore=skipped)
    return home / "src" / "vbmle"


def changes(package: Path, name: str, more: bytes) -> bool:
    """Whether this at the end of a file makes another key."""
    path = package / name
    before, content = code_version.__wrapped__(package), path.read_bytes()
    path.write_bytes(content + more)
    after = code_version.__wrapped__(package)
    path.write_bytes(content)
    assert code_version.__wrapped__(package) == before
    return after != before


DECIDE = [
    "agents/vbmle.py",
    "agents/triggers.py",
    "worlds/riverswim.py",
    "model/mdp.py",
    "planning/planner.py",
    "estimation/maximiser.py",
    "simulation.py",
    "core/solver.py",
    "experiments/playing.py",
    "experiments/continuing.py",
    "experiments/measures.py",
    "../../core/src/climbing/climb.cpp",
    "../../core/src/climbing/climb.hpp",
    "../../core/include/vbmle.h",
    "../../core/include/vbmle/solver.h",
    "../../core/build.py",
]
ONE_MORE = {
    ".py": b"\nONE_MORE = 1\n",
    ".cpp": b"\nint one_more;\n",
    ".hpp": b"\nint one_more;\n",
    ".h": b"\nint one_more;\n",
}


@pytest.mark.parametrize("name", DECIDE)
def test_an_edit_of_what_decides_numbers_makes_another_key(checkout: Path, name: str):
    assert changes(checkout, name, ONE_MORE[Path(name).suffix])


@pytest.mark.parametrize("name", DECIDE)
def test_a_comment_or_a_blank_line_leaves_the_key(checkout: Path, name: str):
    comment = b"# one\n" if name.endswith(".py") else b"// one\n/* and\nmore */\n"
    assert not changes(checkout, name, b"\n\n   \n" + comment)


PYTHON = '''"""What it is."""

import math

MOST = 3
"""Of something."""


class Thing:
    """A thing."""

    size: int = 3  # in metres
    """How large."""

    def area(self, name="a  b"):
        """Of it."""
        if self.size:
            # why
            return math.pi * self.size**2
        return 0.0
'''
C = r"""
/* What it
   is. */
#define MOST 3  // of something
double area(double size) {  /* in metres */
    const char *mark = "// no comment /*", quote = '"';
    return 3.0 * size / 2.0;
}
"""


@pytest.mark.parametrize(
    ("ending", "text", "before", "after", "same"),
    [
        (".py", PYTHON, "What it is.", "What it was.", True),
        (".py", PYTHON, "Of something.", "Of another.", True),
        (".py", PYTHON, "How large.", "How wide.", True),
        (".py", PYTHON, "Of it.", "Of this.", True),
        (".py", PYTHON, '        """Of it."""\n', "", True),
        (".py", PYTHON, "# why", "# because", True),
        (".py", PYTHON, "  # in metres", "", True),
        (".py", PYTHON, "\n\n\nclass", "\n\nclass", True),
        (".py", PYTHON, '(self, name="a  b")', "(\n        self, name='a  b')", True),
        (".py", PYTHON, "a  b", "a b", False),
        (".py", PYTHON, "size: int = 3", "size: int = 4", False),
        (".py", PYTHON, "**2", "**3", False),
        (".py", PYTHON, "        return 0.0", "    return 0.0", False),
        (".cpp", C, "What it\n   is.", "What", True),
        (".cpp", C, "// of something", "", True),
        (".cpp", C, "/* in metres */", "/* in\nfeet */", True),
        (".cpp", C, "    return", "  return", True),
        (".cpp", C, "\n/*", "\n\n\n/*", True),
        (".cpp", C, "MOST 3", "MOST 4", False),
        (".cpp", C, "// no comment", "// a comment", False),
        (".cpp", C, "/ 2.0", "/ 3.0", False),
        (".cpp", C, "3.0 *", "3.0 // *", False),
    ],
)
def test_what_a_source_means_is_in_the_key_and_what_it_says_is_not(
    tmp_path: Path, ending: str, text: str, before: str, after: str, same: bool
):
    one, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    assert text.count(before) == 1
    one.write_text(text)
    two.write_text(text.replace(before, after))
    assert (resume_key.substance(one) == resume_key.substance(two)) == same


@pytest.mark.parametrize(
    "name",
    [
        "cli.py",
        "terminal.py",
        "gym.py",
        "testing.py",
        "report/tables.py",
        "suites/study_page.py",
        "experiments/run.py",
        "experiments/store.py",
        "experiments/compute.py",
        "paper/suite.py",
        "theory/bounds.py",
        "__init__.py",
    ],
)
def test_an_edit_of_what_only_looks_leaves_the_key(checkout: Path, name: str):
    """The mistake of setting every record aside because the benchmark or the report was edited."""
    assert not changes(checkout, name, ONE_MORE[".py"])


def test_an_installed_package_has_its_library_in_the_key(checkout: Path, tmp_path: Path):
    package = tmp_path / "site-packages" / "vbmle"
    shutil.copytree(checkout, package)
    (package / "core" / "libvbmle.so").write_bytes(b"one")
    assert [name for name, _ in core_files(package)] == ["libvbmle.so"]
    assert changes(package, "core/libvbmle.so", b"\n")
