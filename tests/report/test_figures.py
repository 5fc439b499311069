"""Figures on paper: what is named beside or below them fits."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vbmle.plot.panels import Panel, Series, legend
from vbmle.plot.styles import assign
from vbmle.report import figures, latex, table_pictures
from vbmle.report.charts import Chart
from vbmle.report.tables import Row, column


@dataclass(frozen=True)
class Mean(Row):
    world: str = column("world")
    agent: str = column("agent")
    mean: float = column("mean")


LONG = "VBMLE (log bias, doubling), 12 of 20 at 0"
SHORT = "UCLK"


def strips(name: str, panels: int) -> Chart:
    lost = np.array([0.0, 1e-3, 30.0, 2000.0])
    rows = [Series("VBMLE", name, lost, np.arange(4.0)) for _ in range(2)]
    shown = [
        Panel("strip", f"world {n}", "regret (log scale)", "", rows, x_scale="symlog") for n in range(panels)
    ]
    return Chart("x-trials", "trials", "", "", "", shown)


@pytest.mark.parametrize(("name", "across"), [(SHORT, 3), (LONG, 2)])
def test_names_at_the_side_leave_room_for_the_dots(name: str, across: int):
    figure = figures.draw(strips(name, 6), assign(["VBMLE"]))
    figure.draw_without_rendering()
    boxes = [axes.get_position() for axes in figure.axes]
    assert len({round(box.x0, 3) for box in boxes}) == across
    assert min(box.width for box in boxes) * figure.get_figwidth() > 1.5


def test_ticks_side_by_side_do_not_run_into_each_other():
    figure = figures.draw(strips(LONG, 2), assign(["VBMLE"]))
    figure.draw_without_rendering()
    for axes in figure.axes:
        boxes = [label.get_window_extent() for label in axes.get_xticklabels()]
        assert all(one.x1 < two.x0 for one, two in pairwise(boxes))


@pytest.mark.parametrize("names", [[SHORT] * 3, [LONG, SHORT, SHORT], [LONG] * 5])
def test_a_legend_is_not_wider_than_its_figure(names: list[str]):
    figure, (axes,) = figures.sheet(1)
    for number, name in enumerate(names):
        axes.plot([0, 1], [0, number], label=f"{name} {number}")
    legend(figure)
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert box.x0 >= 0.0
    assert box.x1 <= figure.bbox.x1


def test_long_labels_of_axes_are_wrapped():
    label = "what the policy of the likeliest model loses before any data"
    line = Series("VBMLE", "VBMLE", np.arange(3.0), np.arange(3.0))
    chart = Chart("x", "claim", "", "", "", [Panel("scatter", "", label, "loss", [line])] * 3)
    shown = figures.draw(chart, assign(["VBMLE"])).axes[0].get_xlabel()
    assert shown.replace("\n", " ") == label
    assert "\n" in shown


def test_latex_finds_a_picture_whose_name_has_dots():
    assert r"{{against-temperature=0.01-gap=0.9}.pdf}" in latex.figure("against-temperature=0.01-gap=0.9", "")


def test_the_picture_of_a_table_has_all_its_rows(tmp_path: Path):
    rows = [Mean(f"world {n}", "VBMLE", 1.0 * n) for n in range(70)]
    table_pictures.write(rows, tmp_path / "table")
    first, second = table_pictures._pages(rows)
    assert [len(page.columns[0]) for page in (first, second)] == [table_pictures.LONGEST, 10]
    with Image.open(tmp_path / "table.png") as image:
        dark = np.flatnonzero((np.asarray(image) < 128).any(axis=1))
    bottom = (table_pictures.MARGIN + table_pictures.HEAD + 59 * table_pictures.ROW) * table_pictures.DPI
    assert dark.max() > bottom  # the last row of the page
    assert (tmp_path / "table.pdf").stat().st_size > 1000
