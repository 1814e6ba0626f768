"""Consent across a hub that is down; who may give it, and who may not even ask."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from core.consent import card_texts
from tests.crash.asking import APPROVED, answer_to, cards, data_of, done, lines
from tests.crash.mortal import APPROVE, LIMIT_S, OWNER, TOKEN, MortalHub, Setup, open_mortal_hub
from tests.simulators.model import ToolCall, tools

STRANGER, GUEST = 99, 21


@pytest.mark.parametrize("end", [MortalHub.kill, MortalHub.stop])
async def test_a_button_pressed_while_the_hub_is_down_counts_once_and_every_copy_shows_it(
    tmp_path: Path, end: Callable[[MortalHub], Awaitable[None]]
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        # The card's first copy reaches the chat, but its hub never learns of it and sends another one.
        town.telegram.fail("drop", method="sendMessage", when="after", count=1)
        unseen = "Bad Request: message to edit not found"
        town.telegram.fail("error", method="editMessageReplyMarkup", status=400, description=unseen)
        await town.start()
        town.telegram.user_sends_text(OWNER, "please run: echo line >> out")
        stray, copy = await cards(town, 2)
        press = [data_of(card, APPROVE) for card in (stray, copy)]
        await town.account()
        await end(town)

        while_down = town.telegram.user_presses_button(OWNER, stray.id, data=press[0])
        await town.start()
        await town.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
        again = [
            town.telegram.user_presses_button(OWNER, card.id, data=data)
            for card, data in zip((stray, copy), press, strict=True)
        ]

        assert await answer_to(town, while_down) == APPROVED
        for late in again:
            assert await answer_to(town, late) == card_texts.already_settled(APPROVED)
        await town.telegram.wait_for(lambda: not town.open_cards(OWNER), LIMIT_S)
        for card in (stray, copy):
            assert APPROVED in card.text
        assert lines(town) == ["line"]
        assert len(done(town, OWNER)) == 1


@pytest.mark.parametrize("direct", ["allowlist", "open", "pairing"])
async def test_a_strangers_press_is_refused_for_a_reason_they_see(tmp_path: Path, direct: str) -> None:
    async with open_mortal_hub(tmp_path, Setup(direct=direct, groups="addressed")) as town:
        town.telegram.add_user(STRANGER)
        group = town.telegram.create_group("all of us", [OWNER, STRANGER])
        await town.start()
        bot = town.telegram.bot(TOKEN).user.username
        town.telegram.user_sends_text(OWNER, f"@{bot} please run: echo line >> out", chat_id=group.id)
        (card,) = await cards(town, 1, group.id)

        refused = town.telegram.user_presses_button(STRANGER, card.id, APPROVE, chat_id=group.id)
        assert await answer_to(town, refused) == card_texts.NOT_ALLOWED_HERE
        assert town.telegram.callbacks[refused.id].answers[0]["show_alert"] is True
        assert card.keyboard is not None
        assert lines(town) == []

        town.telegram.user_presses_button(OWNER, card.id, APPROVE, chat_id=group.id)
        await town.telegram.wait_text(group.id, "Done:", timeout_s=LIMIT_S)
        assert lines(town) == ["line"]


async def test_a_guest_of_an_open_bot_cannot_reach_the_shell(tmp_path: Path) -> None:
    async with open_mortal_hub(tmp_path) as town:
        town.telegram.add_user(GUEST)
        await town.start()
        # The model asks for what it was not offered, as one may that a guest has talked into it.
        town.model.enqueue(tools(ToolCall("shell", {"command": "echo line >> out"})), match="please run")
        town.telegram.user_sends_text(GUEST, "please run: echo line >> out")
        answer = (await town.telegram.wait_bot_messages(GUEST, timeout_s=LIMIT_S))[0]
        assert answer.text.startswith("Done:")
        assert not answer.keyboard
        assert town.telegram.bot_messages(OWNER) == []
        offered = {tool["function"]["name"] for tool in town.model.log[0].body["tools"]}
        assert "shell" not in offered
        assert "time" in offered
        assert lines(town) == []
