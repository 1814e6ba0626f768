"""How a Web API method is declared, and the routine's name with."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tests.simulators.slack.deliveries import Deliveries
from tests.simulators.slack.errors import SlackError
from tests.simulators.slack.log import RequestRecord
from tests.simulators.slack.params import Params
from tests.simulators.slack.world import IM, MPIM, PRIVATE, App, Channel, Message


@dataclass(slots=True)
class Call:
    """One request being executed."""

    sim: Deliveries
    app: App
    params: Params
    record: RequestRecord

    def touched(self, message: Message) -> Message:
        """Notes in the log that this request made or changed a message."""
        self.record.messages.append((message.channel.id, message.ts))
        return message

    def channel(self, name: str = "channel") -> Channel:
        """The conversation an argument names, if the bot may know of it. Raises ``SlackError``."""
        found = self.sim.world.find_channel(self.params.required(name))
        if found is None or (found.kind in {IM, MPIM, PRIVATE} and self.app.user.id not in found.members):
            raise SlackError("channel_not_found")
        self.record.channel = found.id
        return found

    def joined(self, channel: Channel) -> Channel:
        """The same conversation if the bot is in it. Raises ``SlackError``."""
        if self.app.user.id not in channel.members:
            raise SlackError("not_in_channel")
        return channel

    def open_channel(self) -> Channel:
        """The conversation to write to: the bot is in it and it is not archived. Raises ``SlackError``."""
        channel = self.joined(self.channel())
        if channel.archived:
            raise SlackError("is_archived")
        return channel


Method = Callable[[Call], Any]


@dataclass(frozen=True, slots=True)
class Declared:
    """A method with what its page says: the scope it needs (or None), its tier, the token it takes."""

    name: str
    function: Method
    scope: str | None
    tier: int
    token: str


def method(
    name: str, *, scope: str | None = None, tier: int = 3, token: str = "bot"
) -> Callable[[Method], Method]:
    """Declares a function as a Web API method."""

    def declare(function: Method) -> Method:
        function.declared = Declared(name, function, scope, tier, token)  # type: ignore[attr-defined]
        return function

    return declare


def methods_of(*modules: ModuleType) -> dict[str, Declared]:
    """Every declared method, by lower-case name."""
    functions = [member for module in modules for member in vars(module).values()]
    found = [function.declared for function in functions if hasattr(function, "declared")]
    return {declared.name.lower(): declared for declared in found}
