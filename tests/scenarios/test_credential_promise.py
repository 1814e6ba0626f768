"""A credential planted after each of many steps, as a reply to the card and not, on every channel: in the
vault or nowhere. Searched: every file of the hub, what models are asked, what is said."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import aiohttp
import pytest

from tests.bot.web.api_client import Client
from tests.harness import discord_hub, slack_hub, telegram_hub
from tests.harness.people import Shown
from tests.patience import PATIENCE_S
from tests.scenarios.scenes import Scene, open_scene
from tests.scenarios.test_credentials_asked import kept
from tests.scenarios.test_leaks import traces

STEPS = ("nothing", "/new", "/stop", "/help", "/status", "file", "edit", "other thread", "restart")
CHANNELS = ("telegram", "slack", "discord", "web")
IN_VAULT = "Stored in the vault as {name}."
OVER = "I asked you for a credential earlier and am no longer waiting for it."


class Place(Protocol):
    """A person in private with the bot, on one channel."""

    scene: Scene

    async def say(
        self, text: str, reply: object = None, *, file: bool = False, elsewhere: bool = False
    ) -> None:
        """Write; `reply`: to that card; `file`: below a file; `elsewhere`: in another conversation."""
        ...

    async def command(self, name: str) -> None:
        """Give a command as is usual there."""
        ...

    async def edit(self, text: str) -> None:
        """Change the message that was written last."""
        ...

    async def shown(self) -> Sequence[Shown]:
        """Return what the bot says."""
        ...

    async def until(self, holds: Callable[[], Awaitable[object]]) -> None:
        """Until that is so."""
        ...


class Chat:
    """The behavior that the three platforms have in common."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    async def shown(self) -> Sequence[Shown]:
        return self.scene.owner.shown()

    async def until(self, holds: Callable[[], Awaitable[object]]) -> None:
        async def held() -> bool:
            return bool(await holds())

        place: Any = self.scene.place
        if isinstance(place, telegram_hub.Hub):
            await place.until(held)
            return
        await _polled(holds)


class Telegram(Chat):
    last = 0

    @property
    def _at(self) -> telegram_hub.Hub:
        assert isinstance(self.scene.place, telegram_hub.Hub)
        return self.scene.place

    async def say(self, text: str, reply: Any = None, *, file: bool = False, elsewhere: bool = False) -> None:
        telegram = self._at.telegram
        if file:
            telegram.user_sends_album(telegram_hub.OWNER, caption=text)
        else:
            self.last = telegram.user_sends_text(telegram_hub.OWNER, text, reply_to=reply).id

    async def command(self, name: str) -> None:
        self._at.telegram.user_sends_text(telegram_hub.OWNER, f"/{name}")

    async def edit(self, text: str) -> None:
        self._at.telegram.user_edits_text(telegram_hub.OWNER, self.last, text)


class Slack(Chat):
    last = ""

    @property
    def _at(self) -> slack_hub.SlackHub:
        assert isinstance(self.scene.place, slack_hub.SlackHub)
        return self.scene.place

    @property
    def _here(self) -> str:
        return self._at.slack.direct_channel(slack_hub.OWNER).id

    async def say(self, text: str, reply: Any = None, *, file: bool = False, elsewhere: bool = False) -> None:
        slack = self._at.slack
        thread_ts = reply or (self.last if elsewhere else None)
        if file:
            slack.user_sends_file(slack_hub.OWNER, text=text, thread_ts=thread_ts)
        else:
            sent = slack.user_sends_text(slack_hub.OWNER, text, thread_ts=thread_ts)
            self.last = self.last if elsewhere else sent.ts

    async def command(self, name: str) -> None:
        record = self._at.slack.user_runs_command(slack_hub.OWNER, "/hubbub", name, self._here)
        await self._at.slack.wait_settled(record.id, PATIENCE_S)

    async def edit(self, text: str) -> None:
        self._at.slack.user_edits(slack_hub.OWNER, self._here, self.last, text)


class Discord(Chat):
    last: Any = 0

    @property
    def _at(self) -> discord_hub.DiscordHub:
        assert isinstance(self.scene.place, discord_hub.DiscordHub)
        return self.scene.place

    async def say(self, text: str, reply: Any = None, *, file: bool = False, elsewhere: bool = False) -> None:
        files = [{"name": "notes.txt", "content": b"notes"}] if file else None
        self.last = self._at.discord.user_sends_text(discord_hub.OWNER, text, reply_to=reply, files=files).id

    async def command(self, name: str) -> None:
        used = self._at.discord.user_uses_command(discord_hub.OWNER, name)
        await self._at.discord.wait_interaction(used.id, PATIENCE_S)

    async def edit(self, text: str) -> None:
        self._at.discord.user_edits_text(discord_hub.OWNER, self.last, text)


class Web(Chat):
    """The console and the terminal, which write by the API. A reply is what is handed in with the card."""

    def __init__(self, scene: Scene, http: aiohttp.ClientSession) -> None:
        super().__init__(scene)
        self._http = http

    @property
    def _api(self) -> Client:
        access = json.loads((self.scene.place.directory / "data" / "api.json").read_text())
        return Client(self._http, access["url"], access["token"])

    async def say(self, text: str, reply: Any = None, *, file: bool = False, elsewhere: bool = False) -> None:
        if reply is not None:
            await self._api.resolve(str(reply), "0", text=text)
            return
        more: dict[str, object] = {"new": True} if elsewhere else {}
        if file:
            status, page = await self._api.ask("POST", "/api/uploads?name=notes.txt", b"notes")
            assert status == 201
            more["attachments"] = [page["id"]]
        await self._api.send(text, **more)

    async def command(self, name: str) -> None:
        await self._api.send(f"/{name}")

    async def edit(self, text: str) -> None:
        """Nothing can be edited there."""

    async def shown(self) -> Sequence[Shown]:
        page = await self._api.get("/api/threads?limit=100")
        shown: list[Shown] = []
        for thread in page["threads"]:
            found = await self._api.get(f"/api/threads/{thread['id']}?limit=100")
            shown += [Shown(None, json.dumps(item, ensure_ascii=False)) for item in found["items"]]
        for state in ("pending", "decided"):
            cards = (await self._api.get(f"/api/approvals?state={state}"))["approvals"]
            shown += [
                Shown(one["gate_id"], json.dumps(one, ensure_ascii=False), ("Cancel",))
                for one in cards
                if state == "pending"
            ]
            shown += [Shown(None, json.dumps(one, ensure_ascii=False)) for one in cards]
        return shown


async def _polled(holds: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def place(platform: str, directory: Path) -> AsyncIterator[Place]:
    async with open_scene("telegram" if platform == "web" else platform, directory) as scene:
        match platform:
            case "telegram":
                yield Telegram(scene)
            case "slack":
                yield Slack(scene)
            case "discord":
                yield Discord(scene)
            case _:
                async with aiohttp.ClientSession() as http:
                    yield Web(scene, http)


async def heard(at: Place, text: str, times: int = 1) -> None:
    async def holds() -> bool:
        return sum(text in one.text for one in await at.shown()) >= times

    await at.until(holds)


async def asked(at: Place, name: str) -> object:
    """The card that asks, once the hub knows where it is shown."""
    await at.say(f"please call: tool_auth {json.dumps({'name': name, 'purpose': 'to test'})}")
    await heard(at, f"“{name}”")
    shown = [one for one in await at.shown() if f"“{name}”" in one.text and "Cancel" in one.buttons]
    app = at.scene.place.app
    assert app is not None
    store = app.store

    async def known() -> bool:
        return not [
            row
            for channel in ("telegram", "slack", "discord", "web")
            for row in await store.outbox.pending_outbox(channel)
        ]

    await at.until(known)
    return shown[-1].id


async def steps(at: Place, step: str, planted: str) -> None:
    match step:
        case "edit":
            await at.edit(planted)
        case "restart":
            await at.scene.restart()
        case "/new" | "/stop" | "/help" | "/status":
            await at.command(step.removeprefix("/"))
        case _:
            pass


@pytest.mark.parametrize(
    "platform",
    ["telegram", *(pytest.param(one, marks=pytest.mark.slow) for one in ("web", "slack", "discord"))],
)
async def test_a_planted_credential_is_in_the_vault_or_nowhere(tmp_path: Path, platform: str) -> None:
    in_vault: dict[str, str] = {}
    planted: list[str] = []
    over = 0
    async with place(platform, tmp_path) as at:
        for number, (step, reply) in enumerate((step, reply) for step in STEPS for reply in (False, True)):
            name, value = f"garden-{number}", f"correct horse {platform} {number} Staple"
            planted.append(value)
            card = await asked(at, name)
            await steps(at, step, value)
            await at.say(
                value,
                card if reply else None,
                file=step == "file" and not reply,
                elsewhere=step == "other thread",
            )
            if step == "/stop":
                over += 1
                if platform == "web" and reply:  # the card took nothing any more
                    await at.say(value)
                await heard(at, OVER, over)
            else:
                in_vault[name] = value
                await heard(at, IN_VAULT.format(name=name))
        assert kept(at.scene) == in_vault
        assert {one: traces(tmp_path, one) for one in planted if traces(tmp_path, one)} == {}
        said = [one.text for one in await at.shown()]
        said += [json.dumps(one.body, ensure_ascii=False) for one in at.scene.model.log.all()]
        assert [one for one in said if any(value in one for value in planted)] == []
    assert {one: traces(tmp_path, one) for one in planted if traces(tmp_path, one)} == {}
