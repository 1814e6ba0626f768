"""The platforms that bots are measured on: a simulator each, its people, and what a bot has to be told."""

import base64
import itertools
import time
from collections.abc import Sequence
from typing import Any, Protocol

from tests.simulators.discord import DiscordSimulator
from tests.simulators.slack import SlackSimulator
from tests.simulators.telegram import TelegramSimulator

START_LIMIT_S, ANSWER_LIMIT_S = 60.0, 60.0


class Platform(Protocol):
    """One platform. `simulator` is to be opened before anything else."""

    def open(self, people: int) -> None:
        """Bot and people are there; people have the numbers from 1."""
        ...

    def section(self) -> str:
        """The hub's configuration of the channel."""
        ...

    def arguments(self) -> list[str]:
        """What a bare bot is told: where the platform is, and its tokens."""
        ...

    async def connected(self) -> None:
        """Until the bot listens. Raises TimeoutError."""
        ...

    def account(self, person: int) -> str:
        """A person as the hub's configuration names them."""
        ...

    async def ask(self, person: int, text: str, awaited: str) -> float:
        """A person writes, until an answer with `awaited` in it has arrived: seconds from the moment the
        message could be fetched to the moment the request with the answer had been read. Raises
        TimeoutError."""
        ...


class OnTelegram:
    """By polling."""

    TOKEN = "123456:AAA"

    def __init__(self) -> None:
        self.simulator = TelegramSimulator(log_limit=2_000)

    def open(self, people: int) -> None:
        """See Platform."""
        self.simulator.add_bot(self.TOKEN)
        for person in range(1, people + 1):
            self.simulator.add_user(person)

    def section(self) -> str:
        """See Platform."""
        url = self.simulator.url
        return f'[channels.telegram]\ntoken = "{self.TOKEN}"\napi_base_url = "{url}"\n'

    def account(self, person: int) -> str:
        """See Platform."""
        return f"telegram:{person}"

    def arguments(self) -> list[str]:
        """See Platform."""
        return [self.simulator.url, self.TOKEN]

    async def connected(self) -> None:
        """See Platform."""
        await self.simulator.wait_polling(self.TOKEN, START_LIMIT_S)

    async def ask(self, person: int, text: str, awaited: str) -> float:
        """See Platform."""
        before = self.simulator.log.last_number
        self.simulator.user_sends_text(person, text)
        began = time.time()
        await self.simulator.wait_text(person, awaited, timeout_s=ANSWER_LIMIT_S)
        return _arrived_at(self.simulator.log.requests, before, awaited) - began


class OnSlack:
    """By Socket Mode."""

    BOT_TOKEN, APP_TOKEN = "xoxb-1", "xapp-1"

    def __init__(self) -> None:
        self.simulator = SlackSimulator()

    def open(self, people: int) -> None:
        """See Platform."""
        self.simulator.add_app(self.BOT_TOKEN, self.APP_TOKEN)
        for person in range(1, people + 1):
            self.simulator.add_user(_slack_id(person), name=f"person{person}")

    def section(self) -> str:
        """See Platform."""
        tokens = f'bot_token = "{self.BOT_TOKEN}"\napp_token = "{self.APP_TOKEN}"\n'
        return f'[channels.slack]\n{tokens}api_base_url = "{self.simulator.url}/api"\n'

    def account(self, person: int) -> str:
        """See Platform."""
        return f"slack:{_slack_id(person)}"

    def arguments(self) -> list[str]:
        """See Platform."""
        return [f"{self.simulator.url}/api/", self.BOT_TOKEN, self.APP_TOKEN]

    async def connected(self) -> None:
        """See Platform."""
        await self.simulator.wait_connected(timeout_s=START_LIMIT_S)

    async def ask(self, person: int, text: str, awaited: str) -> float:
        """See Platform."""
        before = self.simulator.log.last_number
        self.simulator.user_sends_text(_slack_id(person), text)
        began = time.time()
        messages = self.simulator.direct_channel(_slack_id(person)).messages

        def answered() -> bool:
            newest = next(reversed(messages.values()))
            return newest.app_id is not None and awaited in str(newest.body)

        await self.simulator.wait_for(answered, ANSWER_LIMIT_S)
        return _arrived_at(self.simulator.log.requests, before, awaited) - began


class OnDiscord:
    """By the gateway."""

    TOKEN = base64.b64encode(b"900000000000000001").decode().rstrip("=") + ".Gabcde.secret-of-the-bot"

    def __init__(self) -> None:
        self.simulator = DiscordSimulator()

    def open(self, people: int) -> None:
        """See Platform."""
        self.simulator.add_bot(self.TOKEN)
        numbers: list[int | str] = [_discord_id(person) for person in range(1, people + 1)]
        for number in numbers:
            self.simulator.add_user(number, f"person{number}")
        self.simulator.create_guild("everybody", numbers)

    def section(self) -> str:
        """See Platform."""
        api, gateway = self.simulator.api_base_url, self.simulator.gateway_url
        urls = f'api_base_url = "{api}"\ngateway_url = "{gateway}"\n'
        return f'[channels.discord]\ntoken = "{self.TOKEN}"\n{urls}'

    def account(self, person: int) -> str:
        """See Platform."""
        return f"discord:{_discord_id(person)}"

    def arguments(self) -> list[str]:
        """See Platform."""
        return [self.simulator.api_base_url, self.simulator.gateway_url, self.TOKEN]

    async def connected(self) -> None:
        """See Platform."""
        await self.simulator.wait_connected(timeout_s=START_LIMIT_S)

    async def ask(self, person: int, text: str, awaited: str) -> float:
        """See Platform."""
        before = self.simulator.log.last_number
        self.simulator.user_sends_text(_discord_id(person), text)
        began = time.time()
        messages = self.simulator.dm_channel(_discord_id(person)).messages

        def answered() -> bool:
            newest = next(reversed(messages.values()))
            return newest.author.is_bot and awaited in newest.content

        await self.simulator.wait_for(answered, ANSWER_LIMIT_S)
        return _arrived_at(self.simulator.log.requests, before, awaited) - began


class _Request(Protocol):
    """What the simulators' logs say of a request."""

    @property
    def number(self) -> int: ...
    @property
    def params(self) -> Any: ...
    @property
    def received_at(self) -> float: ...


def _arrived_at(requests: Sequence[_Request], after: int, awaited: str) -> float:
    """When the newest request with this text had been read, on the clock on the wall."""
    later = itertools.takewhile(lambda request: request.number > after, reversed(requests))
    return next(request.received_at for request in later if awaited in str(request.params))


def _slack_id(person: int) -> str:
    return f"U0PERSON{person:03}"


def _discord_id(person: int) -> int:
    return 100_000_000_000_000_000 + person
