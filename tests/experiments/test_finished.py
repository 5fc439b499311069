"""The note that all is done: true until something changes."""

import os
from pathlib import Path

from sweeps import filled, small

from vbmle.experiments.finished import NOTE_FILE, PAGE_FILE, is_finished, note


def test_the_note_holds_until_a_record_the_page_or_the_spec_changes(tmp_path: Path):
    experiment = small(trials=2)
    filled(tmp_path, experiment)
    (tmp_path / PAGE_FILE).write_text("page")
    assert not is_finished(tmp_path, [experiment])  # nobody has said so
    note(tmp_path, [experiment])
    assert is_finished(tmp_path, [experiment])
    assert not is_finished(tmp_path, [small(trials=3)])
    record = next((tmp_path / "records").rglob("*.parquet"))
    content, times = record.read_bytes(), (record.stat().st_atime_ns, record.stat().st_mtime_ns)
    record.write_bytes(content + b"x")
    assert not is_finished(tmp_path, [experiment])
    record.write_bytes(content)
    os.utime(record, ns=times)
    assert is_finished(tmp_path, [experiment])
    record.unlink()
    assert not is_finished(tmp_path, [experiment])
    record.write_bytes(content)
    os.utime(record, ns=times)
    (tmp_path / PAGE_FILE).unlink()
    assert not is_finished(tmp_path, [experiment])
    (tmp_path / NOTE_FILE).write_text("{")
    assert not is_finished(tmp_path, [experiment])


def test_a_folder_without_a_page_is_never_finished(tmp_path: Path):
    experiment = small()
    filled(tmp_path, experiment)
    note(tmp_path, [experiment])
    (tmp_path / PAGE_FILE).write_text("page")
    assert not is_finished(tmp_path, [experiment])
