"""Undo, redo, retry, clear and delete, killed just before their commits and just after: done once or not at
all."""

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core.store.conversations import UNDONE
from core.store.sqlite.maintenance import check
from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, open_mortal_hub
from tests.crash.points import AtCommit, parse_commit_point
from tests.simulators.model import Reply

ANSWERS = {
    "/undo": "Undid the last turn",
    "/redo": "Brought back the last undone turn",
    "/retry": "Trying again.",
    "/clear": "Cleared.",
    "/delete now": "Deleted for good.",
}
BEFORE_THE_SECOND = AtCommit("accept_event", 2, "before")
AFTER_THE_FIRST = AtCommit("accept_event", 1, "after")


async def killed_twice(town: MortalHub, command: str) -> None:
    """The hub that runs dies before it keeps the command, the next one once it has. Another one runs then."""
    await town.telegram.wait_confirmed()  # else the command would not be the second that it is given
    town.telegram.user_sends_text(OWNER, command)
    assert town.hub is not None
    assert await town.hub.wait(LIMIT_S) == -signal.SIGKILL
    hub = await town.start(AFTER_THE_FIRST)
    assert await hub.wait(LIMIT_S) == -signal.SIGKILL
    await town.start(BEFORE_THE_SECOND)
    await town.telegram.wait_text(OWNER, ANSWERS[command], timeout_s=LIMIT_S)


async def killed_once(town: MortalHub, text: str) -> None:
    """The hub that runs dies before it keeps the message, which the next one answers."""
    await town.telegram.wait_confirmed()
    town.telegram.user_sends_text(OWNER, text)
    assert town.hub is not None
    assert await town.hub.wait(LIMIT_S) == -signal.SIGKILL
    await town.start(BEFORE_THE_SECOND)
    await town.telegram.wait_text(OWNER, f"You said: {text}", timeout_s=LIMIT_S)


def changes_of(town: MortalHub, text: str) -> list[bool]:
    """Return for each change of the message with this text whether it was marked as undone by it."""
    edits = town.telegram.requests("editMessageText", chat_id=OWNER, ok=True)
    texts = [str(edit.params["text"]) for edit in edits]
    return [UNDONE in changed for changed in texts if text in changed]


@pytest.mark.slow
async def test_each_command_is_done_once_after_kills(tmp_path: Path) -> None:
    async with open_mortal_hub(tmp_path) as town:
        await town.start(AtCommit("accept_event", 3, "before"))
        town.telegram.user_sends_text(OWNER, "say: one")
        await town.telegram.wait_text(OWNER, "one", timeout_s=LIMIT_S)
        town.telegram.user_sends_text(OWNER, "what follows")
        await town.telegram.wait_text(OWNER, "You said: what follows", timeout_s=LIMIT_S)
        await killed_twice(town, "/undo")
        await town.telegram.wait_text(OWNER, f"what follows\n\n{UNDONE}", timeout_s=LIMIT_S)
        await killed_twice(town, "/redo")
        await town.telegram.wait_for(lambda: len(changes_of(town, "what follows")) == 2, LIMIT_S)
        assert changes_of(town, "what follows") == [True, False]
        town.model.enqueue("better")
        await killed_twice(town, "/retry")
        await town.telegram.wait_text(OWNER, "better", timeout_s=LIMIT_S)
        first, again = town.model.log.select(match="what follows")
        assert again.raw == first.raw
        await killed_twice(town, "/clear")
        await killed_once(town, "afresh")
        assert "what follows" not in town.model.log[-1].raw.decode()
        await killed_twice(town, "/delete now")
        await killed_once(town, "from nothing")
        assert "afresh" not in town.model.log[-1].raw.decode()
        assert town.model.log.taken == 5
        said = [message.text for message in town.telegram.bot_messages(OWNER)]
        for answer in (*ANSWERS.values(), "better", "You said: afresh"):
            assert sum(answer in text for text in said) == 1
        outcomes = [event["outcome"] for event in await town.account()]
        assert sorted(outcomes) == sorted(
            ["turn 1", "turn 2", "turn 4", "turn 1", *(f"command: {line.split()[0]}" for line in ANSWERS)]
        )
        await town.stop()
        assert check(tmp_path / "data" / "hub.db").problems == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "point",
    [
        f"{unit}:{side}"
        for unit in ("finish_turn_and_enqueue:1", "record_part_sent:1", "record_part_sent:2")
        for side in ("before", "after")
    ],
)
async def test_killed_while_a_turn_is_tried_again_it_is_answered_once(tmp_path: Path, point: str) -> None:
    async with open_mortal_hub(tmp_path) as town:
        await town.start()
        town.telegram.user_sends_text(OWNER, "say: one")
        await town.telegram.wait_text(OWNER, "one", timeout_s=LIMIT_S)
        town.telegram.user_sends_text(OWNER, "what follows")
        await town.telegram.wait_text(OWNER, "You said: what follows", timeout_s=LIMIT_S)
        await town.account()
        await town.stop()
        town.model.rule("what follows", Reply("better"))
        hub = await town.start(parse_commit_point(point))
        town.telegram.user_sends_text(OWNER, "/retry")
        assert await hub.wait(LIMIT_S) == -signal.SIGKILL
        await town.start()
        await town.telegram.wait_text(OWNER, "better", timeout_s=LIMIT_S)
        await town.account()
        await town.stop()
        requests = town.model.log.select(match="what follows")
        ended = "finish_turn_and_enqueue:1:after" in town.trace(2)
        assert len(requests) == 2 if ended else len(requests) in {2, 3}, "asked again only if it died before"
        assert {one.raw for one in requests} == {requests[0].raw}
        said = [message.text for message in town.telegram.bot_messages(OWNER)]
        assert [sum(text in one for one in said) for text in ("better", "Trying again.")] == [1, 1]
        with closing(sqlite3.connect(f"file:{tmp_path / 'data' / 'hub.db'}?mode=ro", uri=True)) as database:
            live = database.execute("SELECT text FROM entries WHERE undone IS NULL ORDER BY seq").fetchall()
        assert [text for (text,) in live] == ["say: one", "one", "what follows", "better"]
        assert check(tmp_path / "data" / "hub.db").problems == ()
