"""From one version to the next: a folder that version 0.1 wrote is served as if nothing had changed.

Each folder `stored-VERSION` is one that a server of that version wrote and left, with `answers.json` beside it: what it
had been asked and had answered, how its loops stood, and what its policies played. A version that changes what is
stored adds a folder, and leaves the others as they are.
"""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from serving import Hands, Local, audit, served

from vbmle.serve import folder as folders

STORED = sorted(Path(__file__).parent.glob("stored-*"))


@pytest.fixture(params=STORED, ids=lambda path: path.name)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A copy of the folder, and what its server had answered."""
    shutil.copytree(request.param / "folder", tmp_path / "folder")
    return tmp_path / "folder", json.loads((request.param / "answers.json").read_text())


def test_there_is_a_folder_of_an_earlier_version():
    assert STORED


def test_what_was_answered_before_is_answered_again(stored: tuple[Path, dict[str, Any]]):
    folder, told = stored

    async def test(local: Local) -> None:
        await local.rest()
        for loop, expected in told["status"].items():
            controller = local.service.loops[loop]
            assert {name: getattr(controller.ledger, name) for name in expected} == expected
            assert controller.solves.policy.actions == told["next"][loop]
        for loop, body, answer in told["requests"]:
            assert (await local.post("decisions", body, loop)).body == answer
        for loop, body in told["observations"]:
            again = await local.post("observations", body, loop)
            assert again.body == {"recorded": 0, "duplicates": 1}
            other = {**body, "next_state": (body["next_state"] + 1) % 4}
            assert (await local.post("observations", other, loop)).status == 409
        assert (await local.ask("GET", "/v1/loops/depot/export.parquet")).status == 200

    served(folder, test, Hands())
    for loop in told["status"]:
        audit(folder, loop)


def test_it_goes_on_from_there_and_is_the_new_version_s_own(stored: tuple[Path, dict[str, Any]]):
    folder = stored[0]

    async def goes_on(local: Local) -> list[int]:
        before = local.service.loops["depot"].ledger.observations
        await local.play(30, prefix="new")
        await local.rest()
        assert local.service.loops["depot"].ledger.observations == before + 30
        return local.service.loops["depot"].solves.policy.actions

    async def afterwards(local: Local) -> list[int]:
        return local.service.loops["depot"].solves.policy.actions

    assert served(folder, goes_on, Hands()) == served(folder, afterwards, Hands())
    audit(folder, "depot")
    connection = sqlite3.connect(folder / "events.db")
    assert connection.execute("PRAGMA user_version").fetchone() == (folders.FORMAT,)
    connection.close()
