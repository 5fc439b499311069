"""The law that a change of the code must keep: every agent acts as it did before.

The actions were recorded by `python tests/recorded_actions.py --keep`. Record them again only where an agent is meant
to act otherwise, and say so in the changelog.
"""

import json

import pytest
from recorded_actions import KEPT, TIED, play
from small_worlds import EXAMPLES

from vbmle.agents.catalogue import agents, general

RECORDED: dict[str, dict[str, str]] = json.loads(KEPT.read_text())


def test_every_agent_and_every_world_was_recorded():
    assert set(RECORDED) == set(general())
    assert all({*runs, *TIED} == set(EXAMPLES) for runs in RECORDED.values())


@pytest.mark.filterwarnings("ignore:.*no feasible theta:RuntimeWarning")
@pytest.mark.parametrize("name", RECORDED)
def test_an_agent_acts_as_it_did(name: str):
    for place, actions in RECORDED[name].items():
        kind, world = agents()[name], EXAMPLES[place]
        truth = {"theta": world.theta} if kind.needs_truth else {}
        assert play(kind(world.mdp, **truth), world, None)[0] == actions, place
