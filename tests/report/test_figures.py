"""Figures on paper: what is named beside or below them fits."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vbmle.plot.panels import Panel, Series, legend, plain, spread_out
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


@pytest.mark.parametrize(("name", "across"), [(SHORT, 3), (LONG, 1)])
def test_names_at_the_side_leave_room_for_the_dots(name: str, across: int):
    figure = figures.draw(strips(name, 6), assign(["VBMLE"]))
    figure.draw_without_rendering()
    boxes = [axes.get_position() for axes in figure.axes]
    assert len({round(box.x0, 3) for box in boxes}) == across
    assert min(box.width for box in boxes) * figure.get_figwidth() > 0.8


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


def lines(names: list[str], panels: int = 1) -> Chart:
    steps = np.arange(1.0, 5001.0, 50.0)
    series = [Series(name, name, steps, (1.0 + 0.01 * n) * steps) for n, name in enumerate(names)]
    shown = [Panel("lines", f"world {n}", "step t", "regret", series) for n in range(panels)]
    return Chart("x-regret", "regret", "", "", "", shown)


@pytest.mark.parametrize("panels", [1, 3])
def test_curves_are_named_at_their_ends_and_names_do_not_touch(panels: int):
    """Ends that are much closer to each other than names are high."""
    names = [f"agent number {n}" for n in range(8)]
    figure = figures.draw(lines(names, panels), assign(names))
    figure.draw_without_rendering()
    assert not figure.legends
    for axes in figure.axes[:panels]:
        assert [text.get_text() for text in axes.texts] == names
        boxes = [text.get_window_extent() for text in axes.texts]
        assert all(one.y1 <= two.y0 + 1.0 for one, two in pairwise(boxes))  # in the order of their ends
        assert max(box.x1 for box in boxes) <= figure.bbox.x1


def test_more_curves_are_small_multiples():
    names = [f"agent {n}" for n in range(9)]
    figure = figures.draw(lines(names), assign(names))
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.texts[0].get_text() for axes in shown] == names
    looks = assign(names)
    for axes, name in zip(shown, names, strict=True):
        colors = [line.get_color() for line in axes.lines]
        assert colors == [figures.FAINT.color] * 8 + [looks[name].color]
    grid = figures.draw(lines(names, 3), assign(names))
    assert len(grid.axes) == 27


def test_ticks_are_numbers_in_full():
    figure = figures.draw(lines(["a"]), assign(["a"]))
    figure.draw_without_rendering()
    ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert "2,000" in ticks
    assert plain(0.0002) == "0.0002"
    assert plain(3e8) == "3 $10^{8}$"


@pytest.mark.parametrize(("panels", "points"), [(1, 239.0), (3, 397.0)])
def test_figures_have_the_width_of_a_column(tmp_path: Path, panels: int, points: float):
    """And their type is 8 pt, embedded as TrueType."""
    chart = lines(["a", "b"], panels)
    figure = figures.draw(chart, assign(["a", "b"]))
    assert figure.get_figwidth() * 72.27 == pytest.approx(points)
    axes = figure.axes[0]
    assert {text.get_fontsize() for text in (axes.title, axes.xaxis.label, *axes.get_xticklabels())} == {8.0}
    figures.write(chart, tmp_path, assign(["a", "b"]))
    table_pictures.write([Mean("w", "a", 1.0)], tmp_path / "table")
    for name in ("x-regret.pdf", "table.pdf"):
        content = (tmp_path / name).read_bytes()
        assert b"/Type3" not in content
        assert b"/CIDFontType2" in content  # the TrueType of PDF


@pytest.mark.parametrize("places", [[0.0] * 5, [90.0, 95.0, 100.0], [10.0, 50.0, 52.0, 99.0], [3.0]])
def test_names_are_moved_apart_inside_the_height_and_no_further_than_it_takes(places: list[float]):
    moved = spread_out(places, 10.0, 100.0)
    assert all(two - one >= 10.0 - 1e-9 for one, two in pairwise(moved))
    assert min(moved) >= 0.0
    assert max(moved) <= 100.0
    alone = [
        n
        for n, place in enumerate(places)
        if all(abs(place - o) >= 20.0 for o in places[:n] + places[n + 1 :])
    ]
    assert all(moved[n] == places[n] for n in alone)
