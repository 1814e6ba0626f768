"""How an operation of the REST API is declared, and the routine's name with."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tests.simulators.discord import errors
from tests.simulators.discord.bodies import Body
from tests.simulators.discord.errors import FormErrors
from tests.simulators.discord.forms import Form
from tests.simulators.discord.interactions import Interactions
from tests.simulators.discord.log import RequestRecord
from tests.simulators.discord.permissions import VIEW_CHANNEL, can
from tests.simulators.discord.world import Bot, Channel, Guild, Message

Json = dict[str, Any]
NO_CONTENT = object()
"""What an operation returns that answers 204."""


@dataclass(frozen=True, slots=True)
class Created:
    """The result of an operation that answers 201."""

    body: Any


@dataclass(slots=True)
class Call:
    """One request being executed. ``path`` are the parts of the path that are not fixed."""

    sim: Interactions
    bot: Bot
    record: RequestRecord
    body: Body
    query: dict[str, str]
    path: dict[str, str]

    def form(self) -> tuple[Form, FormErrors]:
        """The body as a form."""
        collected = FormErrors()
        return Form(self.body.values, collected), collected

    def asked(self) -> tuple[Form, FormErrors]:
        """The query as a form."""
        collected = FormErrors()
        return Form(dict(self.query), collected), collected

    def act_as(self, bot: Bot, channel: Channel) -> None:
        """Act as the bot of an interaction, in its channel, for anyone who holds its token."""
        self.bot, self.record.bot_id, self.record.channel_id = bot, bot.id, channel.id

    def number(self, name: str) -> int:
        """An id in the path. Raises ``ApiError`` 50035."""
        text = self.path[name]
        if not text.isdecimal():
            raise errors.invalid((name,), "NUMBER_TYPE_COERCE", f'Value "{text}" is not snowflake.')
        return int(text)

    def channel(self, *permissions: int) -> Channel:
        """The channel in the path. Raises ``ApiError`` 10003, 50001 (not visible), 50013 (not permitted)."""
        channel = self.sim.world.channels.get(self.number("channel_id"))
        if channel is None or channel.deleted:
            raise errors.unknown_channel()
        if not can(channel, self.bot.id, VIEW_CHANNEL):
            raise errors.missing_access()
        self.need(channel, *permissions)
        return channel

    def need(self, channel: Channel, *permissions: int) -> None:
        """Raises ``ApiError`` 50013 unless the bot has all of these."""
        if not can(channel, self.bot.id, *permissions):
            raise errors.missing_permissions()

    def message(self, channel: Channel) -> Message:
        """The message in the path. Raises ``ApiError`` 10008."""
        found = channel.messages.get(self.number("message_id"))
        if found is None or found.deleted or found.ephemeral_for is not None:
            raise errors.unknown_message()
        return found

    def guild(self) -> Guild:
        """The guild in the path. Raises ``ApiError`` 10004, 50001."""
        found = self.sim.world.guilds.get(self.number("guild_id"))
        if found is None:
            raise errors.unknown_guild()
        if self.bot.id not in found.members:
            raise errors.missing_access()
        return found

    def touched(self, message: Message) -> Message:
        """Notes in the log that this request made or changed a message."""
        self.record.messages.append(message.id)
        return message

    def shown(self, message: Message) -> Json:
        """A message as REST shows it to this bot."""
        return self.sim.message_json(message, self.bot)


Function = Callable[[Call], Any]
_PART = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Route:
    """An operation: its name, how it is asked for, and whether a token is needed."""

    name: str
    verb: str
    pattern: re.Pattern[str]
    function: Function
    needs_token: bool


def route(name: str, verb: str, path: str, *, needs_token: bool = True) -> Callable[[Function], Function]:
    """Declares a function as an operation of the API."""
    pattern = re.compile(_PART.sub(r"(?P<\1>[^/]+)", path))

    def declare(function: Function) -> Function:
        declared: list[Route] = function.__dict__.setdefault("routes", [])
        declared.append(Route(name, verb, pattern, function, needs_token))
        return function

    return declare


class Router:
    """Finds the operation for a request."""

    def __init__(self, *modules: ModuleType) -> None:
        members = [member for module in modules for member in vars(module).values()]
        self._routes: list[Route] = [one for member in members for one in getattr(member, "routes", ())]

    def find(self, verb: str, path: str) -> tuple[Route | None, dict[str, str], bool]:
        """The operation, the parts of the path, and whether the path exists at all."""
        known = False
        for candidate in self._routes:
            found = candidate.pattern.fullmatch(path)
            if found is None:
                continue
            known = True
            if candidate.verb == verb:
                return candidate, found.groupdict(), True
        return None, {}, known
