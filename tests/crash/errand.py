"""The errand "message → model → approved shell tool that appends a line → answer", killed and judged, on
platforms that take no press while nobody listens: there people press again once the hub is back.

What differs from platform to platform is in what inherits from `Errand`.
"""

import asyncio
import contextlib
import signal
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from tests.crash.mortal import APPROVE, LIMIT_S, UNKNOWN, AnyMortalHub
from tests.crash.points import AtCommit
from tests.crash.story import struck_or_over
from tests.harness.simulators import OLIVIA, write_config

LOOK_AGAIN_S = 1.0
ANSWER = "Done:"
LINE = "line"


@dataclass(frozen=True, slots=True)
class Inside:
    """Inside the `nth` request of that kind, once the platform took it and before it answered."""

    platform: str
    method: str
    nth: int

    def __str__(self) -> str:
        return f"{self.platform}:{self.method}:{self.nth}"


Point = AtCommit | Inside


class Simulator(Protocol):
    """A platform's simulator, as far as the errand goes."""

    def fail(self, kind: str, /, **how: Any) -> Any:
        """Let requests meet a fault."""

    def clear_faults(self) -> None:
        """No faults any more."""

    async def wait_held(self, *, timeout_s: float) -> Any:
        """Until a request is held."""

    async def wait_connected(self, *, timeout_s: float) -> Any:
        """Until a hub listens."""

    async def wait_for(self, condition: Callable[[], bool], timeout_s: float, /) -> Any:
        """Until something changed that makes it true."""


class Errand(AnyMortalHub):
    """One hub and its surroundings on one platform."""

    __slots__ = ()

    @property
    @abstractmethod
    def simulator(self) -> Simulator:
        """The platform."""

    @abstractmethod
    def connected(self) -> bool:
        """Return whether the hub listens."""

    @abstractmethod
    def texts(self) -> list[str]:
        """Return what the bot shows the owner in the story, as people read it."""

    @abstractmethod
    def open_cards(self) -> Sequence[Any]:
        """Messages with buttons."""

    @abstractmethod
    def text_of(self, card: Any) -> str:
        """Return what a card asks."""

    @abstractmethod
    def ask(self, text: str) -> None:
        """The owner writes."""

    @abstractmethod
    async def press(self, card: Any, button: int) -> None:
        """The owner presses, and the hub has heard of it or is gone."""

    @abstractmethod
    async def after_kill(self) -> None:
        """Return what the platform does once nobody is there any more."""

    async def listening(self) -> None:
        """Until the hub listens."""
        await self.simulator.wait_connected(timeout_s=LIMIT_S)

    async def settled(self) -> None:
        """The people may have been content before the kill: let the hub pick up what it had left."""
        await self.listening()
        await self.account()

    def finished(self) -> bool:
        """Answered, nothing open, and the hub listens."""
        answered = any(text.startswith(ANSWER) for text in self.texts())
        return answered and not self.open_cards() and self.connected()

    async def people(self) -> None:
        """The owner asks, and answers every card until it is settled."""
        self.ask(f"please run: echo {LINE} >> out")
        async with asyncio.timeout(LIMIT_S):
            while not self.finished():
                await self._news()
                await self._press_what_is_open()

    async def _news(self) -> None:
        """Until there is something to do; a connection that is there is no change by itself."""
        with contextlib.suppress(TimeoutError):
            await self.simulator.wait_for(lambda: self.finished() or self._can_press(), LOOK_AGAIN_S)

    async def _press_what_is_open(self) -> None:
        for card in self.open_cards():
            if not self.connected():
                return
            await self.press(card, self.about_unknown if UNKNOWN in self.text_of(card) else APPROVE)

    def _can_press(self) -> bool:
        return bool(self.open_cards() and self.connected())


E = TypeVar("E", bound=Errand)


async def play(town: Errand, point: Point | None) -> tuple[str, ...] | None:
    """The whole story. With a point, the hub is killed there and started again; what it had passed then."""
    passed: tuple[str, ...] | None = None
    await town.start(point if isinstance(point, AtCommit) else None)
    if isinstance(point, Inside):
        town.simulator.fail("hold", method=point.method, when="after", skip=point.nth - 1, count=1)
    async with asyncio.TaskGroup() as group:
        people = group.create_task(town.people())
        if point is not None:
            await struck_or_over(point, _struck(town, point), people)
            await town.end(signal.SIGKILL)
            passed = tuple(town.trace())
            town.simulator.clear_faults()
            await town.after_kill()
            await town.start()
        await people
    await town.settled()
    return passed


async def _struck(town: Errand, point: Point) -> None:
    if isinstance(point, Inside):
        await town.simulator.wait_held(timeout_s=LIMIT_S)
    else:
        assert town.hub is not None
        await town.hub.wait(LIMIT_S)


def judge(town: Errand, passed: Sequence[str] | None) -> None:
    """The promises, from what the platform saw and what is on disk. `passed`: by the killed hub."""
    out = town.directory / "workspace" / "out"
    lines = out.read_text().split() if out.exists() else []
    asked = any(UNKNOWN in text for text in town.texts())
    assert len(lines) <= 1, f"the line was written {len(lines)} times"
    under_way = passed is not None and any(
        f"{unit}:1:before" in passed and f"{unit}:1:after" not in passed
        for unit in ("mark_running", "finish_calls")
    )
    if not under_way:
        in_window = passed is not None and (
            "mark_running:1:after" in passed and "finish_calls:1:after" not in passed
        )
        assert asked == in_window, "unknown is reported exactly for a call cut off in its window"
    if not asked:
        assert lines == [LINE], "the line was not written"
    assert not town.open_cards(), "a card was left without its outcome"
    twice = [text for text, count in Counter(town.texts()).items() if count > 1]
    assert not twice, f"shown twice: {twice}"


def inside(platform: str, methods: Sequence[str]) -> list[Inside]:
    """Each request by its kind and its number among those of its kind."""
    counted = Counter(methods)
    return [Inside(platform, method, nth) for method, n in counted.items() for nth in range(1, n + 1)]


@contextlib.asynccontextmanager
async def laid_out(town: E) -> AsyncIterator[E]:
    """Configuration written, no hub yet; whatever runs at the end is killed."""
    around = town.simulators
    http = f"port = {town.port}"
    owners = [f"{platform}:{OLIVIA[platform]}" for platform in around.platforms]
    write_config(town.directory, around.model_section(), around.sections(), owners=owners, http=http)
    try:
        yield town
    finally:
        await town.kill()
