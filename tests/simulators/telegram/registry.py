"""How a method of the Bot API is declared, and the routine's name with."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tests.simulators.telegram.log import RequestRecord
from tests.simulators.telegram.params import Params
from tests.simulators.telegram.state import SimulatorState
from tests.simulators.telegram.world import Bot, Message


@dataclass(slots=True)
class Call:
    """One request being executed."""

    sim: SimulatorState
    bot: Bot
    params: Params
    record: RequestRecord

    def touched(self, message: Message) -> Message:
        """Notes in the log that this request made or changed a message."""
        self.record.messages.append((message.chat.id, message.id))
        return message


Method = Callable[[Call], Any]


def method(name: str) -> Callable[[Method], Method]:
    """Declares a function (or coroutine function) as a method of the Bot API."""

    def declare(function: Method) -> Method:
        function.bot_api_name = name  # type: ignore[attr-defined]
        return function

    return declare


def methods_of(*modules: ModuleType) -> dict[str, tuple[str, Method]]:
    """Name and function of every declared method, by lower-case name (methods are case-insensitive)."""
    functions = [member for module in modules for member in vars(module).values()]
    named = [(function.bot_api_name, function) for function in functions if hasattr(function, "bot_api_name")]
    return {name.lower(): (name, function) for name, function in named}
