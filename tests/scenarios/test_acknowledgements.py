"""A sign on messages that wait behind a long turn, and what becomes of it when it cannot be given."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.simulators.model import Hold

LONG = "think long"
SEEN = [{"type": "emoji", "emoji": "👀"}]


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, speed=20) as opened:
        yield opened


async def busy(house: Hub) -> int:
    """The message whose turn is held up in the model."""
    house.model.fault(Hold(at="before_headers"), match=LONG)
    first = house.telegram.user_sends_text(OWNER, LONG)
    await house.model.wait_requests(state="held")
    return first.id


def signs(house: Hub) -> dict[int, Any]:
    """Messages that were given one, as asked of the platform."""
    return {
        int(request.params["message_id"]): request.params["reaction"]
        for request in house.telegram.requests("setMessageReaction", ok=True)
    }


async def test_a_waiting_message_gets_a_reaction_that_stays_after_the_answer(house: Hub) -> None:
    first = await busy(house)
    second = house.telegram.user_sends_text(OWNER, "and this?")
    await house.telegram.wait_requests("setMessageReaction")
    assert house.telegram.bot_messages(OWNER) == []
    assert list(signs(house)) == [second.id]
    house.model.release()
    await house.telegram.wait_text(OWNER, "and this?")
    bot = house.telegram.bot().id
    assert house.telegram.message(OWNER, second.id).reactions == {bot: SEEN}
    assert house.telegram.message(OWNER, first).reactions == {}
    assert list(signs(house)) == [second.id]


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "rate_limit", "retry_after_s": 600},
        {"kind": "error", "status": 400, "description": "Bad Request: REACTION_INVALID"},
        {"kind": "error", "status": 400, "description": "Bad Request: message to react not found"},
        {"kind": "silent"},
    ],
    ids=lambda fault: fault.get("description", fault["kind"]),
)
async def test_a_reaction_that_fails_delays_nothing(house: Hub, fault: dict[str, Any]) -> None:
    house.telegram.fail(method="setMessageReaction", **fault)
    await busy(house)
    house.telegram.user_sends_text(OWNER, "and this?")
    await house.telegram.wait_requests("setMessageReaction")
    house.model.release()
    await house.telegram.wait_text(OWNER, f"You said: {LONG}")
    await house.telegram.wait_text(OWNER, "You said: and this?")
    assert signs(house) == {}


async def test_a_message_that_is_soon_answered_gets_no_reaction(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=1 / 60) as house:  # the hub's second is a minute: enough for any
        await busy(house)
        quick = house.telegram.user_sends_text(OWNER, "quick")
        await house.telegram.wait_confirmed()
        house.model.release()
        await house.telegram.wait_text(OWNER, "You said: quick")
        # One that waits longer, queued after it: by the time that has its sign, the other would have had one.
        await busy(house)
        slow = house.telegram.user_sends_text(OWNER, "slow")
        await house.telegram.wait_confirmed()
        house.clock.pass_by(2)
        await house.telegram.wait_requests("setMessageReaction")
        assert list(signs(house)) == [slow.id]
        assert quick.id not in signs(house)
        house.model.release()
        await house.telegram.wait_text(OWNER, "You said: slow")


async def test_a_flood_of_waiting_messages_requests_no_more_reactions_once_limited(house: Hub) -> None:
    house.telegram.fail("rate_limit", method="setMessageReaction", retry_after_s=600)
    await busy(house)
    house.telegram.user_sends_text(OWNER, "one")
    await house.telegram.wait_requests("setMessageReaction", count=1)
    for number in range(5):
        house.telegram.user_sends_text(OWNER, f"more {number}")
    await house.telegram.wait_confirmed()
    house.model.release()
    await house.telegram.wait_text(OWNER, "more 4")
    assert len(house.telegram.requests("setMessageReaction")) == 1
