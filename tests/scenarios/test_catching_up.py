"""Fifty messages in five conversations, missed while the hub was away or its connection broken, some of them
brought live as well while it catches up: each is part of exactly one turn, in order."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from tests.harness import discord_hub, slack_hub, telegram_hub
from tests.harness.discord_hub import DiscordHub, open_discord_hub
from tests.harness.slack_hub import SlackHub, open_slack_hub
from tests.harness.telegram_hub import open_hub
from tests.scenarios.missed import Conversation, judge, say_what_is_missed
from tests.simulators.discord.world import Message as DiscordMessage
from tests.simulators.slack.world import Message as SlackMessage

GROUPS = 'groups = "addressed"'
BROKEN = [pytest.param(False, id="away"), pytest.param(True, id="broken", marks=pytest.mark.slow)]


# --- Slack ----------------------------------------------------------------------------------------------


async def on_slack(place: SlackHub) -> Sequence[Conversation]:
    """A private one and four threads of two channels."""
    slack, me = place.slack, slack_hub.OWNER

    def shown(channel: str, thread_ts: str | None) -> list[str]:
        return [slack.look(message).text for message in slack.bot_messages(channel, thread_ts)]

    direct = place.direct()
    found = [
        Conversation("private", lambda text: slack.user_sends_text(me, text), lambda: shown(direct, None))
    ]
    for name in ("build", "ops"):
        room = slack.create_channel(name, [me], apps=["hub"]).id
        for half in ("one", "two"):
            root = slack.user_mentions(me, f"{name} {half} begins", room).ts
            await place.hears(room, f"{name} {half} begins")
            found.append(
                Conversation(
                    f"{name}-{half}",
                    lambda text, room=room, root=root: slack.user_sends_text(me, text, room, thread_ts=root),
                    lambda room=room, root=root: shown(room, root),
                )
            )
    slack.user_sends_text(me, "we begin")
    await place.hears(direct, "we begin")
    return found


def brought_again(place: SlackHub, messages: Sequence[object]) -> None:
    wanted = {message.ts for message in messages if isinstance(message, SlackMessage)}
    assert wanted
    events = place.slack.deliveries(kind="events_api")
    again = [record for record in events if record.payload["event"].get("ts") in wanted]
    assert {record.payload["event"]["ts"] for record in again} == wanted
    for record in again:
        place.slack.redeliver(record.id)


@pytest.mark.parametrize(
    "mode, broken",
    [
        pytest.param("socket", False, id="away"),
        pytest.param("http", False, id="away-http"),
        pytest.param("socket", True, id="broken", marks=pytest.mark.slow),
    ],
)
async def test_on_slack_each_missed_message_is_part_of_one_turn_in_order(
    tmp_path: Path, mode: str, *, broken: bool
) -> None:
    async with open_slack_hub(tmp_path, mode=mode, extra=GROUPS) as place:
        place.slack.configure(retry_delays_s=[])  # the history alone has what was missed
        conversations = await on_slack(place)
        if broken:
            place.slack.cut_sockets(duration_s=3600)
        else:
            await place.stop()
        await place.slack.wait_for(lambda: not place.slack.connections(), slack_hub.LIMIT_S)
        messages = say_what_is_missed(conversations)
        place.slack.fail("hold", method="conversations.history", when="before", count=1)
        if broken:
            place.slack.cut_sockets()
        else:
            await place.start()
        if mode == "socket":
            await place.slack.wait_connected(timeout_s=slack_hub.LIMIT_S)
        brought_again(place, messages)
        for conversation in conversations:
            conversation.says(conversation.live)
        await place.slack.wait_held(timeout_s=slack_hub.LIMIT_S)
        place.slack.release()
        for conversation in conversations:
            await place.slack.wait_for(conversation.has_answered_all, slack_hub.LIMIT_S)
        judge(conversations, place.model)


# --- Discord --------------------------------------------------------------------------------------------


async def on_discord(place: DiscordHub) -> Sequence[Conversation]:
    """A private one, two channels and a thread in each."""
    discord, me = place.discord, discord_hub.OWNER
    direct = place.direct()
    found = [
        Conversation("private", lambda text: discord.user_sends_text(me, text), lambda: place.says(direct))
    ]
    discord.user_sends_text(me, "we begin")
    await place.hears(direct, "we begin")
    for name in ("build", "ops"):
        room = place.room(name).id
        root = discord.user_mentions_bot(me, f"{name} begins", room)
        thread = discord.user_starts_thread(me, room, "about it", root.id).id
        discord.user_mentions_bot(me, "in here", thread)
        for channel, where in ((room, "room"), (thread, "thread")):
            await place.hears(channel, "begins" if where == "room" else "in here")
            found.append(
                Conversation(
                    f"{name}-{where}",
                    lambda text, channel=channel: discord.user_mentions_bot(me, text, channel),
                    lambda channel=channel: place.says(channel),
                )
            )
    return found


@pytest.mark.parametrize("broken", BROKEN)
async def test_on_discord_each_missed_message_is_part_of_one_turn_in_order(
    tmp_path: Path, *, broken: bool
) -> None:
    async with open_discord_hub(tmp_path, extra=GROUPS) as place:
        conversations = await on_discord(place)
        if broken:
            place.discord.cut_gateway()
        else:
            await place.stop()
        place.discord.forget_sessions()  # nothing is replayed
        messages = say_what_is_missed(conversations)
        place.discord.fail("hold", method="listMessages", when="before", count=1)
        if broken:
            place.discord.mend_gateway()
        else:
            await place.start()
        await place.discord.wait_connected(timeout_s=discord_hub.LIMIT_S)
        for message in messages:
            assert isinstance(message, DiscordMessage)
            place.discord.redeliver(message.id)
        for conversation in conversations:
            conversation.says(conversation.live)
        await place.discord.wait_held(timeout_s=discord_hub.LIMIT_S)
        place.discord.release()
        for conversation in conversations:
            await place.discord.wait_for(conversation.has_answered_all, discord_hub.LIMIT_S)
        judge(conversations, place.model)


# --- Telegram -------------------------------------------------------------------------------------------


async def test_on_telegram_each_missed_message_is_part_of_one_turn_in_order(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as place:
        conversations: list[Conversation] = []
        for number, name in enumerate(("anna", "ben", "cem", "dora", "eve"), start=telegram_hub.OWNER):
            if number != telegram_hub.OWNER:
                place.telegram.add_user(number, first_name=name)
            place.telegram.user_sends_text(number, "we begin")
            await place.telegram.wait_text(number, "we begin", timeout_s=telegram_hub.LIMIT_S)
            conversations.append(
                Conversation(
                    name,
                    lambda text, number=number: place.telegram.user_sends_text(number, text),
                    lambda number=number: place.says(number),
                )
            )
        await place.stop()
        say_what_is_missed(conversations)
        await place.start()
        await place.telegram.wait_polling(telegram_hub.TOKEN, telegram_hub.LIMIT_S)
        for conversation in conversations:
            conversation.says(conversation.live)
        for conversation in conversations:
            await place.telegram.wait_for(conversation.has_answered_all, telegram_hub.LIMIT_S)
        judge(conversations, place.model)


# --- How far back ---------------------------------------------------------------------------------------


async def is_away_too_long(
    place: SlackHub | DiscordHub,
    say: Callable[[str], object],
    hears: Callable[[str], Awaitable[object]],
    gone: Callable[[], Awaitable[object]],
) -> None:
    """The platform's clock stays where it is; the hub's goes on while it is away."""
    say("we begin")
    await hears("we begin")
    for days, is_read in ((2.9, True), (0.2, False)):
        await place.stop()
        await gone()
        say(f"missed for {days} days")
        place.clock.skip(days * 24 * 3600)
        await place.start()
        await place.becomes("running")
        if is_read:
            await hears(f"missed for {days} days")
    say("here again")
    await hears("here again")
    asked = "\n".join(str(one.body) for one in place.model.log.all())
    assert "missed for 0.2 days" not in asked


async def test_on_slack_what_was_missed_over_three_days_ago_is_not_answered(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path) as place:
        slack = place.slack
        slack.configure(retry_delays_s=[])
        await is_away_too_long(
            place,
            lambda text: slack.user_sends_text(slack_hub.OWNER, text),
            lambda text: place.hears(place.direct(), text),
            lambda: slack.wait_for(lambda: not slack.connections(), slack_hub.LIMIT_S),
        )


async def test_on_discord_what_was_missed_over_three_days_ago_is_not_answered(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        discord = place.discord

        async def forget() -> None:
            discord.forget_sessions()

        await is_away_too_long(
            place,
            lambda text: discord.user_sends_text(discord_hub.OWNER, text),
            lambda text: place.hears(place.direct(), text),
            forget,
        )
