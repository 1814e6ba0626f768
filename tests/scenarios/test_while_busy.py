"""What people send while a turn runs: it waits, joins the turn, or ends it; every part once, in order."""

import contextlib
import re
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.core.tools.processes_support import until
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.simulators.model import Hold, ToolCall, tools

LINE = "echo effect >> effects; while [ ! -e go ]; do sleep 0.02; done"
PARTS = [*(f"part {number:02}." for number in range(1, 21)), "paper.txt", "0.txt", "1.txt"]
PART = re.compile(r"part \d\d\.|paper\.txt|[01]\.txt")


@contextlib.asynccontextmanager
async def busy(directory: Path, agent: str = "") -> AsyncIterator[Hub]:
    """A hub whose owner's turn runs a tool, until `go_on`."""
    async with open_hub(directory, extra=f"\n[agent]\n{agent}") as house:
        house.telegram.user_sends_text(OWNER, f"please run: {LINE}")
        await house.pressed(OWNER, await house.card(OWNER), 0)
        await until((house.workspace / "effects").is_file, "the tool began")
        yield house
        assert (house.workspace / "effects").read_text() == "effect\n"


def go_on(house: Hub) -> None:
    (house.workspace / "go").touch()


def asked(house: Hub, sql: str) -> list[tuple[str, ...]]:
    with contextlib.closing(sqlite3.connect(house.database)) as database:
        return database.execute(sql).fetchall()


async def at_rest(house: Hub) -> None:
    """Return once nothing runs and nothing waits."""
    active = (
        "SELECT id FROM runs WHERE state IN ('running', 'waiting')"
        " UNION SELECT key FROM inbox WHERE outcome = 'waiting'"
    )
    await until(lambda: not asked(house, active), "every message was dealt with")


def texts(house: Hub) -> list[tuple[int, str]]:
    """The turn and the text of everything in the journal that the person said."""
    rows = asked(
        house,
        "SELECT r.number, e.text FROM entries e JOIN runs r ON r.id = e.turn_id"
        " WHERE e.kind = 'user' ORDER BY e.seq",
    )
    return [(int(number), text) for number, text in rows]


def journalled(house: Hub) -> list[tuple[int, str]]:
    """The turn of every part, in the order of the journal."""
    return [(turn, part) for turn, said in texts(house) for part in PART.findall(said)]


def outcomes(house: Hub) -> dict[str, str]:
    """The recorded outcome of each part."""
    rows = asked(house, "SELECT coalesce(text, ''), coalesce(extra, ''), outcome FROM inbox ORDER BY id")
    found = {part: outcome for text, extra, outcome in rows for part in set(PART.findall(text + extra))}
    return {part: found[part] for part in PARTS}


# The turns that the 20 messages, the file and the album of two are part of. The running turn makes three more
# model calls. (A message that interrupts ends whatever runs when it comes.)
TABLE = {
    ("queue", "merge"): [2] * 10 + [3] * 10 + [4] * 3,
    ("queue", "one_by_one"): [*range(2, 23), 23, 23],
    ("steer", "merge"): [1] * 23,
    ("steer", "one_by_one"): [1, 1, 1, *range(2, 20), 20, 20],
}


@pytest.mark.parametrize("queue", ["merge", "one_by_one"])
@pytest.mark.parametrize("while_busy", ["queue", "steer", "interrupt"])
async def test_every_part_is_of_exactly_one_turn_and_in_order(
    tmp_path: Path, while_busy: str, queue: str
) -> None:
    async with busy(tmp_path, f"while_busy = '{while_busy}'\nqueue = '{queue}'") as house:
        house.model.enqueue(*[tools(ToolCall("list_dir", {"path": "."}))] * 2)
        for said in PARTS[:20]:
            house.telegram.user_sends_text(OWNER, said)
        house.telegram.user_sends_document(OWNER, PARTS[20])
        house.telegram.user_sends_album(OWNER, 2, "", kind="document")
        await house.telegram.wait_confirmed()
        await house.clock.sleep(1)  # the album has arrived
        go_on(house)
        await at_rest(house)
        told, outcome = "\n".join(house.says(OWNER)), outcomes(house)
        kept = [part for part in PARTS if outcome[part] != "stopped"]
        found = journalled(house)
        assert [part for _, part in found] == kept
        assert [f"turn {turn}" for turn, _ in found] == [outcome[part] for part in kept]
        discarded = re.findall(r"(\d+) queued messages? discarded", told)
        assert sum(map(int, discarded)) == len(PARTS) - len(kept)
        if while_busy == "interrupt":
            assert kept[-2:] == PARTS[-2:], "the newest message, an album, is kept"
            assert found[-2][0] == found[-1][0] == max(turn for turn, _ in found)
        else:
            assert [turn for turn, _ in found] == TABLE[while_busy, queue]


async def test_a_command_decides_about_its_own_message(tmp_path: Path) -> None:
    async with busy(tmp_path) as house:
        said = ["/queue yes", "/steer /stop at line 3", "and then?", "/Steer"]
        for one in said:
            house.telegram.user_sends_text(OWNER, one)
        await house.telegram.wait_text(OWNER, "Type /steer followed by a message.")
        go_on(house)
        await at_rest(house)
        assert texts(house)[1:] == [(1, "/stop at line 3"), (2, "yes"), (2, "and then?")]
        house.model.fault(Hold(at="before_headers"), times=2)
        house.telegram.user_sends_text(OWNER, "think")
        await house.model.wait_requests(state="held")
        for one in ("dropped", "/interrupt", "think again"):
            house.telegram.user_sends_text(OWNER, one)
        await house.telegram.wait_text(OWNER, "Stopped. 1 queued message discarded.")
        await house.model.wait_requests(state="held")
        house.telegram.user_sends_text(OWNER, "/interrupt do this instead")
        await house.telegram.wait_text(OWNER, "do this instead")
        assert texts(house)[-2:] == [(4, "think again"), (5, "do this instead")]


@pytest.mark.parametrize("while_busy", ["queue", "steer", "interrupt"])
async def test_while_a_card_waits_a_text_is_queued_and_a_command_may_end_the_turn(
    tmp_path: Path, while_busy: str
) -> None:
    async with open_hub(tmp_path, extra=f"\n[agent]\nwhile_busy = '{while_busy}'") as house:
        house.telegram.user_sends_text(OWNER, "please run: touch made")
        card = await house.card(OWNER)
        house.telegram.user_sends_text(OWNER, "hm, wait")
        await house.telegram.wait_text(OWNER, "Your message is queued")
        await house.pressed(OWNER, card, 0)
        await at_rest(house)
        assert (house.workspace / "made").exists()
        assert texts(house)[1] == (1 if while_busy == "steer" else 2, "hm, wait")
        house.telegram.user_sends_text(OWNER, "please run: touch more")
        await house.card(OWNER)
        house.telegram.user_sends_text(OWNER, "/interrupt forget it")
        await house.telegram.wait_text(OWNER, "forget it")
        assert house.open_cards(OWNER) == []
        assert not (house.workspace / "more").exists()
