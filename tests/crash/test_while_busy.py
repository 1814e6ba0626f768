"""Messages join or end a running turn, and the hub is killed wherever it can be: each is dealt with once."""

import asyncio
import contextlib
import re
import sqlite3
import time
from pathlib import Path

import pytest

from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.crash.points import AtCommit, parse_commit_point
from tests.crash.story import struck_or_over
from tests.crash.striking import strike_all
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model import Hold, ToolCall, tools

LINE = "please run: echo line >> out"
PARTS = ["part 1.", "0.txt", "1.txt", "part 2."]
PART = re.compile(r"part \d\.|[01]\.txt")
MESSAGES = 1 + len(PARTS)
ALWAYS_STRUCK = {
    "steer": ("join_waiting:1:before", "join_waiting:1:after"),
    "interrupt": (
        "accept_event:3:after",
        "finish_turn_and_enqueue:1:before",
        "finish_turn_and_enqueue:1:after",
    ),
}


async def people(town: MortalHub) -> None:
    """The owner lets a tool run, and writes while the model thinks about its result."""
    town.owner_says(LINE)
    await town.answer_cards_until([OWNER], lambda: any(one.tool_results for one in town.model.log.all()))
    town.owner_says(PARTS[0])
    town.telegram.user_sends_album(OWNER, 2, "", kind="document")
    town.owner_says(PARTS[3])
    async with asyncio.timeout(LIMIT_S):
        while not settled(town):
            if accepted(town):
                town.model.release()
            town.answer_cards(OWNER)
            await asyncio.sleep(0.05)


def accepted(town: MortalHub) -> bool:
    """Return whether all messages are, and the album is known to be complete."""
    now = time.time_ns() // 1000
    return asked(town, f"SELECT count(*) FROM inbox WHERE kind = 'message' AND wait_until < {now}") == [
        (MESSAGES,)
    ]


def settled(town: MortalHub) -> bool:
    """Return whether all messages were dealt with."""
    active = "SELECT 1 FROM runs WHERE state IN ('running', 'waiting')"
    waiting = "SELECT 1 FROM inbox WHERE outcome = 'waiting'"
    return accepted(town) and not asked(town, f"{active} UNION {waiting}")


def asked(town: MortalHub, sql: str) -> list[tuple[object, ...]]:
    path = f"file:{town.directory}/data/hub.db?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
        return database.execute(sql).fetchall()


async def tell(directory: Path, mode: str, point: AtCommit | None) -> list[AtCommit]:
    """The whole story, killed at the point; the commits that the hub which ended it had passed."""
    async with open_mortal_hub(directory, Setup(extra=f"\n[agent]\nwhile_busy = '{mode}'")) as town:
        town.model.enqueue(
            tools(ToolCall("echo", {"text": "more"})), on="tool", fault=Hold(at="before_headers")
        )
        hub = await town.start(point)
        playing = asyncio.create_task(people(town))

        async def dead() -> None:
            await hub.wait(LIMIT_S)

        try:
            if point is not None:
                await struck_or_over(point, dead(), playing)
                await town.kill()
                await town.start()
            await playing
        finally:
            playing.cancel()
        await town.account()
        passed = [parse_commit_point(line) for line in town.trace()]
        await town.telegram.wait_for(town.listens, LIMIT_S)
        await town.stop()
        judge(town, mode)
        await town.command("db", "check")
        if point is None and mode == "steer":
            assert {turn for turn, _ in journal(town)} == {1}
        return passed


def journal(town: MortalHub) -> list[tuple[object, str]]:
    """The turn of each part, in the order of the journal."""
    said = asked(
        town,
        "SELECT r.number, e.text FROM entries e JOIN runs r ON r.id = e.turn_id WHERE e.kind = 'user'"
        " ORDER BY e.seq",
    )
    return [(number, part) for number, text in said for part in PART.findall(str(text))]


def judge(town: MortalHub, mode: str) -> None:
    """Every part is of exactly one turn, in order, or was dropped and said so; the tool ran at most once."""
    rows = asked(
        town, "SELECT coalesce(text, ''), coalesce(extra, ''), outcome FROM inbox ORDER BY order_key"
    )
    outcomes = {part: str(row[2]) for row in rows for part in PART.findall(f"{row[0]} {row[1]}")}
    found = journal(town)
    kept = [part for part in PARTS if outcomes[part] != "stopped"]
    assert [part for _, part in found] == kept, found
    assert [f"turn {turn}" for turn, _ in found] == [outcomes[part] for part in kept]
    assert kept == PARTS or mode == "interrupt"
    assert PARTS[3] in kept
    told = "\n".join(message.text for message in town.shown_to(OWNER))
    assert sum(map(int, re.findall(r"(\d+) queued messages? discarded", told))) == len(PARTS) - len(kept)
    out = town.workspace / "out"
    assert not out.exists() or out.read_text() == "line\n"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mode", ALWAYS_STRUCK)
async def test_killed_at_any_commit_each_part_is_handled_once(
    tmp_path: Path, mode: str, profile: Profile, proof_record: ProofRecord
) -> None:
    (tmp_path / "dry").mkdir()
    points = await tell(tmp_path / "dry", mode, None)
    every = profile.pick(test=100, proof=1)
    chosen = points[profile.seed % every :: every]
    struck = [point for point in points if point in chosen or str(point) in ALWAYS_STRUCK[mode]]

    async def story(directory: Path, point: AtCommit) -> None:
        await tell(directory, mode, point)

    failures = await strike_all(tmp_path, struck, story)
    print(f"{mode}: {len(struck)} of {len(points)} kill points, {len(struck) - len(failures)} kept")
    proof_record("while-busy", **{f"{mode}_kill_points": len(points), f"{mode}_struck": len(struck)})
    assert not failures, "\n".join(failures)
    assert set(ALWAYS_STRUCK[mode]) <= set(map(str, struck))
