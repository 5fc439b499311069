"""Specs: what can be asked for, and the one line about what cannot."""

import pytest
from sweeps import PLAIN, small

import vbmle
from vbmle.agents.base import Agent
from vbmle.experiments import InputError, catalogue, paper
from vbmle.experiments.spec import Choice


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
        ({"agents": {}}, ["no agents"]),
        ({"agents": {"x": Choice("VBLME")}}, ["'x'", "VBLME", "did you mean 'VBMLE'?"]),
        ({"worlds": {"x": Choice("river")}}, ["'x'", "no world 'river'", "riverswim"]),
        (
            {"worlds": {"x": Choice("riverswim", {"lenght": 3})}},
            ["'lenght'", "did you mean 'length'?", "features"],
        ),
        ({"worlds": {"x": Choice("hypercube")}}, ["needs a value for 'dimension'"]),
        ({"agents": {"a b": PLAIN, "a-b": PLAIN}}, ["'a b'", "'a-b'", "less alike"]),
    ],
)
def test_specs_that_cannot_be_run_are_refused_in_one_line(changes: dict[str, object], words: list[str]):
    with pytest.raises(InputError) as caught:
        small(**changes)
    for word in ["small: ", *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_paper_experiment_is_the_papers():
    """gamma = .9, lambda = 1, T = 500, 20 trials; (S, A) = (3,2), (5,4), (15,4)."""
    full, quick = paper.experiment(), paper.experiment(quick=True)
    assert (full.trials, full.horizon) == (20, 500)
    sizes = [(c.settings["states"], c.settings["actions"]) for c in full.worlds.values()]
    assert sizes == [(3, 2), (5, 4), (15, 4)]
    assert {c.settings["discount"] for c in full.worlds.values()} == {0.9}
    assert {c.settings["ridge"] for c in full.agents.values()} == {1.0}
    assert quick.plan()[0].seeds() == full.plan()[0].seeds()
    assert (quick.worlds, quick.agents) == (full.worlds, full.agents)
