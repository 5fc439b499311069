"""How much is measured: the whole table, or a quick look at every row of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Sizes of the samples. The quick ones show that everything works; their figures say little."""

    horizon: int  # steps of a run in the paper's world
    worlds: int  # worlds drawn for each of its sizes
    baseline_steps: int  # steps of a run in which the baseline is measured too
    large_baseline_steps: int  # the same where it takes most of a second
    cvxpy_steps: int  # steps of UCLK as one would write it, of up to 10 s each
    cvxpy_sweeps: int | None  # in each of them; None: as many as were published
    tabular_horizon: int
    early: tuple[int, int]  # steps compared with later ones
    late: tuple[int, int]
    size_steps: int  # steps of a run at each size, of which the second half counts
    problems: int  # problems to certify, of each kind
    longest: int  # steps of the longest run behind them
    large_states: int  # of the largest sparse model
    large_steps: int  # of a run in it
    sparse_sizes: tuple[int, ...]  # states of the sparse models that other libraries plan for, too
    dense_sizes: tuple[int, ...]  # and of the dense ones
    plan_repeats: int
    plan_sizes: tuple[int, ...]  # states of queues, grids and random models
    plan_discounts: tuple[float, ...]
    load_seconds: float  # of each run of the service under load
    tries: int  # of what takes a process of its own, the median of which counts


FULL = Effort(
    horizon=500,
    worlds=4,
    baseline_steps=30,
    large_baseline_steps=8,
    cvxpy_steps=2,
    cvxpy_sweeps=None,
    tabular_horizon=300,
    early=(500, 1500),
    late=(9000, 10000),
    size_steps=200,
    problems=10,
    longest=5000,
    large_states=100_000,
    large_steps=1000,
    sparse_sizes=(1000, 10_000, 100_000, 1_000_000),
    dense_sizes=(5, 15, 100, 1000),
    plan_repeats=9,
    plan_sizes=(5, 100, 1000, 10_000, 100_000, 1_000_000),
    plan_discounts=(0.9, 0.99, 0.9999),
    load_seconds=10.0,
    tries=5,
)
QUICK = Effort(
    horizon=20,
    worlds=1,
    baseline_steps=6,
    large_baseline_steps=2,
    cvxpy_steps=1,
    cvxpy_sweeps=3,
    tabular_horizon=20,
    early=(50, 100),
    late=(400, 450),
    size_steps=20,
    problems=1,
    longest=200,
    large_states=1100,
    large_steps=20,
    sparse_sizes=(1000,),
    dense_sizes=(5, 15, 60, 200),
    plan_repeats=3,
    plan_sizes=(5, 100),
    plan_discounts=(0.9, 0.99),
    load_seconds=0.4,
    tries=1,
)
