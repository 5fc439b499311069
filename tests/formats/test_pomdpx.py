"""POMDPX: tables with wildcards over several variables, and candidates that never change."""

from pathlib import Path

import numpy as np
import pytest
from refusals import refused

import vbmle

TWO = """<?xml version="1.0" encoding="ISO-8859-1"?>
<pomdpx version="1.0"><Description>\xe9t\xe9</Description><Discount>0.5</Discount>
<Variable>
 <StateVar vnamePrev="x0" vnameCurr="x1" fullyObs="true"><ValueEnum>low high</ValueEnum></StateVar>
 <StateVar vnamePrev="y0" vnameCurr="y1" fullyObs="true"><NumValues>3</NumValues></StateVar>
 <StateVar vnamePrev="m0" vnameCurr="m1" fullyObs="false"><ValueEnum>dry wet</ValueEnum></StateVar>
 <ActionVar vname="a"><ValueEnum>wait go</ValueEnum></ActionVar>
 <ObsVar vname="o"><ValueEnum>nothing</ValueEnum></ObsVar>
 <RewardVar vname="r"/>
</Variable>
<InitialStateBelief>
 <CondProb><Var>m0</Var>
  <Parent>null</Parent>
  <Parameter type="TBL"><Entry><Instance>-</Instance><ProbTable>0.25 0.75</ProbTable></Entry></Parameter></CondProb>
 <CondProb><Var>x0</Var>
  <Parent>null</Parent>
  <Parameter type="TBL"><Entry><Instance>low</Instance><ProbTable>1</ProbTable></Entry></Parameter></CondProb>
</InitialStateBelief>
<StateTransitionFunction>
 <CondProb><Var>x1</Var>
  <Parent>a m0 x0</Parent><Parameter type="TBL">
  <Entry><Instance>* * * -</Instance><ProbTable>uniform</ProbTable></Entry>
  <Entry><Instance>go wet - -</Instance><ProbTable>0.1 0.9 0.2 0.8</ProbTable></Entry>
 </Parameter></CondProb>
 <CondProb><Var>y1</Var>
  <Parent>y0</Parent>
  <Parameter type="TBL"><Entry><Instance>- -</Instance><ProbTable>identity</ProbTable></Entry></Parameter></CondProb>
 <CondProb><Var>m1</Var>
  <Parent>m0</Parent>
  <Parameter type="TBL"><Entry><Instance>- -</Instance><ProbTable>identity</ProbTable></Entry></Parameter></CondProb>
</StateTransitionFunction>
<RewardFunction>
 <Func><Var>r</Var>
  <Parent>a y0</Parent><Parameter type="TBL">
  <Entry><Instance>* -</Instance><ValueTable>1 2 3</ValueTable></Entry>
  <Entry><Instance>go s0</Instance><ValueTable>-4</ValueTable></Entry>
 </Parameter></Func>
 <Func><Var>r</Var>
  <Parent>x1</Parent>
  <Parameter type="TBL"><Entry><Instance>high</Instance><ValueTable>10</ValueTable></Entry></Parameter></Func>
</RewardFunction>
</pomdpx>"""


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.pomdpx"
    path.write_text(TWO, encoding="latin-1")
    return path


def test_tables_wildcards_and_products(two: Path):
    mdp = vbmle.read(two)
    assert mdp.names.states == ("low,s0", "low,s1", "low,s2", "high,s0", "high,s1", "high,s2")
    assert mdp.names.actions == ("wait", "go")
    assert mdp.names.models == ("dry", "wet")
    np.testing.assert_array_equal(mdp.prior, [0.25, 0.75])
    np.testing.assert_allclose(mdp.initial, [1 / 3] * 3 + [0.0] * 3)
    wet = mdp.transition([0, 1])
    np.testing.assert_allclose(wet[1, 1], [0, 0.1, 0, 0, 0.9, 0])
    np.testing.assert_allclose(wet[4, 1], [0, 0.2, 0, 0, 0.8, 0])
    np.testing.assert_allclose(wet[1, 0], [0, 0.5, 0, 0, 0.5, 0])
    np.testing.assert_allclose(mdp.transition([1, 0])[:, 0], mdp.transition([1, 0])[:, 1])
    reward = mdp.reward
    assert reward[0, 1, 3] == pytest.approx(6.0)
    assert reward[0, 1, 0] == pytest.approx(-4.0)
    assert reward[5, 0, 5] == pytest.approx(13.0)


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("go wet - -", "go damp - -", ("two.pomdpx", "'damp'", "dry, wet")),
        ("go wet - -", "go wet -", ("3 words", "4")),
        ("0.1 0.9 0.2 0.8", "0.1 0.9 0.2", ("3 numbers", "4")),
        ("0.1 0.9 0.2 0.8", "0.1 0.9 0.2 0.9", ("candidate 'wet'", "(s=high,s0, a=go)", "1.1")),
        ("0.1 0.9 0.2 0.8", "-0.1 1.1 0.2 0.8", ("candidate 'wet'", "-0.1")),
        (
            '<Parent>m0</Parent>\n  <Parameter type="TBL"><Entry><Instance>- -</Instance><ProbTable>identity',
            '<Parent>m0</Parent>\n  <Parameter type="TBL"><Entry><Instance>- -</Instance><ProbTable>uniform',
            ("'m1'", "never change"),
        ),
        ("<ValueEnum>nothing</ValueEnum>", "<ValueEnum>much little</ValueEnum>", ("'o'", "several values")),
        ('fullyObs="true"', 'fullyObs="false"', ("0 observed",)),
        ("<Discount>0.5</Discount>", "<Discount>x</Discount>", ("Discount", "'x'")),
        ("<Discount>0.5</Discount>", "<Discount>1.5</Discount>", ("two.pomdpx", "discount", "1.5")),
        ("<Parent>a y0</Parent>", "<Parent>a z0</Parent>", ("'z0'",)),
        ("</pomdpx>", "", ("two.pomdpx", "not XML")),
        ("<pomdpx version", "<!DOCTYPE x [<!ENTITY e 'e'>]><pomdpx version", ("entities",)),
        ("0.25 0.75", "0.25 0.85", ("'m0'", "0.85")),
    ],
)
def test_what_is_wrong_is_said_with_its_place(two: Path, old: str, new: str, facts: tuple[str, ...]):
    assert old in TWO
    two.write_text(TWO.replace(old, new), encoding="latin-1")
    with refused(*facts):
        vbmle.read(two)
