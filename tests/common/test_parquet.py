"""Parquet files are read by a process that may die of them; nothing else does."""

import io
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import fuzz_tables
import numpy as np
import polars
import pytest
from refusals import refused

import vbmle
from vbmle.common import parquet


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "small.parquet"
    frame = polars.DataFrame({"n": [1, 2, 3], "x": [0.5, None, np.nan], "name": ["a", "é", None]})
    frame.write_parquet(path, metadata={"ours": "yes"})
    return path


def the_reader() -> "subprocess.Popen[bytes]":
    assert parquet._reader._process is not None
    return parquet._reader._process


def test_what_was_written_is_read(table: Path):
    found = parquet.read(table)
    assert found.frame.equals(polars.read_parquet(table))
    assert found.metadata["ours"] == "yes"


def test_a_file_that_ends_its_reader_is_refused_and_the_next_one_read(tmp_path: Path, table: Path):
    whole = next(kind for kind in fuzz_tables.tables(tmp_path) if kind.file == "table.parquet")
    damaged = bytearray(whole.content)
    damaged[494] ^= 1  # a length, which polars asks of the memory: 2 ** 61 bytes
    path = tmp_path / "damaged.parquet"
    path.write_bytes(damaged)
    with refused("damaged.parquet"):
        vbmle.models_from_table(path)
    assert len(parquet.read(table).frame) == 3


def test_a_reader_that_was_killed_is_started_again(table: Path):
    parquet.read(table)
    first = the_reader()
    os.kill(first.pid, signal.SIGKILL)
    with refused("-9", by=parquet.ParquetError):
        parquet.read(table)
    assert len(parquet.read(table).frame) == 3
    assert the_reader().pid != first.pid


def test_a_file_that_would_swell_is_refused(tmp_path: Path, table: Path):
    path = tmp_path / "swells.parquet"
    part = io.BytesIO()
    rows = 1 << 22
    columns = 1 + parquet._WORK * parquet.ALWAYS // (8 * rows)
    one = polars.repeat(0, rows, dtype=polars.Int64, eager=True)
    polars.DataFrame({f"c{k}": one for k in range(columns)}).write_parquet(part)
    path.write_bytes(part.getvalue())
    assert path.stat().st_size < parquet.ALWAYS / 100
    with refused("256 MiB", by=parquet.ParquetError):
        parquet.read(path)
    assert len(parquet.read(table).frame) == 3


def test_a_damaged_file_is_one_line(tmp_path: Path):
    path = tmp_path / "cut.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(parquet.ParquetError) as refusal:
        parquet.read(path)
    assert "\n" not in str(refusal.value)
    with pytest.raises(FileNotFoundError):
        parquet.read(tmp_path / "absent.parquet")


def test_threads_and_forked_processes_each_get_their_own_answer(tmp_path: Path):
    paths = [tmp_path / f"{number}.parquet" for number in range(8)]
    for number, path in enumerate(paths):
        polars.DataFrame({"n": [number] * (1000 * number + 1)}).write_parquet(path)
    found: dict[int, set[int]] = {}

    def read(number: int) -> None:
        found[number] = {int(parquet.read(paths[number]).frame["n"].unique().item()) for _ in range(20)}

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: {number} for number in range(8)}


def test_a_forked_process_does_not_talk_to_the_reader_of_its_parent(table: Path):
    parquet.read(table)
    forked = multiprocessing.get_context("fork").Process(target=_no_reader)
    forked.start()
    forked.join()
    assert forked.exitcode == 0
    assert len(parquet.read(table).frame) == 3


def _no_reader() -> None:
    sys.exit(int(parquet._reader._process is not None))


def test_the_reader_ends_with_its_parent(table: Path):
    script = (
        "from vbmle.common import parquet; import os, sys\n"
        f"parquet.read({str(table)!r}); print(parquet._reader._process.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=False)
    reader = int(done.stdout)
    for _ in range(600):
        try:
            os.kill(reader, 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{reader}/stat").read_text().split()[2] == "Z":
            return  # it has ended, and whoever inherited it has not looked yet
        threading.Event().wait(0.1)
    pytest.fail("the reader outlived its parent")
