"""The suite's needs of a platform: one bot, its owner, a stranger, and switches for trouble.

A new channel is a folder under `channels/` and one Subject: a hub between the platform's simulator and a
model, driven and judged from the platform's side alone. Register it in `conftest.py`, with the points that
have no meaning there and why (docs/channels.md).
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bot.app import App
from core.messages import Attachment
from tests.harness.hub import LIMIT_S, AnyHub
from tests.simulators.model import ModelSimulator

POINTS = {
    "redelivery": "the platform may bring the same thing twice",
    "delivery": "the platform delivers by HTTP, and somebody else could try",
    "acknowledgement": "the platform is told what was taken",
    "limits": "a message holds only so much",
    "growth": "an answer is seen as it grows",
    "company": "others are there",
    "rates": "the platform takes only so many requests",
    "files": "people send files",
    "refs": "the hub changes and takes away what it showed",
    "connection": "the hub connects to the platform",
    "token": "the hub proves to the platform who it is",
}
"""What not every channel has, by the names that tests are marked with."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot as people read it. `size`: as the platform counts its text."""

    id: str
    text: str
    buttons: tuple[str, ...]
    size: int


class Subject(Protocol):
    """One running hub on one platform. `name`: of its channel; `limit`: of a message's text."""

    name: str
    limit: int
    model: ModelSimulator

    @property
    def app(self) -> App:
        """The hub that runs now."""
        ...

    async def start(self) -> None:
        """Start a hub on the stage's data; returns when its channel runs."""
        ...

    async def stop(self) -> None:
        """End it as Ctrl-C does."""
        ...

    def in_company(self) -> None:
        """From now on the owner speaks where the stranger is, too, and names the bot."""
        ...

    def says(self, text: str) -> None:
        """The owner writes, in private unless in company."""
        ...

    async def until(self, is_so: Callable[[], object]) -> None:
        """Until something is so. Raises TimeoutError."""
        ...

    def sends_file(self, name: str, content: bytes) -> None:
        """The owner sends a file."""
        ...

    def received_file(self) -> Attachment:
        """The file the owner sent last, as the channel would name it."""
        ...

    def delivered_again(self) -> None:
        """The platform brings its newest event once more."""
        ...

    async def forges(self, text: str) -> int:
        """Somebody who is not the platform delivers that the owner says so; the status of the answer."""
        ...

    def shown(self) -> Sequence[Shown]:
        """Return what the bot shows the owner, in order, changes made."""
        ...

    async def hears(self, text: str) -> Shown:
        """The bot's message with that text, once it is there."""
        ...

    async def presses(self, shown: Shown, button: int, *, stranger: bool = False) -> str:
        """Somebody presses; the word that answers them, if there is one."""
        ...

    async def settled(self) -> None:
        """Until the platform knows everything it delivered to be taken."""
        ...

    def is_acknowledged(self) -> bool:
        """Return whether it does now."""
        ...

    def limit_rate(self, times: int) -> None:
        """The next so many messages are refused for a second."""
        ...

    async def cut(self, seconds: float) -> None:
        """No connection to the platform for so long."""
        ...

    def revoke(self) -> None:
        """The bot's token is good no more."""
        ...

    async def becomes(self, state: str) -> str:
        """Until `/readyz` names that state of the channel; the reason it gives."""
        ...


class HubSubject:
    """The behavior that all Subjects share: the hub runs in this process."""

    name: str

    def __init__(self, hub: AnyHub) -> None:
        self.hub = hub
        self.model = hub.model

    @property
    def app(self) -> App:
        return self.hub.app

    async def start(self) -> None:
        await self.hub.start()

    async def stop(self) -> None:
        await self.hub.stop()

    async def becomes(self, state: str) -> str:
        return await self.hub.channel_becomes(state, self.name)


class Platform(Protocol):
    """A platform's simulator, as far as it is like any other."""

    async def wait_for(self, predicate: Callable[[], Any], timeout_s: float, /) -> Any:
        """Until something changed that makes it true."""

    async def go_down(self) -> None:
        """Refuse connections."""

    async def come_up(self) -> None:
        """Take them again."""

    def fail(self, kind: str, /, **how: Any) -> Any:
        """Let requests meet a fault."""


class PlatformSubject(HubSubject):
    """One on a platform. `posts`: how that calls the request that shows a message."""

    posts: str

    def __init__(self, hub: AnyHub, platform: Platform) -> None:
        super().__init__(hub)
        self._platform = platform

    async def start(self) -> None:
        await super().start()
        await self.becomes("running")

    async def until(self, is_so: Callable[[], object]) -> None:
        await self._platform.wait_for(is_so, LIMIT_S)

    def limit_rate(self, times: int) -> None:
        self._platform.fail("rate_limit", method=self.posts, count=times, retry_after_s=1)

    async def cut(self, seconds: float) -> None:
        await self._platform.go_down()
        await asyncio.sleep(seconds)  # how long the trouble lasts, not a wait of the test
        await self._platform.come_up()
