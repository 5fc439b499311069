"""The constants of the core's solvers: each in one place, with its unit and a sentence, and what they decide."""

import re
from pathlib import Path

import pytest
from scipy import sparse
from small_worlds import EXAMPLES

from vbmle import World
from vbmle.core.library import TUNING
from vbmle.core.model import Purpose
from vbmle.worlds import queue, random_network, riverswim, taxi

SOURCES = Path(__file__).parents[2] / "core" / "src"
DEFINED = re.compile(r"constexpr [\w:]+ (k[A-Z]\w*)")


def test_every_constant_has_a_unit_and_a_sentence():
    assert len(TUNING) > 100
    for name, constant in TUNING.items():
        assert re.fullmatch(r"[a-z]\w+", name)
        assert constant.unit
        assert len(constant.meaning.split()) > 1, name


def test_few_constants_are_elsewhere():
    """What follows from a format, from a processor or from mathematics."""
    elsewhere = {
        f"{path.relative_to(SOURCES)}: {name}"
        for path in sorted(SOURCES.rglob("*.[ch]pp"))
        if path.name != "self_test.cpp"  # whose numbers are known answers
        for name in DEFINED.findall(path.read_text())
    }
    assert len(elsewhere) < 20, elsewhere


WORLDS = {
    **EXAMPLES,
    "queue": queue(),
    "taxi": taxi(),
    "long river": riverswim(400),
    "network": random_network(15, 4, 10),
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_factors_or_sweeps_is_decided_by_these_rules(world: World):
    mdp = world.mdp
    states, visited = mdp.num_states, mdp.transitions.count / mdp.num_actions
    fits = states <= TUNING["factors_most_states"].value
    cheap = states**3 * (1.0 - mdp.discount) <= TUNING["factors_per_transition"].value * visited
    coupled = sparse.issparse(mdp.transitions.phi) or len(mdp.polytope.blocks) > 1
    assert mdp.core.factors_pay(Purpose.VB_FOR_ONE_VALUE) == fits
    assert mdp.core.factors_pay(Purpose.VB_FOR_ONE_PLAN) == (states <= TUNING["factors_plan_states"].value)
    assert mdp.core.factors_pay(Purpose.VB_FOR_MANY_PLANS) == (fits and (cheap or coupled))
