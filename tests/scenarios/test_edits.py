"""A call is changed before it is agreed to: in a reply on Telegram, in a form on Slack and Discord."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.harness import discord_hub, slack_hub
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub

RUN = "please run: echo line >> out.txt"
CHANGED = "echo changed >> out.txt"


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


def lines(directory: Path) -> list[str]:
    out = directory / "out.txt"
    return out.read_text().split() if out.exists() else []


async def is_known(house: Hub) -> None:
    """The hub has heard where its card is shown."""
    async with asyncio.timeout(LIMIT_S):
        while await house.app.store.outbox.pending_outbox("telegram"):  # noqa: ASYNC110 - only asking tells
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "reply", [f"command: {CHANGED}", f'{{"command": "{CHANGED}"}}'], ids=["a line", "JSON"]
)
async def test_a_reply_to_the_card_changes_and_approves_the_call(house: Hub, reply: str) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    await is_known(house)
    house.telegram.user_sends_text(OWNER, reply, reply_to=card.id)
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house.workspace) == ["changed"]
    settled = next(m for m in house.telegram.bot_messages(OWNER) if m.id == card.id)
    assert settled.text.endswith("Approved by owner, edited")
    assert CHANGED in settled.text


async def test_the_button_asks_for_a_reply_which_is_settled_with_the_card(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    assert await house.pressed(OWNER, card, -1) == "Reply to my message with your changes."
    asked = await house.telegram.wait_text(OWNER, "command: echo line >> out.txt")
    await is_known(house)
    house.telegram.user_sends_text(OWNER, "timeout_s: soon", reply_to=asked.id)
    await house.telegram.wait_text(OWNER, "timeout_s")
    assert lines(house.workspace) == []
    house.telegram.user_sends_text(OWNER, f"command: {CHANGED}", reply_to=asked.id)
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house.workspace) == ["changed"]
    await house.telegram.wait_for(lambda: sum("edited" in text for text in house.says(OWNER)) == 2, LIMIT_S)


async def test_a_yes_in_reply_approves_and_other_words_stay_words(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    house.telegram.user_sends_text(OWNER, "note: not yet", reply_to=card.id)
    await house.telegram.wait_text(OWNER, "Your message is queued")
    house.telegram.user_sends_text(OWNER, "yes", reply_to=card.id)
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house.workspace) == ["line"]


@pytest.mark.parametrize("mode", ["socket", pytest.param("http", marks=pytest.mark.slow)])
async def test_a_form_on_slack_changes_and_approves_the_call(tmp_path: Path, mode: str) -> None:
    async with slack_hub.open_slack_hub(tmp_path, mode=mode) as place:
        slack, owner, direct = place.slack, slack_hub.OWNER, place.direct()
        slack.user_sends_text(owner, RUN)
        card = await place.card(direct)
        slack.user_presses_button(owner, direct, card.ts, "Edit…")
        view = await slack.wait_for(lambda: next(iter(slack.views.values()), None), LIMIT_S)
        shown = {block["block_id"]: block["element"].get("initial_value") for block in view.body["blocks"]}
        assert shown["command"] == "echo line >> out.txt"

        refused = slack.user_submits_view(owner, view.id, {"command": ""})
        await slack.wait_settled(refused.id, LIMIT_S)
        assert view.errors
        assert lines(place.workspace) == []
        view.is_open = True
        handed_in = slack.user_submits_view(owner, view.id, {**shown, "command": CHANGED})
        assert (await slack.wait_settled(handed_in.id, LIMIT_S)).state == "acked"
        await place.hears(direct, "Done:")
        assert lines(place.workspace) == ["changed"]
        await slack.wait_for(lambda: "edited" in slack.visible(direct, card.ts), LIMIT_S)


async def test_a_form_on_discord_changes_and_approves_the_call(tmp_path: Path) -> None:
    async with discord_hub.open_discord_hub(tmp_path) as place:
        place.discord.user_sends_text(discord_hub.OWNER, RUN)
        card = await place.card(place.direct())
        asked = await place.presses(discord_hub.OWNER, card, len(card.buttons()) - 1)
        assert asked.modal is not None
        handed_in = place.discord.user_submits_modal(asked.id, {"command": CHANGED})
        settled = await place.discord.wait_interaction(handed_in.id, LIMIT_S)
        assert settled.failure is None
        await place.hears(place.direct(), "Done:")
        assert lines(place.workspace) == ["changed"]
        assert any("edited" in text for text in place.says(place.direct()))
