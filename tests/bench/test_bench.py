"""The bench: baselines that solve the same problem, rows that hide nothing, and a table that is complete."""

import csv
import io
import json
import math
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import draw, outside
from refusals import refused
from rich.console import Console

from benchmarks import (
    certificates,
    discounts,
    large_models,
    overhead,
    paper_world,
    quadratic_programs,
    rivals,
    scaling,
    service_load,
    stopwatch,
    tabular_steps,
    waiting,
)
from benchmarks.__main__ import require
from benchmarks.slsqp import Problem, Slsqp
from benchmarks.speed_table import (
    MET,
    MISSED,
    REPORTED,
    Row,
    as_markdown,
    as_table,
    at_least,
    at_most,
    write,
)
from benchmarks.walks import STEPS_PER_TURN, FlooredWalk, Walk, take_turns
from vbmle import VBMLE, World, log_likelihood, plan, value_biased
from vbmle.common.threads import ONE_THREAD
from vbmle.experiments import catalogue
from vbmle.simulation import simulate
from vbmle.worlds import hypercube, random_network, riverswim

WORLDS = {
    "network": random_network(4, 3, 4),
    "cube": hypercube(3, seed=1),
    "river": riverswim(5, features="mixture"),
    "tabular": tabular_steps.random_tabular(4, 2, 3),
    "simplex": certificates.PROBLEM_KINDS["mixture, simplex"](np.random.default_rng(5)),
}
each_world = pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)


def problem_in(world: World, seed: int, bias: float = 5.0) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(draw(world, 80, rng), int(rng.integers(world.mdp.num_states)), bias)


def feasible(world: World, rng: np.random.Generator) -> np.ndarray:
    """A point of P with positive probabilities: between the interior point, the truth and a climbed maximum."""
    mdp = world.mdp
    tops = value_biased(mdp, draw(world, 20, rng), 0, 10.0, search="local").theta
    weights = rng.dirichlet(np.ones(3))
    return weights @ np.array([mdp.polytope.interior, world.theta, tops])


@each_world
@pytest.mark.parametrize("seed", range(3))
def test_the_baseline_has_the_same_objective(world: World, seed: int):
    problem, theta = problem_in(world, seed), feasible(world, np.random.default_rng(seed))
    likelihood = log_likelihood(world.mdp, problem.counts, theta, problem.ridge)
    V = plan(world.mdp, theta, method="policy-iteration").V
    expected = likelihood + problem.bias * V[problem.state]
    assert Slsqp(world.mdp).objective(problem, theta)[0] == pytest.approx(expected, rel=1e-10, abs=1e-10)


@each_world
def test_the_gradient_of_the_baseline_is_ours(world: World):
    from parts.climbing import Probe

    from vbmle.estimation.maximiser import make_objective

    mdp, problem, theta = world.mdp, problem_in(world, 7), feasible(world, np.random.default_rng(7))
    ours = make_objective(problem.counts, problem.ridge, problem.bias, problem.state)
    slope = Probe(mdp.core).slope_at(ours, theta)
    found = Slsqp(mdp).objective(problem, theta)[1]
    np.testing.assert_allclose(found, slope, rtol=1e-8, atol=1e-8 * np.abs(slope).max())


@each_world
def test_the_constraints_of_the_baseline_are_those_of_the_model(world: World):
    rng, slsqp = np.random.default_rng(3), Slsqp(world.mdp)
    theta = feasible(world, rng)
    assert (slsqp.lower @ theta - slsqp.bound).min() > -1e-12
    np.testing.assert_allclose(slsqp.equal @ theta, slsqp.target, atol=1e-9)
    assert np.linalg.matrix_rank(slsqp.equal) == len(slsqp.equal)
    bent = theta + 0.1 * rng.normal(size=len(theta))
    lack = max((slsqp.bound - slsqp.lower @ bent).max(), np.abs(slsqp.equal @ bent - slsqp.target).max())
    assert lack > 0.0
    assert outside(world.mdp, bent) > 0.0


def test_the_baseline_refuses_rewards_it_does_not_know():
    reward = np.random.default_rng(0).random((2, 1, 2))
    mdp = type(WORLDS["river"].mdp).tabular(np.ones((2, 1, 2), bool), reward, 0.9)
    with pytest.raises(ValueError, match=r"by \(s, a\) only"):
        Slsqp(mdp)


@each_world
def test_answers_of_the_baseline_are_feasible(world: World):
    slsqp = Slsqp(world.mdp)
    answer = slsqp.solve(problem_in(world, 11), world.mdp.polytope.interior)
    assert outside(world.mdp, answer.theta) <= 1e-6
    assert answer.seconds > 0.0


def test_local_steps_end_at_least_as_high_as_the_baseline_in_most_steps():
    """Both start from the last theta; f has many maxima, so either may end on another one now and then."""
    lead: list[float] = []
    for seed in range(3):
        world = random_network(4, 3, 4, seed=seed)
        walk = paper_world.ComparedWalk(VBMLE(world.mdp, search="local"), world, 60, set(range(5, 60, 6)))
        walk.go(60)
        theirs = [answer.objective for answer in walk.answers]
        lead += [(a - b) / (1.0 + abs(a)) for a, b in zip(walk.ours, theirs, strict=True)]
    assert len(lead) == 30
    assert np.mean(np.array(lead) >= -1e-6) >= 0.8


def test_a_walk_is_a_run():
    """Measuring changes nothing: the same path and theta as `simulate`, with and without the others' turns."""
    world = random_network(3, 2, 3)
    agents = [VBMLE(world.mdp, search="local") for _ in range(3)]
    simulate(agents[0], world, 3 * STEPS_PER_TURN + 1)
    walks = [
        FlooredWalk(agents[1], world, 3 * STEPS_PER_TURN + 1),
        Walk(agents[2], world, 3 * STEPS_PER_TURN + 1),
    ]
    take_turns(walks, 3 * STEPS_PER_TURN + 1)
    for agent, walk in zip(agents[1:], walks, strict=True):
        np.testing.assert_array_equal(agent.counts.values, agents[0].counts.values)
        np.testing.assert_array_equal(agent.theta, agents[0].theta)
        assert walk.steps == len(walk.act_seconds) == 3 * STEPS_PER_TURN + 1
        assert walk.total == pytest.approx(sum(walk.act_seconds) + sum(walk.observe_seconds))


def test_the_stopwatch_counts_work_and_not_what_others_do():
    """Asleep, others have the processor: wall time passes, work does not. No more than what wall time says."""
    before = time.perf_counter()
    begun = stopwatch.start()
    time.sleep(0.2)
    asleep = stopwatch.since(begun)
    assert 0.0 < asleep <= time.perf_counter() - before
    assert not stopwatch.FINE or asleep < 0.1


def test_exponents_are_slopes_of_logarithms():
    sizes = [3.0, 10.0, 50.0]
    assert scaling.exponent(sizes, [2.0 * size**1.7 for size in sizes]) == pytest.approx(1.7)


def test_problems_to_certify_have_at_most_four_parameters():
    for kind in certificates.PROBLEM_KINDS:
        for number in range(4):
            for problem in certificates.draw_problems(kind, number, 30):
                mdp = problem.counts.mdp
                assert mdp.dimension <= 4
                assert 2 <= mdp.num_states <= 15
                assert 1 <= problem.counts.total <= 30


def outcome(gap: float, seconds: float = 0.1, miss: float = 0.0) -> certificates.Outcome:
    return certificates.Outcome(seconds, gap, miss)


def test_certificates_count_late_and_open_ones_as_misses():
    outcomes = {kind: [outcome(0.0)] for kind in certificates.PROBLEM_KINDS}
    outcomes["hypercube"] = [outcome(0.0), outcome(0.5), outcome(0.0, seconds=3.0), outcome(1e-4, miss=1e-3)]
    outcomes[certificates.BEYOND] = [outcome(1.0)]
    rows = certificates.summarise(outcomes)
    count = len(certificates.PROBLEM_KINDS) + 3
    shares = [1 - 2 / count, 0.0, 1 - 2 / count, 1 - 1 / count]
    assert [row.value for row in rows[:4]] == pytest.approx(shares)
    assert rows[0].verdict == MISSED
    assert rows[0].details["hypercube"] == pytest.approx(0.5)
    assert rows[1].verdict == REPORTED
    assert rows[5].value == 3.0


SYNTHETIC = [
    Row("steps", "times faster", "small", 31.0, target=at_least(25)),
    Row("steps", "times faster", "large", 24.0, target=at_least(25)),
    Row("steps", "floors", "small", 12.0, target=at_most(12)),
    Row("steps", "floors", "large", 12.0004, target=at_most(12)),
    Row("steps", "growth", "large", 7.0),
    Row("proofs", "closed to |f|", "all", 0.94999, "share", at_least(0.95)),
]


def test_a_missed_target_is_called_missed():
    assert [row.verdict for row in SYNTHETIC] == [MET, MISSED, MET, MISSED, REPORTED, MISSED]
    assert Row("", "", "", math.nan, target=at_least(1)).verdict == MISSED
    assert Row("", "", "", math.nan, target=at_most(1)).verdict == MISSED
    console = Console(width=80, file=io.StringIO())
    console.print(as_table(SYNTHETIC))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    lines = [line for line in text.splitlines() if any(c.isdigit() for c in line)]
    assert [[word for word in (MET, MISSED, REPORTED) if word in line] for line in lines] == [
        [row.verdict] for row in SYNTHETIC
    ]


def test_rounding_never_moves_a_figure_across_its_target():
    assert [row.figure for row in SYNTHETIC] == ["31", "24", "12", "12.0004", "7", "94.999%"]
    assert [row.aim for row in SYNTHETIC] == [">= 25", ">= 25", "<= 12", "<= 12", "", ">= 95%"]
    assert Row("", "", "", 12345.6).figure == "12300"


def test_the_page_shows_the_same(tmp_path: Path):
    text = as_markdown(SYNTHETIC)
    assert text.count("**missed**") == 3
    assert text.count("| Measure |") == 2
    write(tmp_path, SYNTHETIC, {"quick": True})
    document = json.loads((tmp_path / "bench.json").read_text())
    assert document["missed"] == 3
    assert document["rows"][1]["target"] == {"sense": ">=", "bound": 25}
    rows = list(csv.DictReader((tmp_path / "bench.csv").read_text().splitlines()))
    assert [row["verdict"] for row in rows] == [row.verdict for row in SYNTHETIC]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench.csv", "bench.json", "bench.md"]


def test_the_load_is_what_clients_saw_over_the_time_it_took():
    """Figures of two runs that were made up: 4000 pairs in 2 s, and latencies of 1 to 100 ms."""
    busy = service_load.Tally(4000, [0.001 * k for k in range(1, 101)], 40, 100, 2.0, 8_000_000, 1.2)
    paced = service_load.Tally(200, [0.051] * 100, 10, 50, 1.0, 100_000)
    found = {(row.measure, row.case): row for row in service_load.rows(700.0, busy, paced)}
    pairs = found["decision-observation pairs", service_load.BUSY_CASE]
    assert (pairs.value, pairs.verdict, pairs.figure) == (2000.0, MET, "2000 /s")
    assert pairs.details == {"solves": 20.0, "bytes_per_pair": 2000.0}
    latency = found["decisions, 99th percentile", service_load.BUSY_CASE]
    assert latency.value == pytest.approx(99.01)
    assert (latency.verdict, found["decisions, 99th percentile", service_load.PACED_CASE].verdict) == (
        REPORTED,
        MISSED,
    )
    assert found["commits, each with one fsync", service_load.BUSY_CASE].value == 50.0
    assert found["processor time of the server for a pair", service_load.BUSY_CASE].value == pytest.approx(
        0.3
    )


def test_the_load_is_served_and_every_pair_is_kept(tmp_path: Path):
    worlds = [service_load.four_states()] * service_load.LOOPS
    tally = service_load.run(tmp_path / "folder", worlds, seconds=0.2)
    assert tally.pairs >= service_load.CLIENTS
    assert len(tally.decisions) == tally.pairs
    kept = sqlite3.connect(tmp_path / "folder" / "events.db")
    (count,) = kept.execute("SELECT count(*) FROM events WHERE kind = 'observed'").fetchone()
    kept.close()
    assert count == tally.pairs
    assert 0 < tally.commits < 2 * tally.pairs, "requests share commits"


def test_a_row_needs_a_known_unit():
    with refused("unit", "'furlongs'"):
        Row("", "", "", 1.0, "furlongs")


def vbmle(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from vbmle.cli import app; app()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=3600)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The folder, stdout and stderr of `vbmle bench --quick`."""
    folder = tmp_path_factory.mktemp("quick") / "new" / "bench"
    done = vbmle("bench", "--quick", "--out", str(folder))
    assert done.returncode == 0, done.stderr
    return folder, done.stdout, done.stderr


def test_the_quick_bench_is_complete(quick: tuple[Path, str, str]):
    folder, out, _ = quick
    document: dict[str, Any] = json.loads((folder / "bench.json").read_text())
    rows = document["rows"]
    assert document["about"]["quick"] is True
    assert document["about"]["threads"] == ONE_THREAD
    assert document["missed"] == sum(row["verdict"] == MISSED for row in rows)
    for row in rows:
        assert math.isfinite(row["value"])
        assert row["value"] > 0.0 or row["unit"] in ("share", "exponent")
        assert all(math.isfinite(value) for value in row["details"].values())
        assert row["case"] in out
    cases = {row["case"] for row in rows}
    assert {case.name for case in paper_world.CASES} | set(tabular_steps.CASES) <= cases
    assert {row["section"] for row in rows} == {
        module.SECTION
        for module in (
            paper_world,
            quadratic_programs,
            tabular_steps,
            overhead,
            rivals,
            scaling,
            discounts,
            large_models,
            certificates,
            service_load,
            waiting,
        )
    }
    aimed = [(row["measure"], row["case"]) for row in rows if row["target"]]
    # 3 measures with a target at every size; 2 tabular, time, certificates, 2 outside the core;
    # UCLK at two sizes against cvxpy, and two at (15,4); an update and its memory on two domains, planning at
    # 1 + 2 * 4 sizes; the first decision of every agent in models of three kinds; two of the service under load;
    # four that a person waits for; the recommended agent at every size; programs by two libraries at three sizes;
    # plans of three kinds of models at two sizes and discounts.
    first = len(catalogue.general()) * len(discounts.MODEL_KINDS)
    rest = 2 + 1 + 1 + 2 + 2 + 2 + 2 * 2 + 1 + 2 * 4 + 2 + 4 + len(rivals.RECOMMENDED) + 2 * 3 + 3 * 2 * 2
    assert len(aimed) == len(set(aimed)) == 3 * 4 + rest + first
    for name in (*catalogue.general(), "UCLK, every step"):
        assert sum(row["measure"].startswith(f"{name}: a step, in multiples") for row in rows) == len(
            rivals.STEP_WORLDS
        )


def test_the_csv_has_the_same_rows(quick: tuple[Path, str, str]):
    folder, _, _ = quick
    rows = list(csv.DictReader((folder / "bench.csv").read_text().splitlines()))
    expected = json.loads((folder / "bench.json").read_text())["rows"]
    assert [(row["measure"], row["case"], float(row["value"])) for row in rows] == [
        (row["measure"], row["case"], row["value"]) for row in expected
    ]


def test_a_folder_that_cannot_be_is_bad_input(tmp_path: Path):
    (tmp_path / "taken").write_text("")
    done = vbmle("bench", "--quick", "--out", str(tmp_path / "taken"))
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert "taken" in done.stderr


def test_help_is_light():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\nfrom vbmle.cli import app\n"
            "try: app(['bench', '--help'])\n"
            "except SystemExit as end: assert end.code == 0\n"
            "assert not {'numba', 'scipy.optimize'} & set(sys.modules)",
        ],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    assert "--quick" in done.stdout


def test_a_package_to_compare_with_is_missed_before_anything_is_measured(
    tmp_path: Path,
):
    with refused("no_such_package", "nor_this", "make bench"):
        require(tmp_path / "bench", ("cvxpy", "no_such_package", "nor_this"))
    assert not (tmp_path / "bench").exists()
