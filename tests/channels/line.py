"""A dispatcher between an outbox and a platform, both in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from channels.channel import Payload
from channels.dispatcher import Dispatcher
from core.errors import AuthRejected
from core.messages import Address, Message, Plain
from core.ports import OutboxReady, Preview
from tests.channels.loopback import LoopbackChannel
from tests.channels.memory import MemoryOutbox
from tests.clock import ManualClock


@dataclass
class Turn:
    """A turn as its listener follows it: `text` is what it says so far."""

    id: str
    address: str
    text: str = ""
    preview: Preview = field(init=False)

    def __post_init__(self) -> None:
        self.preview = Preview(self.id, "tg", Address(self.address), self.said)

    def said(self) -> Message | None:
        return Message((Plain(self.text),)) if self.text else None


@dataclass
class Line:
    """A dispatcher between an outbox and a platform, and the turns it shows."""

    outbox: MemoryOutbox
    channel: LoopbackChannel
    clock: ManualClock
    dispatcher: Dispatcher
    rejections: list[AuthRejected]

    def outbox_ready(self, wake: OutboxReady) -> None:
        self.dispatcher.put((wake.row,))

    def may_send_now(self, channel: str, address: Address) -> bool:
        return self.dispatcher.would_send_now(address)

    def prerender(self, channel: str, message: Message) -> None:
        self.dispatcher.prerender(message)

    def begin(self, turn_id: str = "t1", address: str = "a", text: str = "") -> Turn:
        """A turn has run for a while."""
        self.outbox.running.setdefault(turn_id, None)
        turn = Turn(turn_id, address, text)
        self.dispatcher.open_preview(turn.preview)
        return turn

    def end(self, turn: Turn, answer: str) -> int:
        """It ends, with this answer or (empty) without; returns the row that says so."""
        row = self.outbox.finish_turn(turn.id, turn.address, answer)
        self.dispatcher.close_preview(turn.preview)
        return row.id if row is not None else 0

    async def pass_s(self, seconds: float) -> None:
        """Time passes, in small steps; whoever's time has come does what there is to do."""
        for _ in range(round(seconds * 4)):
            await self.rest()
            self.clock.advance(0.25)
        await self.rest()

    async def rest(self) -> None:
        """Until nobody has anything to do but to wait."""
        for _ in range(20):
            await asyncio.sleep(0)

    def times(self, *what: str) -> list[float]:
        """When requests of these kinds were made."""
        return [at for at, kind in self.channel.requests if kind in what]


@asynccontextmanager
async def line(
    outbox: MemoryOutbox | None = None, channel: LoopbackChannel | None = None, grace_s: float = 5
) -> AsyncIterator[Line]:
    outbox, channel, clock = outbox or MemoryOutbox(), channel or LoopbackChannel(), ManualClock()
    rejections: list[AuthRejected] = []
    dispatcher = Dispatcher(channel, outbox, clock, rejections.append, grace_s)
    made = Line(outbox, channel, clock, dispatcher, rejections)
    outbox.listener = made.outbox_ready
    async with running(dispatcher):
        yield made


@asynccontextmanager
async def timed_line(
    outbox: MemoryOutbox | None = None, channel: LoopbackChannel | None = None
) -> AsyncIterator[Line]:
    outbox, channel, clock = outbox or MemoryOutbox(), channel or LoopbackChannel(), ManualClock()
    channel.time_s = clock.monotonic_s
    dispatcher = Dispatcher(channel, outbox, clock, lambda _: None, grace_s=5)
    made = Line(outbox, channel, clock, dispatcher, [])
    outbox.listener = made.outbox_ready
    async with running(dispatcher):
        await made.rest()
        yield made


@asynccontextmanager
async def running(dispatcher: Dispatcher) -> AsyncIterator[None]:
    """At work until the end, where it has to have met no defect."""
    task = asyncio.create_task(dispatcher.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


def once(*errors: Exception) -> Callable[[str, Payload], Exception | None]:
    """These troubles, one per request, then none."""
    left = list(errors)
    return lambda *_: left.pop(0) if left else None
