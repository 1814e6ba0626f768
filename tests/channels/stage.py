"""A dispatcher at work on turns that are shown while they run, platform and outbox in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from channels.dispatcher import Dispatcher
from core.messages import Address, Message, Plain
from core.ports import Preview
from tests.channels.line import Line, running
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


class Stage(Line):
    """A dispatcher at work, and the turns it shows."""

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
async def stage(
    outbox: MemoryOutbox | None = None, channel: LoopbackChannel | None = None
) -> AsyncIterator[Stage]:
    outbox, channel, clock = outbox or MemoryOutbox(), channel or LoopbackChannel(), ManualClock()
    channel.time_s = clock.monotonic_s
    dispatcher = Dispatcher(channel, outbox, clock, lambda _: None, grace_s=5)
    made = Stage(outbox, channel, clock, dispatcher, [])
    outbox.listener = made
    async with running(dispatcher):
        await made.rest()
        yield made
