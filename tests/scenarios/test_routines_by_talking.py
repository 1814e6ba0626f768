"""One routine of each trigger, made by talking to the bot, fired, its notice read, paused by its button: on
every platform."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import pytest

from bot.app import App
from bot.config.keys import VAULT_KEY_NAME, VaultKeyRing
from core.clock import SystemClock
from core.store.routines import RoutineRow
from core.vault import Vault
from tests.harness import discord_hub, slack_hub, telegram_hub
from tests.webhook_senders import SECRET, Sender

SPEED = 30
"""A schedule has no slots closer than a minute: here that is two seconds."""
APPROVE, PAUSE = ("Approve", 0), ("Pause", 1)
"""What a button says, and its position."""
Button = tuple[str, int]
BODY = json.dumps({"ref": "refs/heads/main"}).encode()


PUSHES = {"kind": "webhook", "path": "pushes", "secret_name": "hook", "signature": "github"}


class Place(Protocol):
    """Where somebody talks with the bot."""

    @property
    def app(self) -> App | None:
        """The running hub."""
        ...

    @property
    def directory(self) -> Path:
        """What it keeps is below."""
        ...

    def says(self, text: str) -> None:
        """The owner writes."""
        ...

    async def hears(self, text: str) -> None:
        """Until the bot shows a message with that text in it."""
        ...

    async def presses(self, text: str, button: Button) -> None:
        """A button of the message with that text, once there is one."""
        ...


@dataclass(slots=True)
class OnTelegram:
    place: telegram_hub.Hub

    @property
    def app(self) -> App | None:
        return self.place.app

    @property
    def directory(self) -> Path:
        return self.place.directory

    def says(self, text: str) -> None:
        self.place.telegram.user_sends_text(telegram_hub.OWNER, text)

    async def hears(self, text: str) -> None:
        await self.place.telegram.wait_text(telegram_hub.OWNER, text, timeout_s=telegram_hub.LIMIT_S)

    async def presses(self, text: str, button: Button) -> None:
        def shown() -> list[telegram_hub.Card]:
            return [card for card in self.place.open_cards(telegram_hub.OWNER) if text in card.text]

        await self.place.telegram.wait_for(shown, telegram_hub.LIMIT_S)
        await self.place.pressed(telegram_hub.OWNER, shown()[-1], button[1])


@dataclass(slots=True)
class OnSlack:
    place: slack_hub.SlackHub

    @property
    def app(self) -> App | None:
        return self.place.app

    @property
    def directory(self) -> Path:
        return self.place.directory

    def says(self, text: str) -> None:
        self.place.slack.user_sends_text(slack_hub.OWNER, text)

    async def hears(self, text: str) -> None:
        await self.place.hears(self.place.direct(), text)

    async def presses(self, text: str, button: Button) -> None:
        slack, channel = self.place.slack, self.place.direct()

        def shown() -> Any:
            looks = ((message, slack.look(message)) for message in slack.messages(channel))
            cards = [message for message, seen in looks if seen.buttons and text in seen.text]
            return cards[-1] if cards else None

        card = await slack.wait_for(shown, slack_hub.LIMIT_S)
        record = slack.user_presses_button(slack_hub.OWNER, channel, card.ts, button[0])
        assert (await slack.wait_settled(record.id, slack_hub.LIMIT_S)).state == "acked"


@dataclass(slots=True)
class OnDiscord:
    place: discord_hub.DiscordHub

    @property
    def app(self) -> App | None:
        return self.place.app

    @property
    def directory(self) -> Path:
        return self.place.directory

    def says(self, text: str) -> None:
        self.place.discord.user_sends_text(discord_hub.OWNER, text)

    async def hears(self, text: str) -> None:
        await self.place.hears(self.place.direct(), text)

    async def presses(self, text: str, button: Button) -> None:
        discord, channel = self.place.discord, self.place.direct()

        def shown() -> Any:
            cards = [one for one in discord.bot_messages(channel) if one.buttons() and text in one.text]
            return cards[-1] if cards else None

        card = await discord.wait_for(shown, discord_hub.LIMIT_S)
        await self.place.presses(discord_hub.OWNER, card, button[1])


Opening = Callable[[Path], contextlib.AbstractAsyncContextManager[Place]]


@contextlib.asynccontextmanager
async def telegram(directory: Path) -> AsyncIterator[Place]:
    async with telegram_hub.open_hub(directory, speed=SPEED) as place:
        yield OnTelegram(place)


@contextlib.asynccontextmanager
async def slack(directory: Path) -> AsyncIterator[Place]:
    async with slack_hub.open_slack_hub(directory, speed=SPEED) as place:
        yield OnSlack(place)


@contextlib.asynccontextmanager
async def discord(directory: Path) -> AsyncIterator[Place]:
    async with discord_hub.open_discord_hub(directory, speed=SPEED) as place:
        yield OnDiscord(place)


@pytest.mark.slow
@pytest.mark.parametrize("opening", [telegram, slack, discord], ids=lambda opening: opening.__name__)
async def test_routines_of_each_trigger_are_made_fired_read_and_paused(
    tmp_path: Path, opening: Opening
) -> None:
    async with opening(tmp_path) as place:
        await _keep_secret(place)
        for name, trigger in (
            ("tick", {"kind": "cron", "schedule": "* * * * *"}),
            ("watch", {"kind": "event", "pattern": "deploy (\\w+)"}),
            ("closing", {"kind": "system_event", "source": "issue", "event_type": "closed"}),
            ("pushes", PUSHES),
            ("asked", {"kind": "manual", "tools": ["time"]}),
        ):
            await _made(place, name, trigger)
            await _fire(place, name)
            notice = f"Routine “{name}” has something for you"
            await place.hears(notice)
            await place.presses(notice, PAUSE)
            await place.hears(f"“{name}” is paused.")
            assert not (await _routine(place, name)).enabled


async def _made(place: Place, name: str, trigger: Mapping[str, Any]) -> None:
    """Under consent: there is nothing before the owner agreed."""
    page = {"name": name, "prompt": f"say: {name} looked into it", "cooldown_s": 0, **trigger}
    place.says(f"please call: routine_create {json.dumps(page)}")
    await place.presses(f"name: {name}", APPROVE)
    await place.hears(f"Made: {name}, {trigger['kind']}, on")
    allowed = json.loads((await _routine(place, name)).text.definition)["action"].get("allowed_tools")
    assert allowed == trigger.get("tools")


async def _fire(place: Place, name: str) -> None:
    match name:
        case "watch":
            place.says("deploy production")
        case "closing":
            place.says('please call: event_emit {"source": "Issue", "event_type": "Closed"}')
        case "pushes":
            await _bring(place)
        case "asked":
            place.says('please call: routine_fire {"name": "asked"}')
        case _:
            pass  # by itself


async def _bring(place: Place) -> None:
    assert place.app is not None
    headers = {"Content-Type": "application/json", **Sender(0).github(BODY, "d-1")}
    url = f"{place.app.url}/api/webhooks/pushes"
    async with aiohttp.ClientSession() as http, http.post(url, data=BODY, headers=headers) as answer:
        assert answer.status == 202, await answer.text()


async def _keep_secret(place: Place) -> None:
    """With the key that the hub makes for itself when it starts."""
    assert place.app is not None
    async with asyncio.timeout(telegram_hub.LIMIT_S):
        while not (place.directory / "data" / VAULT_KEY_NAME).exists():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.02)
    keys = VaultKeyRing(place.directory / "data", {}).keys_to_seal()
    await Vault(place.app.store, keys, SystemClock()).keep("hook", SECRET)


async def _routine(place: Place, name: str) -> RoutineRow:
    assert place.app is not None
    row = await place.app.store.routine_named("owner", name)
    assert row is not None
    return row
