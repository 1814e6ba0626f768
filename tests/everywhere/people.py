"""A person at each platform: writes, presses, stops, and sees what is there."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from typing import Any, Protocol

from bot.config.place import read_access
from bot.terminal.remote import RemoteTalk
from bot.terminal.talk import Asked, Author, HubApi, Said
from channels.discord.inbound import OPTION
from channels.terminal import Line, render
from core.ids import RandomIds
from tests.bot.web.api_client import Client
from tests.everywhere.seen import BOT, Seen, in_console, in_discord, in_slack, in_telegram
from tests.patience import PATIENCE_S
from tests.simulators.discord import DiscordSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.slack.world import Message
from tests.simulators.telegram import TelegramSimulator

LIMIT_S = PATIENCE_S
"""Four conversations and their platforms share one event loop, on machines that do other things as well."""
LOOK_AGAIN_S = 0.1


class Person(Protocol):
    """In a private conversation with the bot."""

    async def says(self, text: str) -> None:
        """Write."""
        ...

    async def commands(self, command: str) -> None:
        """Give a command, with its arguments and without a slash, as is usual there."""
        ...

    async def presses(self, label: str) -> None:
        """Press a button, once it is there."""
        ...

    async def transcript(self) -> list[Seen]:
        """Everything there is to see, in order."""
        ...

    async def sees(self, text: str) -> Seen:
        """The last message of the bot that shows this text, once there is one."""
        ...

    def files(self) -> Awaitable[Sequence[bytes]]:
        """The files that the bot sent."""
        ...


class InTelegram:
    """See Person."""

    def __init__(self, telegram: TelegramSimulator, account: int) -> None:
        self._telegram = telegram
        self._account = account

    async def says(self, text: str) -> None:
        self._telegram.user_sends_text(self._account, text)

    async def commands(self, command: str) -> None:
        self._telegram.user_sends_text(self._account, f"/{command}")

    async def presses(self, label: str) -> None:
        card = await self._telegram.wait_for(lambda: self._with_button(label), LIMIT_S)
        query = self._telegram.user_presses_button(self._account, card[0], data=card[1])
        await self._telegram.wait_callback_answer(query.id, LIMIT_S)

    async def transcript(self) -> list[Seen]:
        return self._seen()

    async def sees(self, text: str) -> Seen:
        return await self._telegram.wait_for(lambda: last(self._seen(), text), LIMIT_S)

    async def files(self) -> Sequence[bytes]:
        sent = [one.content.get("document") for one in self._telegram.bot_messages(self._account)]
        found = [self._telegram.files.by_id(one["file_id"]) for one in sent if one is not None]
        return [one.read() for one in found if one is not None]

    def _seen(self) -> list[Seen]:
        return [in_telegram(one) for one in self._telegram.messages(self._account)]

    def _with_button(self, label: str) -> tuple[int, str] | None:
        for message in self._telegram.bot_messages(self._account):
            found = dict(in_telegram(message).buttons)
            if label in found:
                return message.id, found[label]
        return None


class InSlack:
    """See Person."""

    def __init__(self, slack: SlackSimulator, account: str) -> None:
        self._slack = slack
        self._account = account
        self._channel = slack.direct_channel(account).id

    async def says(self, text: str) -> None:
        self._slack.user_sends_text(self._account, text)

    async def commands(self, command: str) -> None:
        record = self._slack.user_runs_command(self._account, "/hubbub", command, self._channel)
        await self._slack.wait_settled(record.id, LIMIT_S)

    async def presses(self, label: str) -> None:
        ts = await self._slack.wait_for(lambda: self._with_button(label), LIMIT_S)
        record = self._slack.user_presses_button(self._account, self._channel, ts, label)
        await self._slack.wait_settled(record.id, LIMIT_S)

    async def transcript(self) -> list[Seen]:
        return self._seen()

    async def sees(self, text: str) -> Seen:
        return await self._slack.wait_for(lambda: last(self._seen(), text), LIMIT_S)

    async def files(self) -> Sequence[bytes]:
        return [one.read() for one in self._slack.world.files.values() if self._channel in one.channels]

    def _seen(self) -> list[Seen]:
        shown = [(one.ts, self._read(one)) for one in self._slack.messages(self._channel)]
        asides = self._slack.ephemerals(self._account, self._channel)
        shown += [(one.ts, in_slack(one.body, self._slack.look(one), [], aside=True)) for one in asides]
        return [seen for _, seen in sorted(shown, key=lambda one: one[0])]

    def _read(self, message: Message) -> Seen:
        by_app = message.app_id is not None
        pings = self._slack.pings(self._channel, message.ts) if by_app else []
        return in_slack(message.body, self._slack.look(message), pings, by_app=by_app)

    def _with_button(self, label: str) -> str | None:
        shown = self._slack.bot_messages(self._channel)
        return next((one.ts for one in shown if label in dict(self._slack.look(one).buttons)), None)


class InDiscord:
    """See Person."""

    def __init__(self, discord: DiscordSimulator, account: int) -> None:
        self._discord = discord
        self._account = account
        self._channel = discord.dm_channel(account).id

    async def says(self, text: str) -> None:
        self._discord.user_sends_text(self._account, text)

    async def commands(self, command: str) -> None:
        name, _, arguments = command.partition(" ")
        options = {OPTION: arguments} if arguments else {}
        used = self._discord.user_uses_command(self._account, name, options)
        await self._discord.wait_interaction(used.id, LIMIT_S)

    async def presses(self, label: str) -> None:
        found = await self._discord.wait_for(lambda: self._with_button(label), LIMIT_S)
        pressed = self._discord.user_presses_button(self._account, found[0], custom_id=found[1])
        await self._discord.wait_interaction(pressed.id, LIMIT_S)

    async def transcript(self) -> list[Seen]:
        return self._seen()

    async def sees(self, text: str) -> Seen:
        return await self._discord.wait_for(lambda: last(self._seen(), text), LIMIT_S)

    async def files(self) -> Sequence[bytes]:
        sent = self._discord.bot_messages(self._channel)
        return [file.content for one in sent for file in one.attachments]

    def _seen(self) -> list[Seen]:
        return [in_discord(one) for one in self._discord.messages(self._channel)]

    def _with_button(self, label: str) -> tuple[int, str] | None:
        for message in self._discord.bot_messages(self._channel):
            found = dict(in_discord(message).buttons)
            if label in found:
                return message.id, found[label]
        return None


SHOWN = frozenset({"user", "assistant", "operator", "notice", "gate"})
"""Kinds of lines that the console draws as messages."""


class Console:
    """See Person; through the API, as the browser does."""

    def __init__(self, api: Client) -> None:
        self._api = api
        self.thread_id: str | None = None
        self._gone: Seen | None = None

    async def says(self, text: str) -> None:
        where: dict[str, Any] = {"new": True} if self.thread_id is None else {"thread_id": self.thread_id}
        sent = await self._api.send(text, **where)
        self._goes_to(sent)

    def _goes_to(self, sent: Any) -> None:
        if sent["thread_id"] is None:  # it was deleted: the console shows the answer where it was
            self._gone = Seen(BOT, sent["answer"], len(sent["answer"]))
        self.thread_id = sent["thread_id"]

    async def files(self) -> Sequence[bytes]:
        sent = [file["url"] for item in (await self._page())["items"] for file in item.get("files", ())]
        return [await self._api.download(url) for url in sent]

    async def commands(self, command: str) -> None:
        await self.says(f"/{command}")

    async def presses(self, label: str) -> None:
        async def button() -> str | None:
            shown = reversed(await self.transcript())
            return next((dict(one.buttons)[label] for one in shown if label in dict(one.buttons)), None)

        async with asyncio.timeout(LIMIT_S):
            while (found := await button()) is None:  # noqa: ASYNC110 - only asking tells
                await asyncio.sleep(LOOK_AGAIN_S)
        menu_id, _, choice = found.partition(" ")
        if not choice:  # of a card
            (card,) = [one for one in (await self._page())["approvals"] if one["state"] == "open"]
            status, answer = await self._api.resolve(card["gate_id"], found)
            assert status == 200, answer
            return
        body = {"menu_id": menu_id, "choice": int(choice)}
        status, answer = await self._api.ask("POST", "/api/chat/press", body)
        assert status == 202, answer
        self._goes_to(answer)

    async def transcript(self) -> list[Seen]:
        if self.thread_id is None:
            return [] if self._gone is None else [self._gone]
        page = await self._page()
        cards = {card["gate_id"]: card for card in page["approvals"] if card["state"] == "open"}
        return [
            in_console(item, cards.get(item.get("gate_id")))
            for item in page["items"]
            if item["kind"] in SHOWN
        ]

    async def sees(self, text: str) -> Seen:
        async with asyncio.timeout(LIMIT_S):
            while (found := last(await self.transcript(), text)) is None:  # noqa: ASYNC110 - as above
                await asyncio.sleep(LOOK_AGAIN_S)
            return found

    async def _page(self) -> Any:
        return await self._api.get(f"/api/threads/{self.thread_id}?limit=200")


class AtTerminal:
    """See Person; as `hubbub chat` talks to a running hub. It has no buttons outside of open cards."""

    def __init__(self, talk: RemoteTalk) -> None:
        self._talk = talk
        self._seen: list[Seen] = []
        self._files: list[str] = []
        self._changed = asyncio.Event()

    async def files(self) -> Sequence[bytes]:
        return [name.encode() for name in self._files]  # a terminal shows their names

    async def says(self, text: str) -> None:
        await self._talk.say(text)

    async def commands(self, command: str) -> None:
        await self.says(f"/{command}")

    async def presses(self, label: str) -> None:
        raise LookupError(f"there is no button {label}")

    async def transcript(self) -> list[Seen]:
        return list(self._seen)

    async def sees(self, text: str) -> Seen:
        async with asyncio.timeout(LIMIT_S):
            while (found := last(self._seen, text)) is None:
                self._changed.clear()
                await self._changed.wait()
            return found

    async def look(self) -> None:
        """Take in what is shown, until cancelled."""
        while True:
            match await self._talk.next():
                case Said(author, blocks, files=files) if author is not Author.PERSON:
                    self._files += files
                    self._show(render(blocks, 10_000))
                case Asked(card):
                    self._show(render(card.blocks, 10_000))
                case _:
                    pass

    def _show(self, lines: Sequence[Line]) -> None:
        text = "\n".join(line.plain for line in lines)
        self._seen.append(Seen(BOT, text, len(text)))
        self._changed.set()


@contextlib.asynccontextmanager
async def terminal(directory: Path) -> AsyncIterator[AtTerminal]:
    """The owner at a terminal, with the hub that runs in that directory."""
    talk = RemoteTalk(HubApi(lambda: read_access(directory / "data")), RandomIds().row_id)
    await talk.open()
    person = AtTerminal(talk)
    following = [asyncio.create_task(talk.run()), asyncio.create_task(person.look())]
    try:
        yield person
    finally:
        for one in following:
            one.cancel()
        await asyncio.gather(*following, return_exceptions=True)


def last(seen: list[Seen], text: str) -> Seen | None:
    """The newest message of the bot that shows this text."""
    return next((one for one in reversed(seen) if one.by == BOT and text in one.text), None)
