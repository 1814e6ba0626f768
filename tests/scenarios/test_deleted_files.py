"""What a conversation keeps on disk is removed with it, unless another one refers to it."""

import asyncio
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tests.harness.telegram_hub import LIMIT_S
from tests.scenarios.compaction_house import summarizes
from tests.scenarios.model_house import House
from tests.scenarios.test_compaction import fill, open_long_house, say
from tests.simulators.model import Reply


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not done():  # noqa: ASYNC110 - a file vanishes without notice
            await asyncio.sleep(0.01)


def all_dealt_with(directory: Path) -> bool:
    with closing(sqlite3.connect(f"file:{directory / 'data' / 'hub.db'}?mode=ro", uri=True)) as database:
        return database.execute("SELECT count(*) FROM deleted_files").fetchone() == (0,)


async def uploaded(house: House) -> str:
    status, page = await house.api.ask("POST", "/api/uploads?name=a.txt", b"content")
    assert status == 201, page
    return page["id"]


async def attached(house: House, *uploads: str) -> str:
    """A console conversation with these files."""
    sent = await house.api.send("look", new=True, attachments=list(uploads))
    await house.api.until(f"/api/threads/{sent['thread_id']}", lambda page: page["thread"]["state"] == "idle")
    return sent["thread_id"]


async def deletes(house: House, thread_id: str) -> None:
    status, page = await house.api.ask("DELETE", f"/api/threads/{thread_id}")
    assert status == 200, page


async def test_files_go_with_the_last_conversation_that_refers_to_them(tmp_path: Path) -> None:
    async with open_long_house(tmp_path) as house:
        lying = tmp_path / "data" / "uploads"
        own, shared, unsent = [await uploaded(house) for _ in range(3)]
        first, second = await attached(house, own, shared), await attached(house, shared)

        (house.hub.workspace / "long.txt").write_text("a line of a long file\n" * 3_000)
        reading, outputs = 'please call: read_file {"path": "long.txt"}', tmp_path / "data" / "outputs"
        await house.api.send(reading, thread_id=second)
        await house.api.until(f"/api/threads/{second}", lambda page: page["thread"]["state"] == "idle")
        (others_output,) = outputs.iterdir()
        await say(house, reading, "Done:")
        (output,) = set(outputs.iterdir()) - {others_output}
        (outputs / f"{uuid.uuid4()}.txt").write_text("of a call whose result was never stored")
        await fill(house, 12, size=1)
        summarizes(house.main, Reply("Olivia likes the garden."))
        await say(house, "/compact", "Compacted ")
        await say(house, "/branch", "This is now a branch of")
        archive = house.hub.workspace / "conversations" / house.thread_id
        (archived,) = archive.iterdir()
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "1-2.md").write_text("not a conversation's")
        (house.hub.workspace / "conversations" / second).symlink_to(outside)
        notes = house.hub.workspace / "conversations" / first
        notes.mkdir()
        (notes / "notes.md").write_text("somebody else's")
        (notes / "1-2.md").write_text("moved here by compaction")
        (branch,) = [
            one["id"]
            for one in (await house.api.get("/api/threads"))["threads"]
            if one["origin"] == house.thread_id
        ]

        await deletes(house, house.thread_id)
        await deletes(house, first)
        await until(lambda: all_dealt_with(tmp_path))
        assert [one.name for one in notes.iterdir()] == ["notes.md"]
        assert archived.exists(), "the branch's summary names it"
        assert set(outputs.iterdir()) == {output, others_output}, "the branch has the result of the call"
        assert {one.name for one in lying.iterdir()} == {
            *(shared, f"{shared}.json"),
            *(unsent, f"{unsent}.json"),
        }

        await deletes(house, second)
        await deletes(house, branch)
        await until(lambda: all_dealt_with(tmp_path))
        assert not archive.exists()
        assert not list(outputs.iterdir())
        assert {one.name for one in lying.iterdir()} == {unsent, f"{unsent}.json"}
        assert (outside / "1-2.md").exists(), "a link is not followed"
