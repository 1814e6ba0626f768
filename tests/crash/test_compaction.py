"""A hub killed at each commit of a compaction, of a reset and of a deletion: nothing is lost or repeated."""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from core import texts
from core.runs.compaction import LEFT_OUT, RESET
from tests.crash.entry import SPEED
from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, open_mortal_hub
from tests.crash.points import parse_commit_point
from tests.harness.process import hubbub
from tests.scenarios.compaction_house import SUMMARIZED, summarizes
from tests.simulators.model import HttpError, Reply

TURNS = 12
SUMMARY = "Olivia likes the garden."
OVERFLOW = HttpError(400, body=json.dumps({"error": {"message": "", "code": "context_length_exceeded"}}))
USUAL = ("record_summary:1:after", "files_removed:1:after")
UNITS = ("accept_event:1", "record_summary:1", "finish_turn_and_enqueue:1", "record_part_sent:1")


def kinds(town: MortalHub) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(f"file:{town.directory / 'data' / 'hub.db'}?mode=ro", uri=True)) as database:
        return database.execute("SELECT kind, text FROM entries ORDER BY seq").fetchall()


def points(*units: str) -> Sequence[object]:
    """Both sides of each commit; only the usual ones are of all profiles."""
    return [
        pytest.param(
            point,
            marks=[] if point.startswith(USUAL) else pytest.mark.slow,
            id=point,
        )
        for unit in units
        for point in (f"{unit}:before", f"{unit}:after")
    ]


async def asks_to_delete(town: MortalHub, thread_id: str) -> None:
    """Ask through the API, of a hub that may die of it."""
    await town.served_at_last()
    await hubbub(town.directory, "threads", "delete", thread_id, "--yes")


async def filled(town: MortalHub, *first: str) -> list[tuple[str, str]]:
    """A conversation that can be compacted, left by a hub that has ended. `first`: calls that begin it."""
    await town.start()
    for said in first:
        town.telegram.user_sends_text(OWNER, said)
        await town.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
    for turn in range(TURNS):
        said = f"turn {chr(97 + turn)}. " + "We talked about the garden and the weather in the valley. " * 8
        town.telegram.user_sends_text(OWNER, f"say: {said}")
        await town.telegram.wait_text(OWNER, f"turn {chr(97 + turn)}.", timeout_s=LIMIT_S)
    await town.stop()
    return kinds(town)


async def killed_at(town: MortalHub, point: str, said: str) -> None:
    """Say it to a hub that dies at that point, and let another one go on."""
    hub = await town.start(parse_commit_point(point))
    town.telegram.user_sends_text(OWNER, said)
    await hub.wait(LIMIT_S)
    await town.start()


@pytest.mark.parametrize("point", points(*UNITS))
async def test_killed_during_a_compaction_the_hub_compacts_once(tmp_path: Path, point: str) -> None:
    async with open_mortal_hub(tmp_path) as town:
        before = await filled(town)
        summarizes(town.model, Reply(SUMMARY))
        await killed_at(town, point, "/compact")
        await town.telegram.wait_text(OWNER, "Compacted", timeout_s=LIMIT_S)
        await town.account()
        town.telegram.user_sends_text(OWNER, "say: and now")
        await town.telegram.wait_text(OWNER, "and now", timeout_s=LIMIT_S)
        request = json.dumps(town.model.log[-1].body)
        await town.stop()
        after = kinds(town)
        assert after[: len(before)] == before
        assert [text for kind, text in after if kind == "user"].count("/compact") == 1
        assert len([kind for kind, _ in after if kind == "summary"]) == 1
        assert len([one for one in town.telegram.bot_messages(OWNER) if "Compacted" in one.text]) == 1
        assert request.count(SUMMARY) == 1
        assert "turn a." not in request
        assert len(town.model.log.select(match=SUMMARIZED)) <= 2, "at most once for each start"
        assert len(list(tmp_path.rglob("conversations/*/*.md"))) == 1


@pytest.mark.parametrize("point", points("record_summary:1", "record_summary:2", "finish_turn_and_enqueue:1"))
async def test_killed_during_a_reset_the_hub_resets_once_and_says_so(tmp_path: Path, point: str) -> None:
    async with open_mortal_hub(tmp_path) as town:
        before = await filled(town)
        summarizes(town.model, Reply(""))
        town.model.rule("too long", Reply("never"), fault=OVERFLOW)
        await killed_at(town, point, "too long")
        await town.telegram.wait_text(OWNER, texts.CONTEXT_LIMIT_RESET, timeout_s=LIMIT_S)
        await town.account()
        town.telegram.user_sends_text(OWNER, "say: and now")
        await town.telegram.wait_text(OWNER, "and now", timeout_s=LIMIT_S)
        request = json.dumps(town.model.log[-1].body)
        await town.stop()
        after = kinds(town)
        assert after[: len(before)] == before
        assert [text for kind, text in after if kind == "summary"] == [LEFT_OUT, RESET]
        said = [one.text for one in town.telegram.bot_messages(OWNER)]
        assert said.count(texts.CONTEXT_LIMIT_RESET) == 1
        assert "turn a." not in request


@pytest.mark.parametrize("point", points("accept_event:1", "delete_thread:1", "files_removed:1"))
async def test_killed_while_it_deletes_a_conversation_its_files_go_with_it(
    tmp_path: Path, point: str
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        (town.directory / SPEED).write_text("20")
        (town.workspace / "long.txt").write_text("a line of a long file\n" * 3_000)
        await filled(town, 'please call: read_file {"path": "long.txt"}')
        summarizes(town.model, Reply(SUMMARY))
        await town.start()
        town.telegram.user_sends_text(OWNER, "/compact")
        await town.telegram.wait_text(OWNER, "Compacted", timeout_s=LIMIT_S)
        await town.account()
        await town.stop()
        (archived,) = tmp_path.rglob("conversations/*/*.md")
        (output,) = (tmp_path / "data" / "outputs").iterdir()
        by_chat = not point.startswith("delete_thread")
        hub = await town.start(parse_commit_point(point))
        if by_chat:
            town.telegram.user_sends_text(OWNER, "/delete now")
        else:
            await asks_to_delete(town, archived.parent.name)
        await hub.wait(LIMIT_S)
        removed = point.startswith("files_removed")
        assert [file.exists() for file in (archived, output)] == [not removed] * 2
        kept = point in {"accept_event:1:before", "delete_thread:1:before"}
        assert (not kinds(town)) is not kept, "the rows decide"
        await town.start()
        if by_chat:
            await town.telegram.wait_text(OWNER, "Deleted for good.", timeout_s=LIMIT_S)
        elif kept:
            await asks_to_delete(town, archived.parent.name)
        async with asyncio.timeout(LIMIT_S):
            while archived.parent.exists() or output.exists():  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)
        await town.stop()
