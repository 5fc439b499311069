"""`vbmle bench --surface`: every kind of cell is a model, and what is measured is written and drawn."""

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks import surface
from benchmarks.surface import AGENTS, CELLS, QUICK, Cell, make, measure


@pytest.mark.parametrize("kind", sorted({cell.kind for cell in CELLS}))
def test_every_kind_is_a_model_of_that_size(kind: str):
    mdp = make(Cell(kind, 36, 3)).mdp
    assert (mdp.num_states, mdp.dimension, mdp.discount) == (36, 3, surface.DISCOUNT)


def test_a_cell_is_drawn_alike_each_time():
    one, other = (make(Cell("sparse", 30, 2)) for _ in range(2))
    assert np.array_equal(one.theta, other.theta)
    assert one.mdp == other.mdp


def test_what_is_measured_is_written_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def apart(cell: Cell, agent: str, steps: int) -> surface.Cost | None:
        return None if agent == "PSRL" else measure(cell, agent, steps)  # as if PSRL had taken too long

    monkeypatch.setattr(surface, "_apart", apart)
    said: list[str] = []
    costs = surface.run(tmp_path, True, said.append)
    assert len(costs) == len(QUICK) * (len(AGENTS) - 1)
    assert len(said) == len(QUICK) * len(AGENTS)
    assert sum("not within" in line for line in said) == len(QUICK)
    with (tmp_path / "surface.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["agent"] for row in rows] == [cost.agent for cost in costs]
    assert all(float(row["first"]) > 0.0 and int(row["steps"]) == 5 for row in rows)
    assert (tmp_path / "surface.png").stat().st_size > 10_000


def test_a_cell_is_measured_in_a_process_of_its_own():
    found = surface._apart(QUICK[0], "VBMLE", 2)
    assert found is not None
    assert (found.cell, found.agent, found.steps, found.decisions) == (str(QUICK[0]), "VBMLE", 2, 3)
