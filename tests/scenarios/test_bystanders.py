"""Others in a room read a card, too: neither a `yes` of theirs nor what they would change answers it."""

from pathlib import Path

import pytest

from tests.harness import discord_hub, slack_hub
from tests.harness.telegram_hub import OWNER, open_hub

RUN = "please run: echo ran >> log"
ADDRESSED = 'groups = "addressed"'
ON_TELEGRAM, ON_SLACK, ON_DISCORD = 100, "U0STRANGER", 100_000_000_000_000_008
WORDS = pytest.mark.parametrize("words", ["yes", pytest.param("command: echo x", marks=pytest.mark.slow)])


@WORDS
async def test_on_telegram_a_bystander_does_not_decide(tmp_path: Path, words: str) -> None:
    async with open_hub(tmp_path, extra=ADDRESSED) as house:
        house.telegram.add_user(ON_TELEGRAM, first_name="Sam")
        group = house.telegram.create_group("all of us", [OWNER, ON_TELEGRAM]).id
        bot = house.telegram.bot().user.username
        asked = house.telegram.user_sends_text(OWNER, f"@{bot} {RUN}", chat_id=group)
        card = await house.telegram.wait_text(group, "Run `")
        assert card.reply_to is not None
        assert card.reply_to.id == asked.id
        await house.settled_sends()
        house.telegram.user_sends_text(ON_TELEGRAM, words, chat_id=group, reply_to=card.id)
        said = "You are not allowed to decide this." if ":" in words else f'You said: "Sam": {words}'
        await house.telegram.wait_text(group, said)
        assert not (house.workspace / "log").exists()
        house.telegram.user_sends_text(OWNER, f"@{bot} yes", chat_id=group)
        await house.telegram.wait_text(group, "Done:")
        assert (house.workspace / "log").read_text() == "ran\n"


@pytest.mark.slow
async def test_on_slack_a_bystander_does_not_decide(tmp_path: Path) -> None:
    async with slack_hub.open_slack_hub(tmp_path, extra=ADDRESSED) as place:
        slack = place.slack
        slack.add_user(ON_SLACK, name="sam")
        room = slack.create_channel("build", [slack_hub.OWNER, ON_SLACK], apps=["hub"]).id
        asked = slack.user_mentions(slack_hub.OWNER, RUN, room)
        card = await place.card(room)
        assert card.thread_ts == asked.ts
        slack.user_mentions(ON_SLACK, "yes", room, thread_ts=asked.ts)
        await place.hears(room, 'You said: "sam": yes')
        assert not (place.workspace / "log").exists()
        slack.user_presses_button(slack_hub.OWNER, room, card.ts, "Approve")
        await place.hears(room, "Done:")
        assert (place.workspace / "log").read_text() == "ran\n"


@pytest.mark.slow
async def test_on_discord_a_bystander_does_not_decide(tmp_path: Path) -> None:
    async with discord_hub.open_discord_hub(tmp_path, extra=ADDRESSED) as place:
        place.joins(ON_DISCORD, "sam")
        room = place.room("build").id
        asked = place.discord.user_mentions_bot(discord_hub.OWNER, RUN, room)
        card = await place.card(room)
        assert card.reply_to_id == asked.id
        place.discord.user_sends_text(ON_DISCORD, "yes", room, reply_to=card.id)
        await place.hears(room, 'You said: "Sam": yes')
        assert not (place.workspace / "log").exists()
        await place.presses(discord_hub.OWNER, card, 0)
        await place.hears(room, "Done:")
        assert (place.workspace / "log").read_text() == "ran\n"
