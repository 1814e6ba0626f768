"""A reminder set by talking, and the hub is killed: it comes once, a press on it counts once."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, open_mortal_hub
from tests.crash.points import parse_commit_point
from tests.simulators.telegram.world import Message

SET = f"please call: remind {json.dumps({'text': 'call Ada', 'when': 'in 1 s'})}"
SHOWN = "⏰ Reminder\n\ncall Ada"
SLOW = pytest.mark.slow
SNOOZE, DONE = 0, 1


async def routines(town: MortalHub) -> list[dict[str, Any]]:
    return json.loads(await town.command("routines", "list", "--json"))


async def runs(town: MortalHub) -> list[dict[str, Any]]:
    """The runs of the one reminder, newest first, once the hub has noted that its notice was sent."""
    (made,) = await routines(town)
    async with asyncio.timeout(LIMIT_S):
        while True:
            found = json.loads(await town.command("routines", "history", made["id"], "--json"))
            if found and found[-1]["notice"] == "sent":
                return found


async def comes(town: MortalHub) -> Message:
    await town.telegram.wait_text(OWNER, SHOWN, timeout_s=LIMIT_S)
    (card,) = town.answers(OWNER, SHOWN)
    return card


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("save_routine:1:before", marks=SLOW),
        pytest.param("save_routine:1:after", marks=SLOW),  # it is set, and the call's outcome is not known
        pytest.param("claim_slots:1:before", marks=SLOW),
        pytest.param("claim_slots:1:after", marks=SLOW),  # its time has come, and nobody was told
        pytest.param("finish_run:1:before", marks=SLOW),
        pytest.param("finish_run:1:after", marks=SLOW),
        "add_notice:1:after",  # it is in the outbox, and nobody knows
        pytest.param("settle_notice:1:after", marks=SLOW),
    ],
)
async def test_killed_at_this_point_a_reminder_comes_once(tmp_path: Path, point: str) -> None:
    async with open_mortal_hub(tmp_path) as town:
        hub = await town.start(parse_commit_point(point))
        town.owner_says(SET)
        await hub.wait(LIMIT_S)
        await town.start()
        await comes(town)
        (run,) = await runs(town)
        await town.account()
        await town.stop()
        assert run["status"] == "attention"
        assert len(town.answers(OWNER, SHOWN)) == 1
        (made,) = await routines(town)
        assert made["status"] == "done"


@pytest.mark.parametrize("button", [SNOOZE, DONE], ids=["snooze", "done"])
@pytest.mark.parametrize("point", ["accept_event:2:before", "accept_event:2:after"])
@SLOW
async def test_killed_at_a_press_it_counts_once(tmp_path: Path, point: str, button: int) -> None:
    async with open_mortal_hub(tmp_path) as town:
        hub = await town.start(parse_commit_point(point))
        town.owner_says(SET)
        card = await comes(town)
        await runs(town)
        buttons = [one["callback_data"] for row in (card.keyboard or {})["inline_keyboard"] for one in row]
        town.telegram.user_presses_button(OWNER, card.id, data=buttons[button])
        await hub.wait(LIMIT_S)
        town.telegram.user_presses_button(OWNER, card.id, data=buttons[button])
        await town.start()
        word = "Snoozed for 10 minutes." if button == SNOOZE else "Done."
        await town.telegram.wait_text(OWNER, word, timeout_s=LIMIT_S)
        query = town.telegram.user_presses_button(OWNER, card.id, data=buttons[SNOOZE])
        answered = await town.telegram.wait_callback_answer(query.id, LIMIT_S)
        assert answered.answers[0]["text"] == ("Already snoozed." if button == SNOOZE else "Already done.")
        found = await runs(town)
        await town.account()
        await town.stop()
        assert [run["status"] for run in found] == ["waiting"] * (button == SNOOZE) + ["attention"]
        assert len(town.answers(OWNER, SHOWN)) == 1
