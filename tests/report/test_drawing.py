"""Pictures that other processes draw."""

from functools import partial
from pathlib import Path

import pytest

from vbmle.experiments.compute import Workers
from vbmle.report import drawing
from vbmle.report.drawing import Drawing


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_workers_at_hand_draw_and_what_they_cannot_is_tried_here(tmp_path: Path):
    with Workers(2) as workers:
        with Drawing(workers) as drawn:
            for name in ("one", "two"):
                drawn.add(partial(Path.touch, tmp_path / name))
        assert names(tmp_path) == {"one", "two"}
        assert workers.is_open
        drawn = Drawing(workers)
        drawn.add(partial(Path.touch, tmp_path / "three"))
        drawn.add(partial(Path.touch, tmp_path / "nowhere" / "four"))
        with pytest.raises(FileNotFoundError, match="nowhere"):
            drawn.__exit__(None, None, None)
    assert names(tmp_path) == {"one", "two", "three"}


def test_a_pool_is_opened_for_many_pictures_alone(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(drawing, "WORTH", 3)
    workers = Workers(2)
    with Drawing(workers) as drawn:
        for number in range(2):
            drawn.add(partial(Path.touch, tmp_path / str(number)))
        assert not workers.is_open
        assert not names(tmp_path)
        drawn.add(partial(Path.touch, tmp_path / "2"))
        assert workers.is_open
    assert not workers.is_open
    assert names(tmp_path) == {"0", "1", "2"}


def test_without_workers_it_is_done_here_at_the_end(tmp_path: Path):
    with Drawing() as drawn:
        drawn.add(partial(Path.touch, tmp_path / "one"))
        assert not names(tmp_path)
    assert names(tmp_path) == {"one"}


def test_an_error_ends_the_pool_and_draws_nothing_more(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(drawing, "WORTH", 1)
    workers = Workers(1)
    drawn = Drawing(workers)
    drawn.add(partial(Path.touch, tmp_path / "one"))
    assert workers.is_open
    drawn.__exit__(OSError, OSError("full"), None)
    assert not workers.is_open
