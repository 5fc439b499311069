"""What was recorded, for those who look back: replays, exports and the stream of events."""

from pathlib import Path

import polars
import pytest
from serving import DEPOT, Local, counted, served


def test_a_replay_says_what_another_agent_would_have_played(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        await local.play(40)
        before = counted(local)
        answer = await local.post("replay", {"agent": "Random", "settings": {"seed": 5}})
        assert answer.status == 200
        assert answer.body["decisions"] == 40
        differing = sum(item["times"] for item in answer.body["differences"])
        assert answer.body["agreement"] == pytest.approx(1 - differing / 40)
        wrong = await local.post("replay", {"agent": "VBMLE", "settings": {"search": "x"}})
        assert wrong.status == 422
        assert counted(local)[1:] == before[1:]

    served(tmp_path, test)


def test_the_export_has_every_decision_and_its_outcome(tmp_path: Path):
    async def test(local: Local) -> bytes:
        await local.make()
        await local.play(10)
        await local.decide(1, "open")
        await local.post("cancel", {"decision_id": (await local.decide(1, "undone"))["decision_id"]})
        return (await local.ask("GET", "/v1/loops/depot/export.parquet")).body

    (tmp_path / "export.parquet").write_bytes(served(tmp_path / "folder", test))
    table = polars.read_parquet(tmp_path / "export.parquet")
    assert table["status"].to_list() == ["observed"] * 10 + ["pending", "cancelled"]
    for row in table.head(10).iter_rows(named=True):
        reward = DEPOT.mdp.pair_reward[row["state"] * 3 + row["action"]]
        expected = reward * DEPOT.mdp.reward_scale + DEPOT.mdp.reward_offset
        assert row["reward"] == pytest.approx(expected)


def test_the_stream_has_every_event_and_goes_on_where_it_was(tmp_path: Path):
    async def test(local: Local) -> None:
        await local.make()
        await local.play(5)
        await local.rest()
        whole = (await local.ask("GET", "/v1/loops/depot/events?follow=false")).body.decode()
        numbers = [int(line[4:]) for line in whole.splitlines() if line.startswith("id: ")]
        assert numbers == list(range(1, local.service.loops["depot"].state.seq + 1))
        rest = await local.ask("GET", "/v1/loops/depot/events?follow=false", headers={"Last-Event-ID": "4"})
        assert rest.body.decode().count("id: ") == len(numbers) - 4

    served(tmp_path, test)
