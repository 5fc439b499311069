"""Objects show themselves: a line as text, a small table in a notebook; with names, and what is hidden hidden."""

import re
from typing import Any

import numpy as np
import pytest

import vbmle
from vbmle.common.stated import suggesting

STATES, ACTIONS, MODELS = ("dry", "damp", "wet"), ("wait", "dig"), ("clay <b>", "sand")


def named_world() -> vbmle.World:
    models = np.random.default_rng(0).dirichlet(np.ones(3), (2, 3, 2))
    mdp = vbmle.LinearMixtureMDP.from_models(
        dict(zip(MODELS, models, strict=True)),
        100.0 * np.eye(3, 2),
        0.9,
        normalise_reward=True,
        state_names=STATES,
        action_names=ACTIONS,
    )
    return vbmle.World(mdp, [0.123456, 0.876544])


def everything() -> dict[str, Any]:
    world = named_world()
    agent = vbmle.VBMLE(world.mdp, bias="log")
    history = vbmle.simulate(agent, world, 300, metrics={"depth": lambda step: step.state})
    return {
        "model": world.mdp,
        "world": world,
        "agent": agent,
        "plan": vbmle.plan(world.mdp, world.theta),
        "history": history,
        "confidence": agent.confidence(),
        "belief": agent.belief(),
        "misfit": agent.misfit(),
        "decision": agent.last,
        "counts": agent.counts,
        "estimate": vbmle.value_biased(world.mdp, agent.counts, 0, 1.0),
        "trace": vbmle.theory.trace(history),
        "sweep": vbmle.Sweep(worlds=["riverswim"], agents=["VBMLE"], trials=2, horizon=3),
    }


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    return everything()


def test_text_is_one_line_and_a_table_is_less_than_a_screen(objects):
    for name, thing in objects.items():
        assert "\n" not in repr(thing), name
        assert len(repr(thing)) <= 250, name
        table = thing._repr_html_()
        assert 1 <= table.count("<tr>") <= 20, name
        assert len(re.sub("<.*?>", "", table)) < 1200, name
        assert "<b>" not in table, name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("model", [*STATES, *ACTIONS, "sand", "mix", "0 to 100"]),
        ("world", [*STATES, "hidden"]),
        ("agent", ["300", "bias=", "dry: "]),
        ("plan", ["wet: ", "value"]),
        ("history", ["1 to 300", "depth", *STATES]),
        ("confidence", ["90%", "dry: "]),
        ("belief", ["sand: "]),
        ("misfit", ["nothing against the model"]),
        ("counts", ["300", "s=dry"]),
        ("estimate", ["sand ", "converged", "dry: "]),
        ("decision", ["converged"]),
        ("sweep", ["riverswim", "not run yet"]),
    ],
)
def test_names_stand_in_place_of_numbers(objects, name: str, words: list[str]):
    table = objects[name]._repr_html_()
    for word in words:
        assert word in table


def test_the_truth_stays_hidden(objects):
    for name in ("world", "agent", "history"):
        shown = repr(objects[name]) + objects[name]._repr_html_()
        assert "0.1234" not in shown
        assert "0.8765" not in shown


def test_a_short_list_is_whole_and_a_long_one_is_counted():
    few, many = (vbmle.plan(w.mdp, w.theta) for w in (vbmle.worlds.riverswim(length=n) for n in (6, 30)))
    assert "5: 1" in repr(few)
    assert f"1 in {many.policy.sum()} of 30 states" in repr(many)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda more: vbmle.worlds.riverswim(**more("lenght", 6)), r"riverswim\(\) .*did you mean 'length'"),
        (lambda more: vbmle.worlds.taxi(**more("slop", 1)), "Known arguments: rain"),
        (
            lambda more: vbmle.VBMLE(named_world().mdp, **more("bais", "log")),
            r"VBMLE\(\) .*did you mean 'bias'",
        ),
        (lambda more: vbmle.PSRL(named_world().mdp, **more("sede", 1)), "did you mean 'seed'"),
    ],
)
def test_an_unknown_keyword_is_answered_with_the_nearest(call: Any, words: str):
    with pytest.raises(TypeError, match=words):
        call(lambda name, value: {name: value})


def test_a_type_error_from_within_is_not_ours():
    @suggesting
    def outer(width: int) -> int:
        return inner(width=width)  # type: ignore[call-arg]

    def inner(length: int) -> int:
        return length

    with pytest.raises(TypeError, match="inner") as caught:
        outer(width=3)
    assert "did you mean" not in str(caught.value)
