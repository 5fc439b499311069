"""Two writers, killed writers, and cells that a spreadsheet would run."""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import kills
import numpy as np
import pytest

from vbmle.common.files import alone_in, harmless, path_aside, read_arrays, save_npz, whole_or_absent

LIMIT = 900  # seconds, against hanging only


def test_threads_that_save_to_one_path_never_fail_or_tear(tmp_path: Path) -> None:
    path, errors = tmp_path / "one.npz", []
    save_npz(path, {"value": np.zeros(500)})

    def write(number: int) -> None:
        try:
            for _ in range(30):
                save_npz(path, {"value": np.full(500, number)})
                assert len(set(read_arrays(path)["value"].tolist())) == 1
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert errors == []
    assert [file.name for file in tmp_path.iterdir()] == ["one.npz"]


def test_processes_that_save_to_one_path_never_fail_or_tear(tmp_path: Path) -> None:
    code = (
        "import sys, numpy as np; from vbmle.common.files import save_npz\n"
        "from vbmle.common.files import read_arrays\n"
        "for _ in range(30):\n"
        "    save_npz(sys.argv[1], {'value': np.full(500, int(sys.argv[2]))})\n"
        "    assert len(set(read_arrays(sys.argv[1])['value'].tolist())) == 1"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "one.npz"), str(k)], stderr=subprocess.PIPE
        )
        for k in range(2)
    ]
    for run in runs:
        assert run.communicate(timeout=LIMIT)[1] == b""
    assert [file.name for file in tmp_path.iterdir()] == ["one.npz"]


@pytest.mark.skipif(os.name != "posix", reason="processes are asked after by signals")
@pytest.mark.parametrize("name", ["one.txt", "trial-0001.parquet", "a-b-3.c-4"])
def test_what_a_killed_writer_left_is_cleaned_up(tmp_path: Path, name: str) -> None:
    code = (
        "import os, sys; from pathlib import Path; from vbmle.common.files import whole_or_absent\n"
        "with whole_or_absent(Path(sys.argv[1])) as aside:\n"
        "    aside.write_text('half')\n"
        "    os.kill(os.getpid(), 9)"
    )
    path = tmp_path / name
    subprocess.run([sys.executable, "-c", code, str(path)], timeout=LIMIT, check=False)
    assert len(list(tmp_path.glob(f".{name}.*.part"))) == 1
    other = tmp_path / f".{name}.00000000-1-1.part"  # of another machine
    other.write_text("")
    with whole_or_absent(path) as aside:
        aside.write_text("whole")
    assert path.read_text() == "whole"
    assert sorted(tmp_path.iterdir()) == [other, path]


def test_an_agent_killed_while_it_is_saved_goes_on_as_if_nobody_had(tmp_path: Path) -> None:
    assert kills.saving(None, tmp_path / "out", random.Random(1))


def test_names_aside_differ_between_threads(tmp_path: Path) -> None:
    names = {path_aside(tmp_path / "one")}
    thread = threading.Thread(target=lambda: names.add(path_aside(tmp_path / "one")))
    thread.start()
    thread.join(LIMIT)
    assert len(names) == 2


def test_a_folder_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with alone_in(tmp_path) as first, alone_in(tmp_path) as second:
        assert (first, second) == (True, False)
    with alone_in(tmp_path) as again:
        assert again


@pytest.mark.parametrize("cell", ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\t=1"])
def test_formulas_become_text(cell: str) -> None:
    assert harmless(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-1.5", "+2", "agent", "", -1.5, None, "-inf"])
def test_numbers_and_words_stay(cell: object) -> None:
    assert harmless(cell) == cell
