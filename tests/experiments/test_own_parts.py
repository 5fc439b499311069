"""Worlds and agents of your own in a sweep: by name, by file, checked, resumed, refused in one line."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars
import pytest
from sweeps import go

import vbmle
from vbmle.experiments import InputError, own_parts, playing
from vbmle.experiments.records import load
from vbmle.experiments.spec_file import read, try_out

MODULE = """
import vbmle
from helpers_of_mine import EPSILON

class Greedy:
    def __init__(self, mdp, patience: int = 3, seed: int = 0):
        self.inner, self.patience, self.seed = vbmle.MaximumLikelihood(mdp, ridge=EPSILON), patience, seed

    @property
    def policy(self):
        return self.inner.policy

    def act(self, state):
        return self.inner.act(state)

    def observe(self, state, action, next_state):
        self.inner.observe(state, action, next_state)

class Half:
    def act(self, state): ...

def north(length: int = 4):
    return vbmle.worlds.riverswim(length=length)

south = vbmle.worlds.riverswim(length=3)

def broken():
    return {}["nothing"]

def wrong():
    return 7
"""
SPEC = """
trials = 2
horizon = 6
[worlds.north]
world = "{name}:north"
length = {{ sweep = [4, 5] }}
[worlds.south]
world = "{name}:south"
[agents.mine]
agent = "{name}:Greedy"
patience = 2
[agents.VBMLE]
"""


@pytest.fixture
def parts(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Path, str]]:
    """A folder with a package of its own for each test, and the name of its module."""
    package = f"mine_{abs(hash(request.node.name)) % 10**8}"
    home = tmp_path / package
    home.mkdir()
    (home / "__init__.py").write_text("")
    (home / "parts.py").write_text(MODULE.replace("helpers_of_mine", f"{package}.helpers"))
    (home / "helpers.py").write_text("EPSILON = 1.0\n")
    before = list(sys.path)
    yield tmp_path, f"{package}.parts"
    sys.path[:] = before
    forget(package)


def forget(package: str) -> None:
    """As in a new process."""
    own_parts.find.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]


def write(folder: Path, text: str) -> Path:
    (folder / "spec.toml").write_text(text)
    return folder / "spec.toml"


def test_parts_of_your_own_run_in_the_pool_and_resume_by_their_code(parts: tuple[Path, str]):
    folder, name = parts
    spec = write(folder, SPEC.format(name=name))
    experiment = read(spec)
    assert list(experiment.worlds) == ["north length=4", "north length=5", "south"]
    try_out(experiment, spec)
    summary, _ = go(experiment, folder / "out")
    assert (summary.made, summary.failures) == (12, [])
    (results,) = load(folder / "out")
    mine = {r.trial.world: r.columns["regret"] for r in results.records if r.trial.agent == "mine"}
    world = vbmle.worlds.riverswim(length=3)
    trial = next(r.trial for r in results.records if (r.trial.world, r.trial.agent) == ("south", "mine"))
    expected = vbmle.simulate(vbmle.MaximumLikelihood(world.mdp), world, 6, seed=trial.chance)
    assert set(mine) == set(experiment.worlds)
    np.testing.assert_array_equal(
        next(r.columns["regret"] for r in results.records if r.trial == trial), expected.regret
    )
    found: dict[str, vbmle.History] = {}
    exec(
        trial.recipe().replace("vbmle.simulate", "history = vbmle.simulate"), found
    )  # of a World, and of a class
    np.testing.assert_array_equal(found["history"].regret, expected.regret)
    assert "seed" in playing._seed(trial, "agent")  # Greedy takes one
    assert go(read(spec), folder / "out")[0].kept == 12
    helpers = folder / name.partition(".")[0] / "helpers.py"
    helpers.write_text("EPSILON = 2.0\n")  # another file of the package
    forget(name.partition(".")[0])
    again, said = go(read(spec), folder / "out")
    assert (again.kept, again.made) == (0, 12)  # all worlds are from there
    assert "they are kept, and these trials run again" in said


def test_records_are_read_without_the_code_that_made_them(parts: tuple[Path, str]):
    folder, name = parts
    spec = write(folder, SPEC.format(name=name))
    go(read(spec, trials=1), folder / "out")
    package = folder / name.partition(".")[0]
    for file in package.rglob("*.py"):
        file.unlink()
    forget(package.name)
    (results,) = load(folder / "out")
    assert len(results.records) == 6
    assert not results.left_out


def test_a_worker_with_other_code_says_so(parts: tuple[Path, str]):
    folder, name = parts
    experiment = read(write(folder, SPEC.format(name=name)))
    (folder / name.partition(".")[0] / "helpers.py").write_text("EPSILON = 3.0\n")
    summary, _ = go(experiment, folder / "out")
    assert summary.made == 0
    assert len(summary.failures) == 12
    assert "differ from those the sweep was begun with" in str(summary.failures[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("{name}:Greedy", "{name}:Gredy"), ["agents.mine", "has no 'Gredy'", "did you mean 'Greedy'?"]),
        (
            ("{name}:Greedy", "nowhere.at_all:Greedy"),
            ["cannot import 'nowhere.at_all'", "ModuleNotFoundError"],
        ),
        (("{name}:Greedy", "{name}:Half"), ["has no 'observe'; an agent needs act, observe and policy"]),
        (("patience = 2", "patience = 'x'"), ["patience is 'x'; it needs a whole number"]),
        (("patience = 2", "patiance = 2"), ["unknown setting 'patiance'", "did you mean 'patience'?"]),
        (
            ("{name}:south", "{name}:EPSILON"),
            ["is of type float; it needs a function that returns a vbmle.World"],
        ),
        (("{name}:south", "{name}:broken"), ["worlds.south: KeyError: 'nothing'"]),
        (("{name}:south", "{name}:wrong"), ["gave something of type int; it needs a vbmle.World"]),
        (("{name}:south", "sooth"), ["unknown world 'sooth'", "or your own"]),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(
    parts: tuple[Path, str], change: tuple[str, str], words: list[str]
):
    folder, name = parts
    spec = write(folder, SPEC.replace(*change).format(name=name))
    with pytest.raises(InputError) as told:
        try_out(read(spec), spec)
    for word in ["spec.toml", *words]:
        assert word in str(told.value)
    assert "\n" not in str(told.value)


FILES = """
trials = 2
horizon = 5
[worlds.depot]
world = { model = "depot.npz", theta = "random" }
[worlds.fixed]
world = { model = "depot.npz", theta = [0.25, 0.75] }
[worlds.table]
world = { model = "models.csv", reward = "reward.csv", discount = 0.9 }
theta = { sweep = [[1.0, 0.0], [0.5, 0.5]] }
[agents.VBMLE]
"""


def depot(folder: Path) -> vbmle.LinearMixtureMDP:
    rng = np.random.default_rng(1)
    models, euros = rng.dirichlet(np.ones(3), (2, 3, 2)), rng.uniform(-5, 20, (3, 2))
    states, actions = ["low", "half", "full"], ["wait", "charge"]
    mdp = vbmle.LinearMixtureMDP.from_models(list(models), euros, 0.9, normalise_reward=True)
    mdp.save(folder / "depot.npz")
    table = [
        {"model": k, "s": states[s], "a": actions[a], "s_next": states[to], "p": models[k, s, a, to]}
        for k, s, a, to in np.argwhere(models > 0)
    ]
    polars.DataFrame(table).with_columns(polars.col("model").cast(polars.String)).write_csv(
        folder / "models.csv"
    )
    paid = [{"s": states[s], "a": actions[a], "r": euros[s, a]} for s in range(3) for a in range(2)]
    polars.DataFrame(paid).write_csv(folder / "reward.csv")
    return mdp


def test_worlds_from_files(tmp_path: Path):
    mdp = depot(tmp_path)
    experiment = read(write(tmp_path, FILES))
    worlds = {label: playing.make_world(experiment.trial(label, "VBMLE", 0)) for label in experiment.worlds}
    assert list(worlds) == ["depot", "fixed", "table theta=[1.0, 0.0]", "table theta=[0.5, 0.5]"]
    for world in worlds.values():
        assert world.mdp.fingerprint() == mdp.fingerprint()
    assert worlds["fixed"].theta.tolist() == [0.25, 0.75]
    other = playing.make_world(experiment.trial("depot", "VBMLE", 1))
    assert not np.allclose(worlds["depot"].theta, other.theta)  # drawn for each trial
    summary, _ = go(experiment, tmp_path / "out")
    assert (summary.made, summary.failures) == (8, [])
    assert go(read(tmp_path / "spec.toml"), tmp_path / "out")[0].kept == 8
    vbmle.LinearMixtureMDP.from_models(
        [np.full((3, 2, 3), 1 / 3), np.eye(3)[np.zeros((3, 2), int)]], np.zeros((3, 2)), 0.9
    ).save(tmp_path / "depot.npz")
    assert go(read(tmp_path / "spec.toml"), tmp_path / "out")[0].kept == 4  # the table's are as they were


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('"depot.npz", theta = "random"', '"none.npz"'),
            "worlds.depot: model is 'none.npz'; there is no such file",
        ),
        (
            ('theta = "random"', 'thetta = "random"'),
            "unknown field 'thetta' of a world from a file (did you mean 'theta'?)",
        ),
        (('theta = "random"', 'theta = "guess"'), "worlds.depot: theta is 'guess'; it needs one of 'random'"),
        (
            ('{ model = "depot.npz", theta = "random" }', '{ theta = "random" }'),
            "world needs the file of a model",
        ),
        ((", discount = 0.9", ""), "is a table, which needs a discount"),
        (("[0.25, 0.75]", "[0.25, 0.25]"), "worlds.fixed: theta lies outside the feasible set"),
    ],
)
def test_files_that_do_not_fit_are_named_in_one_line(tmp_path: Path, change: tuple[str, str], message: str):
    depot(tmp_path)
    spec = write(tmp_path, FILES.replace(*change))
    with pytest.raises(InputError) as told:
        try_out(read(spec), spec)
    assert message in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("subprocess:getoutput", ("subprocess", "Python's own")),
        ("os.path:exists", ("os", "Python's own")),
        ("numpy:array", ("numpy", "lies in", "--allow numpy")),
        ("vbmle.agents.catalogue:import_module", ("vbmle", "its own name")),
    ],
)
def test_a_spec_names_no_code_but_yours(name: str, facts: tuple[str, ...], tmp_path: Path):
    """Who wrote the spec need not be who runs it."""
    spec = write(tmp_path, f'trials = 1\nhorizon = 2\n[worlds.it]\nworld = "{name}"\n[agents.VBMLE]\n')
    with pytest.raises(InputError) as caught:
        read(spec)
    for fact in facts:
        assert fact in str(caught.value)


def test_a_spec_names_nothing_that_your_code_only_imports(parts: tuple[Path, str]):
    folder, name = parts
    home = folder / name.partition(".")[0]
    (home / "parts.py").write_text("from subprocess import getoutput\n")
    spec = write(
        folder, f'trials = 1\nhorizon = 2\n[worlds.it]\nworld = "{name}:getoutput"\n[agents.VBMLE]\n'
    )
    with pytest.raises(InputError, match="only imports it from subprocess"):
        read(spec)


def test_a_package_that_is_allowed_may_lie_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    installed, project = tmp_path / "installed", tmp_path / "project"
    for folder in (installed, project):
        folder.mkdir()
    (installed / "theirs.py").write_text("import vbmle\nsmall = vbmle.worlds.riverswim(length=3)\n")
    monkeypatch.syspath_prepend(str(installed))
    spec = write(project, 'trials = 1\nhorizon = 2\n[worlds.it]\nworld = "theirs:small"\n[agents.VBMLE]\n')
    with pytest.raises(InputError, match="--allow theirs"):
        read(spec)
    monkeypatch.setattr(own_parts, "_allowed", set())
    own_parts.allow("theirs")
    assert list(read(spec).worlds) == ["it"]
    for package in ("subprocess", "no name"):
        with pytest.raises(InputError, match="--allow"):
            own_parts.allow(package)
    forget("theirs")
