"""What the maximiser inside VBMLE, and the weight of its bias, do to regret.

Three questions, on the paper's world, a sparse variant of it, RiverSwim and the hypercube:

    accuracy   local, few, global or certified search for the same maximum, with alpha(t) = sqrt(t);
    schedule   sqrt(t), log(1+t) and multiples of both, with the global search; and no bias at all;
    audit      along runs of the global search, how far its objective is from the certified maximum.

Worlds differ in length, so there is one experiment per family; within it all agents meet the same worlds with
the same luck. Proofs take up to seconds a step, so certified search has experiments of its own, with fewer trials
and steps, and the global search beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from vbmle.agents.vbmle import VBMLE
from vbmle.common.files import whole_or_absent
from vbmle.common.validation import Ints
from vbmle.estimation.likelihood import log_likelihood, value_biased
from vbmle.experiments import playing
from vbmle.experiments.compute import Lost, Workers
from vbmle.experiments.resume_key import code_version
from vbmle.experiments.run import Failure
from vbmle.experiments.spec import Choice, Experiment, Trial, folder_name, seed
from vbmle.planning import planner
from vbmle.simulation import simulate

SECTIONS = "vbmle.suites.study_page:sections"
NETWORK = {"states": 5, "actions": 4, "dimension": 4}
WORLDS = {
    "network": {
        "paper's world": Choice("random_network", NETWORK),
        "sparse reward": Choice("random_network", {**NETWORK, "reward": "sparse"}),
    },
    "river": {
        "RiverSwim, 3 parameters": Choice("riverswim", {"length": 6, "features": "mixture"}),
        "RiverSwim, tabular": Choice("riverswim", {"length": 6, "features": "tabular"}),
    },
    "hypercube": {
        "hypercube, gap 0.5": Choice("hypercube", {"dimension": 4, "delta": 0.1, "gap": 0.5}),
        "hypercube, gap 0.9": Choice("hypercube", {"dimension": 4, "delta": 0.1, "gap": 0.9}),
    },
}
"""By family, and by the label a world has in the report."""

NOT_CERTIFIED = ("RiverSwim, tabular",)
"""Its feasible set has too many vertices for branch and bound."""

LOCAL, FEW, GLOBAL, CERTIFIED, NO_BIAS = "local", "few", "global", "certified", "none"
SCHEDULES = {
    "0.1 sqrt(t)": ("sqrt", 0.1),
    "10 sqrt(t)": ("sqrt", 10.0),
    "0.3 log(1+t)": ("log", 0.3),
    "log(1+t)": ("log", 1.0),
    "3 log(1+t)": ("log", 3.0),
}
AGENTS = {
    LOCAL: Choice("VBMLE", {"search": "local"}),
    FEW: Choice("VBMLE", {"search": "few"}),
    GLOBAL: Choice("VBMLE", {"search": "global"}),
    **{
        label: Choice("VBMLE", {"search": "global", "bias": bias, "bias_scale": scale})
        for label, (bias, scale) in SCHEDULES.items()
    },
    NO_BIAS: Choice("MaximumLikelihood"),
}
PROVED = {GLOBAL: AGENTS[GLOBAL], CERTIFIED: Choice("VBMLE", {"search": "certified"})}


class Size(NamedTuple):
    """How much of a family is run: trials and steps, for all agents, for certified search, and for the audit."""

    trials: int
    steps: int
    certified_trials: int
    certified_steps: int
    audit_runs: int
    audit_steps: int
    """Steps of each audited run that are compared with the certified maximum."""


FULL = {
    "network": Size(10, 500, 2, 60, 5, 40),
    "river": Size(10, 600, 5, 300, 5, 40),
    "hypercube": Size(10, 3000, 1, 20, 5, 40),
}
QUICK = {
    "network": Size(4, 100, 1, 10, 1, 8),
    "river": Size(4, 100, 2, 50, 1, 8),
    "hypercube": Size(4, 300, 1, 2, 1, 8),
}


def experiments(sizes: dict[str, Size]) -> list[Experiment]:
    """Everything that is run, but the audit."""
    return [make(family, size) for family, size in sizes.items() for make in (compared, certified)]


def compared(family: str, size: Size) -> Experiment:
    """All agents but the certified one."""
    return Experiment(
        name=f"study-{family}",
        worlds=WORLDS[family],
        agents=AGENTS,
        trials=size.trials,
        horizon=size.steps,
        reference=GLOBAL,
        sections=SECTIONS,
    )


def certified(family: str, size: Size) -> Experiment:
    """Certified search, and the global one beside it."""
    return Experiment(
        name=f"study-{family}-certified",
        worlds={label: world for label, world in WORLDS[family].items() if label not in NOT_CERTIFIED},
        agents=PROVED,
        trials=size.certified_trials,
        horizon=size.certified_steps,
        reference=GLOBAL,
        sections=SECTIONS,
    )


class Finding(msgspec.Struct, frozen=True):
    """One step of the global search beside the certified maximum."""

    step: int
    found: float
    """The objective at the agent's theta."""
    best: float
    """The largest objective known."""
    bound: float
    """No theta has more."""
    same_action: bool
    """Whether the agent acted as it would have at the best theta."""

    @property
    def missed(self) -> float:
        """What the search fell short of the best by, relative."""
        return max(self.best - self.found, 0.0) / (1.0 + abs(self.best))

    @property
    def gap(self) -> float:
        """What is left open between the best known and the bound, relative."""
        return max(self.bound - self.best, 0.0) / (1.0 + abs(self.best))


class Audit(msgspec.Struct, frozen=True):
    """A run of the global search of which some steps are compared."""

    trial: Trial
    steps: int

    def sampled(self) -> Ints:
        """One step, numbered from 1, from each of `steps` equal parts of the run."""
        rng = np.random.default_rng(seed("audit", self.trial.experiment, self.trial.world, self.trial.index))
        edges = np.linspace(0, self.trial.horizon, self.steps + 1).astype(np.int64)
        return rng.integers(edges[:-1], np.maximum(edges[1:], edges[:-1] + 1)) + 1


class Audited:
    """An agent that looks up the certified maximum in some of its steps, and acts as it would have without."""

    def __init__(self, agent: VBMLE, steps: Iterable[int]) -> None:
        self.agent, self.steps = agent, {int(step) for step in steps}
        self.findings: list[Finding] = []

    @property
    def policy(self) -> Ints:
        return self.agent.policy

    def act(self, state: int) -> int:
        action = self.agent.act(state)
        if self.agent.counts.total + 1 in self.steps:
            self.findings.append(compare(self.agent, state))
        return action

    def observe(self, state: int, action: int, next_state: int) -> None:
        self.agent.observe(state, action, next_state)


def compare(agent: VBMLE, state: int) -> Finding:
    """What the agent found, having acted in `state`, and what could be found."""
    mdp, counts, theta = agent.mdp, agent.counts, agent.theta.copy()
    ridge, bias = float(agent.settings["ridge"]), agent.alpha()
    value = float(planner.plan(mdp, theta).V[state])
    found = log_likelihood(mdp, counts, theta, ridge) + bias * value
    proved = value_biased(mdp, counts, state, bias, ridge, certify=True)
    assert proved.policy is not None
    assert proved.upper_bound is not None
    better = proved.objective > found + 1e-9 * (1.0 + abs(found))  # else the two are the same, or tie
    return Finding(
        step=counts.total + 1,
        found=found,
        best=max(found, proved.objective),
        bound=max(found, proved.upper_bound),
        same_action=not better or int(proved.policy[state]) == int(agent.policy[state]),
    )


def audits(sizes: dict[str, Size]) -> list[Audit]:
    """The runs to be audited: the first trials of the global search in each world with a certificate."""
    return [
        Audit(trial, size.audit_steps)
        for family, size in sizes.items()
        for trial in compared(family, size).all_trials()
        if trial.agent == GLOBAL and trial.world not in NOT_CERTIFIED and trial.index < size.audit_runs
    ]


def audit(task: Audit) -> list[Finding] | Failure:
    """Run it: the sampled steps with what was found in them."""
    try:
        world = playing.make_world(task.trial)
        agent = playing.make_agent(task.trial, world)
        assert isinstance(agent, VBMLE)
        player = Audited(agent, task.sampled())
        simulate(player, world, task.trial.horizon, seed=task.trial.chance)
        return player.findings
    except Exception as error:
        return Failure(task.trial, f"{type(error).__name__}: {error}")


def run_audits(tasks: list[Audit], folder: Path, jobs: int) -> list[str]:
    """Do the audits whose findings are not in `folder` yet; returns what failed, one entry each."""
    waiting = [task for task in tasks if read_audit(task, folder) is None]
    failures = []
    if waiting:
        with Workers(min(jobs, len(waiting))) as workers:
            for task, result in workers.results(audit, waiting):
                if isinstance(result, Lost):
                    result = Failure(task.trial, result.message)
                if isinstance(result, Failure):
                    failures.append(f"audit of {result}")
                else:
                    _keep(task, result, folder)
    return failures


def _keep(task: Audit, findings: list[Finding], folder: Path) -> None:
    path = _path(task, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    note = {"fingerprint": _fingerprint(task), "findings": msgspec.to_builtins(findings)}
    with whole_or_absent(path) as aside:
        aside.write_text(json.dumps(note, indent=1), encoding="utf-8")


def read_audit(task: Audit, folder: Path) -> list[Finding] | None:
    """What is kept of an audit; None if there is nothing, or something else."""
    try:
        note = json.loads(_path(task, folder).read_text(encoding="utf-8"))
        if note["fingerprint"] == _fingerprint(task):
            return msgspec.convert(note["findings"], list[Finding])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _path(task: Audit, folder: Path) -> Path:
    return folder / "audit" / f"{folder_name(task.trial.world)}-{task.trial.index:04d}.json"


def _fingerprint(task: Audit) -> str:
    return f"{task.trial.key(code_version())}-{task.trial.horizon}-{task.steps}"
