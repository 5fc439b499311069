"""Specs: what can be asked for, and the one line about what cannot."""

import re
from pathlib import Path

import pytest
from numpy.typing import ArrayLike
from sweeps import PLAIN, small

import vbmle
from vbmle.agents.base import Agent
from vbmle.common.settings import fit
from vbmle.experiments import InputError, catalogue
from vbmle.experiments.spec import Choice, Experiment, Recording
from vbmle.experiments.spec_file import read, try_out
from vbmle.paper import suite as paper
from vbmle.worlds import random_network


def test_the_catalogue_has_every_public_agent_and_world():
    public = [getattr(vbmle, name) for name in vbmle.__all__]
    agents = {
        item for item in public if isinstance(item, type) and issubclass(item, Agent) and item is not Agent
    }
    assert set(catalogue.agents().values()) == agents
    assert set(catalogue.worlds()) == set(vbmle.worlds.__all__)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trials": 0}, ["trials is 0"]),
        ({"horizon": -3}, ["horizon is -3"]),
        ({"trials": 10**12}, ["trials in all", "10,000,000 at most"]),
        ({"reference": "plian"}, ["reference: unknown agent 'plian'", "did you mean 'plain'?"]),
        ({"agents": {}}, ["no agents"]),
        ({"agents": {"x": Choice("VBLME")}}, ["'x'", "VBLME", "did you mean 'VBMLE'?"]),
        ({"worlds": {"x": Choice("river")}}, ["'x'", "unknown world 'river'", "riverswim"]),
        (
            {"worlds": {"x": Choice("riverswim", {"lenght": 3})}},
            ["'lenght'", "did you mean 'length'?", "features"],
        ),
        ({"worlds": {"x": Choice("hypercube")}}, ["needs a value for 'dimension'"]),
        ({"agents": {"a b": PLAIN, "a-b": PLAIN}}, ["'a b'", "'a-b'", "same folder name; rename one"]),
    ],
)
def test_specs_that_cannot_be_run_are_refused_in_one_line(changes: dict[str, object], words: list[str]):
    with pytest.raises(InputError) as caught:
        small(**changes)
    for word in ["small: ", *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_brackets_without_end_are_refused_in_one_line(tmp_path: Path):
    path = tmp_path / "deep.toml"
    path.write_text("name = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(InputError, match=r"deep\.toml: its brackets are nested too deeply"):
        read(path)


def test_the_paper_experiment_is_the_papers():
    """gamma = .9, lambda = 1, T = 500, 20 trials or more of those that are compared; T = 2500 for distances."""
    full, quick = ({e.name: e for e in paper.experiments(quick=short)} for short in (False, True))
    assert list(full) == list(quick)
    own, brief = full["paper"], quick["paper"]
    assert own.horizon == 500
    assert own.stop is not None
    assert own.stop.beside == 10
    assert min(looks[0] for looks in own.stop.looks.values()) >= 20
    assert own.stop.reference == "VBMLE"
    assert own.stop.rivals == ("UCLK", "maximum likelihood", "VBMLE (log bias)", "PSRL")
    assert own.trials == max(max(looks) for looks in own.stop.looks.values())
    sizes = [(c.settings["states"], c.settings["actions"]) for c in own.worlds.values()]
    assert sizes == [(3, 2), (5, 4), (15, 4)]
    assert {c.settings["discount"] for c in own.worlds.values()} == {0.9}
    for label, choice in own.agents.items():
        agent = catalogue.agents()[choice.name](random_network(3, 2, 2).mdp, **choice.settings)
        assert agent.settings.get("ridge", 1.0) == 1.0, label
        assert "ridge" in agent.settings or label == "PSRL"
    assert own.agents["UCLK"].settings["update"] == "every-step"
    assert brief.all_trials()[0].seeds() == own.all_trials()[0].seeds()
    assert (brief.worlds, brief.agents) == (own.worlds, own.agents)
    assert full["distance"].horizon == 2500
    assert full["distance"].record.distance
    assert full["distance"].record.mle_error


def test_trials_and_steps_of_the_paper_can_be_set():
    found = paper.experiments(trials=2, horizon=7)
    assert {(e.trials, e.horizon) for e in found} == {(2, 7)}
    assert {e.stop for e in found} == {None}, "who names a number of trials gets it"
    assert len({e.name for e in found}) == len(found) == 13


def test_thorough_adds_what_the_paper_leaves_open():
    usual, thorough = ({e.name: e for e in paper.experiments(thorough=more)} for more in (False, True))
    assert set(thorough) - set(usual) == {"choices"}
    assert thorough["growth"].horizon == 100_000
    assert {c.settings["dimension"] for c in usual["growth-dimension"].worlds.values()} == {
        2,
        4,
        6,
        8,
        10,
        16,
        32,
    }
    assert (usual["paper"].trials, thorough["paper"].trials) == (400, 800)
    assert [e["paper"].stop is not None and e["paper"].stop.gives_up for e in (usual, thorough)] == [
        True,
        False,
    ]
    one = [c for label, c in thorough["choices"].worlds.items() if "one world" in label]
    assert all("seed" in choice.settings for choice in one)
    assert len(one) == 6


# TOML files

SPEC = """
trials = 2
horizon = 5
[record]
steps = "log"
[worlds.river]
world = "riverswim"
length = 4
[worlds.random_network]
states = 3
actions = 2
dimension = 2
temperature = 1
[agents.VBMLE]
[agents."no bias"]
agent = "MaximumLikelihood"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "spec.toml"
    path.write_text(text)
    return path


def test_a_file_says_what_is_run(tmp_path: Path):
    assert read(write(tmp_path, SPEC)) == Experiment(
        name="spec",
        worlds={
            "river": Choice("riverswim", {"length": 4}),
            "random_network": Choice(
                "random_network", {"states": 3, "actions": 2, "dimension": 2, "temperature": 1.0}
            ),
        },
        agents={"VBMLE": Choice("VBMLE"), "no bias": Choice("MaximumLikelihood")},
        trials=2,
        horizon=5,
        record=Recording(steps="log"),
    )
    changed = read(write(tmp_path, 'name = "other"\n' + SPEC), trials=7, horizon=None)
    assert (changed.name, changed.trials, changed.horizon) == ("other", 7, 5)


def test_the_spec_of_the_documentation_can_be_run(tmp_path: Path):
    text = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    spec, stop = re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    experiment = read(write(tmp_path, spec))
    try_out(experiment, "docs/sweeps.md")
    assert list(experiment.worlds) == ["river length=4", "river length=6"]
    stopped = read(write(tmp_path, spec + stop), trials=400)
    assert stopped.stop is not None
    assert stopped.budget("river length=4", "plain") == 400
    assert stopped.budget("river length=4", "VBMLE, log bias") == 20


def test_a_whole_number_for_a_float_is_the_same_spec(tmp_path: Path):
    plain, dotted = (
        read(write(tmp_path, SPEC.replace("temperature = 1", f"temperature = {v}"))) for v in ("1", "1.0")
    )
    assert plain.digest() == dotted.digest()


def test_a_sweep_is_one_world_per_combination(tmp_path: Path):
    swept = SPEC.replace("length = 4", "length = { sweep = [4, 6] }\ndiscount = { sweep = [0.5, 0.9] }")
    swept += "ridge = { sweep = [1, 2] }"
    experiment = read(write(tmp_path, swept))
    assert list(experiment.worlds) == [
        *(f"river length={n} discount={g}" for n in (4, 6) for g in (0.5, 0.9)),
        "random_network",
    ]
    assert experiment.worlds["river length=6 discount=0.5"].settings == {"length": 6, "discount": 0.5}
    assert list(experiment.agents) == ["VBMLE", "no bias ridge=1", "no bias ridge=2"]
    one = read(write(tmp_path, SPEC.replace("length = 4", "length = { sweep = [4] }")))
    more = read(write(tmp_path, SPEC.replace("length = 4", "length = { sweep = [6, 4] }")))
    label = "river length=4"
    assert one.trial(label, "VBMLE", 1).seeds() == more.trial(label, "VBMLE", 1).seeds()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trials = 2", "trials == 2", ["line 2"]),
        ("trials = 2", "trails = 2", ["unknown field 'trails'", "did you mean 'trials'?", "horizon"]),
        ("trials = 2", "", ["trials is missing"]),
        ("trials = 2", 'trials = "2"', ["trials is '2'", "whole number"]),
        ("trials = 2", "trials = 0", ["trials is 0", "at least 1"]),
        ("horizon = 5", "horizon = 5.0", ["horizon is 5.0"]),
        ("trials = 2", "trials = 2\nname = 3", ["name is 3"]),
        (
            "trials = 2",
            "trials = 2\nreference = 'VBLME'",
            ["reference: unknown agent 'VBLME'", "did you mean 'VBMLE'?"],
        ),
        ("[agents.VBMLE]", "[agents.VBMLE]\nrole = 'gredy'", ["agents.VBMLE", "did you mean 'greedy'?"]),
        (
            'steps = "log"',
            'steps = "lag"',
            ["record: steps: unknown value 'lag'", "did you mean 'log'?", "every, log"],
        ),
        ('steps = "log"', "distance = 1", ["record: distance is 1", "true or false"]),
        (
            'steps = "log"',
            "distnace = true",
            ["unknown setting 'distnace'", "did you mean 'distance'?", "mle_error"],
        ),
        ("[record]", "[[record]]", ["record", "table"]),
        (
            'world = "riverswim"',
            'world = "riversim"',
            ["worlds.river", "did you mean 'riverswim'?", "hypercube"],
        ),
        ('world = "riverswim"', "", ["unknown world 'river'", "riverswim"]),
        ('world = "riverswim"', "world = 3", ["worlds.river", "world is 3"]),
        ("length = 4", "lenght = 4", ["worlds.river", "'lenght'", "did you mean 'length'?"]),
        ("length = 4", "length = 4.5", ["worlds.river", "length is 4.5", "a whole number"]),
        ("length = 4", "length = true", ["length is True", "a whole number"]),
        ("length = 4", 'features = "tabula"', ["did you mean 'tabular'?", "tabular, mixture"]),
        ("length = 4", "features = 4", ["features is 4", "one of tabular, mixture"]),
        ("length = 4", "length = { sweep = [] }", ["worlds.river: length", "sweep = [one, two"]),
        ("length = 4", "length = { swep = [3] }", ["worlds.river: length", "sweep = [one, two"]),
        ("length = 4", "length = { sweep = [4, 4] }", ["two worlds 'river length=4'"]),
        ("length = 4", "length = { sweep = [4, 'x'] }", ["length is 'x'", "a whole number"]),
        ("states = 3", "", ["worlds.random_network", "needs a value for 'states', a whole number"]),
        ("[agents.VBMLE]", '[agents.VBMLE]\nbias = "sqr"', ["agents.VBMLE", "did you mean 'sqrt'?"]),
        ("[agents.VBMLE]", "[agents.VBMLE]\nbias = 1", ["agents.VBMLE", "bias is 1", "one of sqrt, log"]),
        ("[agents.VBMLE]", '[agents.VBMLE]\nridge = "1"', ["agents.VBMLE", "ridge is '1'", "a number"]),
        ("[agents.VBMLE]", "[agents.VBLME]", ["unknown agent 'VBLME'", "did you mean 'VBMLE'?"]),
        # what types cannot say is said by the code that uses the value
        ("length = 4", "length = 2", ["worlds.river", "length is 2", "at least 3"]),
        ("length = 4", "discount = 1.5", ["worlds.river", "discount is 1.5"]),
        ("states = 3", "states = 99999999", ["worlds.random_network"]),
        ("[agents.VBMLE]", "[agents.VBMLE]\nbias_scale = -1", ["agents.VBMLE", "bias_scale is -1.0"]),
        ("[agents.VBMLE]", "[agents.VBMLE]\nridge = nan", ["agents.VBMLE", "ridge is nan"]),
    ],
)
def test_a_slip_in_a_file_is_one_line_with_its_field(tmp_path: Path, old: str, new: str, words: list[str]):
    assert SPEC.count(old) == 1
    path = write(tmp_path, SPEC.replace(old, new))
    with pytest.raises(InputError) as caught:
        try_out(read(path), path)
    for word in [f"{path}: ", *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_who_explores_is_said_by_the_class_or_by_the_spec(tmp_path: Path):
    agents = {"a": Choice("VBMLE"), "b": PLAIN, "c": Choice("Random"), "d": Choice("Oracle")}
    roles = {agent: small(agents=agents).role(agent) for agent in agents}
    assert roles == {"a": "explorer", "b": "greedy", "c": "random", "d": "oracle"}
    told = read(write(tmp_path, SPEC.replace("[agents.VBMLE]", '[agents.VBMLE]\nrole = "greedy"')))
    assert told.role("VBMLE") == "greedy"
    plain = read(write(tmp_path, SPEC))
    one, two = (spec.trial(next(iter(spec.worlds)), "VBMLE", 0) for spec in (told, plain))
    assert one.key("x") == two.key("x"), "what the report makes of an agent decides no number"


def test_files_that_are_none_are_told(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "nowhere.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read(tmp_path / "binary.toml")


def test_annotations_that_only_a_checker_resolves_are_left_to_the_maker():
    def maker(size: "Nowhere", count: int = 3) -> None:  # type: ignore[name-defined] # noqa: F821
        """Whose types cannot be found out."""

    assert fit("here", "maker", maker, {"size": object, "count": 4}) == {"size": object, "count": 4}
    with pytest.raises(InputError, match="unknown setting 'sise'"):
        fit("here", "maker", maker, {"sise": 1})


def test_lists_of_numbers_are_shown_and_taken_as_such():
    def maker(weights: ArrayLike, size: int | None = None, many: bool = False) -> None:
        """Takes a list."""

    assert catalogue.about(maker) == "Takes a list."
    assert [row[:3] for row in catalogue.described(maker)] == [
        ("weights", "list", ""),
        ("size", "int | None", "None"),
        ("many", "bool", "False"),
    ]
    assert fit("here", "maker", maker, {"weights": [0.5, 0.5], "size": 3}) == {
        "weights": [0.5, 0.5],
        "size": 3,
    }
    with pytest.raises(InputError, match="needs a value for 'weights', a list of numbers"):
        fit("here", "maker", maker, {})
