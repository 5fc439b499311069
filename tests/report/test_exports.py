"""Pictures that other processes draw."""

from functools import partial
from pathlib import Path

import pytest

from vbmle.report import exports


def test_other_processes_draw_and_what_they_cannot_is_tried_here(tmp_path: Path):
    fine = [partial(Path.touch, tmp_path / name) for name in ("one", "two")]
    exports._draw(fine, jobs=2)
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}
    with pytest.raises(FileNotFoundError, match="nowhere"):
        exports._draw([*fine, partial(Path.touch, tmp_path / "nowhere" / "three")], jobs=2)
