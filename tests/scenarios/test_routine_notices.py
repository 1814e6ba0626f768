"""Addresses of routine notices: a thread of their own where there are threads, else the next place."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.app import App
from bot.config.load import load
from bot.routines.service import build_manager
from core.clock import SystemClock
from core.ids import RandomIds
from core.routines.manage import RoutineManager
from tests.harness import discord_hub, slack_hub
from tests.harness.telegram_hub import LIMIT_S, OWNER, open_hub
from tests.scenarios.routine_house import OLIVIA, desk_of, ended, greeted

SLOW = pytest.mark.slow
TOLD = "Routine “watch” has something for you"


def page(**notify: Any) -> Mapping[str, Any]:
    return {
        "name": "watch",
        "trigger": {"type": "manual"},
        "action": {"type": "lightweight", "prompt": "say: look"},
        "notify": notify,
    }


def desk(app: App, directory: Path) -> RoutineManager:
    config = load(directory / "hubbub.toml", environ={}).config
    return build_manager(config, app.store, app.routines, SystemClock(), RandomIds())


async def test_in_a_forum_a_routine_reports_in_a_topic_of_its_own(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra='groups = "all"') as house:
        telegram = house.telegram
        forum = telegram.create_supergroup("Works", [OWNER], is_forum=True).id
        telegram.set_member(forum, telegram.bot().id, "administrator", by=OWNER)
        made = await desk_of(house).create(
            OLIVIA, page(channel="telegram", address=str(forum), own_thread=True)
        )
        for number in (1, 2):
            await desk_of(house).fire(OLIVIA, "watch", f"{number}")
            await ended(house, made, number)

        def topics() -> list[int | None]:
            return [message.topic_id for message in telegram.bot_messages(forum) if TOLD in message.text]

        await telegram.wait_for(lambda: len(topics()) == 2, LIMIT_S)
        assert None not in topics()
        assert len(set(topics())) == 1
        assert len(telegram.requests("createForumTopic")) == 1
        assert not house.says(OWNER)
        card = next(message for message in telegram.bot_messages(forum) if TOLD in message.text)
        telegram.user_presses_button(OWNER, card.id, 1, chat_id=forum)
        await telegram.wait_for(
            lambda: any("is paused" in message.text for message in telegram.bot_messages(forum)), LIMIT_S
        )


async def test_a_routine_that_names_another_address_reports_in_a_topic_there(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra='groups = "all"') as house:
        telegram = house.telegram
        forums = [telegram.create_supergroup(name, [OWNER], is_forum=True).id for name in ("Works", "Office")]

        def told() -> list[list[bool]]:
            """Of each notice in each forum, whether it is in a topic."""
            shown = ([one for one in telegram.bot_messages(forum) if TOLD in one.text] for forum in forums)
            return [[one.topic_id is not None for one in those] for those in shown]

        desk = desk_of(house)
        for number, forum in enumerate(forums, 1):
            telegram.set_member(forum, telegram.bot().id, "administrator", by=OWNER)
            named = page(channel="telegram", address=str(forum), own_thread=True)
            await (desk.create(OLIVIA, named) if number == 1 else desk.change(OLIVIA, "watch", named))
            await desk.fire(OLIVIA, "watch", f"{number}")
            await telegram.wait_for(lambda number=number: sum(map(len, told())) == number, LIMIT_S)
        assert told() == [[True], [True]]


@SLOW
async def test_on_slack_a_routine_reports_below_a_message_with_its_name(tmp_path: Path) -> None:
    async with slack_hub.open_slack_hub(tmp_path) as place:
        room = place.slack.create_channel("build", [slack_hub.OWNER], apps=["hub"]).id
        routines = desk(place.app, tmp_path)
        await routines.create(OLIVIA, page(channel="slack", address=room, own_thread=True))
        for number in (1, 2):
            await routines.fire(OLIVIA, "watch", f"{number}")
        slack = place.slack

        def told() -> list[Any]:
            return [m for m in slack.messages(room) if TOLD in slack.look(m).text]

        await slack.wait_for(lambda: len(told()) == 2, slack_hub.LIMIT_S)
        (head,) = [m for m in slack.messages(room) if slack.look(m).text == "watch"]
        assert {message.thread_ts for message in told()} == {head.ts}


@SLOW
async def test_on_discord_a_routine_reports_in_a_thread_of_its_own(tmp_path: Path) -> None:
    async with discord_hub.open_discord_hub(tmp_path) as place:
        room = place.room("build")
        routines = desk(place.app, tmp_path)
        await routines.create(OLIVIA, page(channel="discord", address=str(room.id), own_thread=True))
        for number in (1, 2):
            await routines.fire(OLIVIA, "watch", f"{number}")
        discord = place.discord
        await discord.wait_for(lambda: list(discord.world.threads_of(room)), discord_hub.LIMIT_S)
        (thread,) = (opened.id for opened in discord.world.threads_of(room))
        await discord.wait_for(
            lambda: sum(TOLD in text for text in place.says(thread)) == 2, discord_hub.LIMIT_S
        )
        assert place.says(room.id) == []
        assert len(list(discord.world.threads_of(room))) == 1


async def test_a_refused_notice_reaches_the_owner_elsewhere(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        await greeted(house)
        row = await desk_of(house).create(
            OLIVIA, page(channel="telegram", address="-100123", own_thread=True)
        )
        await desk_of(house).fire(OLIVIA, "watch", "once")
        await ended(house, row)
        await house.telegram.wait_text(OWNER, TOLD)
