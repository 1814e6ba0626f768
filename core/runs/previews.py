"""Previews of turns that have run for a while: that they are running, and their text so far."""

import asyncio
from collections.abc import Collection

from core import texts
from core.clock import Clock
from core.events import (
    Began,
    CandidateFailed,
    Failed,
    Finished,
    Output,
    Rested,
    RunStarted,
    Step,
    StepState,
    TextDelta,
    TurnEvent,
    Verbosity,
)
from core.messages import Address, Block, Code, Markdown, Message, Plain
from core.ports import Preview, Previews

PREVIEW_AFTER_S = 1.0
"""The time before a turn is shown. Turns that end sooner are not announced."""
PREVIEW_LIMIT_CHARS = 8_000
"""The limit on text shown before it is complete. Longer text would not fit into one message on any
platform."""
MAX_LINES = 5
"""The limit on lines about steps and models; the newest are shown."""
OUTPUT_LINES, OUTPUT_CHARS = 8, 800
"""The limits on a running command's output; its end is shown."""


class _Running:
    """One turn: its start time, the part of the current reply that may be shown, and lines about its work
    where people asked for them."""

    __slots__ = (
        "address",
        "attempt",
        "began_s",
        "channel",
        "chars",
        "lines",
        "output",
        "pieces",
        "preview",
        "verbosity",
    )

    def __init__(self, channel: str, address: Address, began_s: float) -> None:
        self.channel = channel
        self.address = address
        self.began_s = began_s
        self.attempt = -1
        self.pieces: list[str] = []
        self.chars = 0
        self.verbosity = Verbosity.OFF
        self.lines: list[str] = []
        self.output: Output | None = None
        self.preview: Preview | None = None

    def add(self, delta: TextDelta) -> None:
        if delta.attempt < self.attempt:
            return  # a late piece of what a later attempt replaced
        if delta.attempt > self.attempt:
            self.attempt, self.pieces, self.chars = delta.attempt, [], 0
        if self.chars < PREVIEW_LIMIT_CHARS:
            self.pieces.append(delta.text)
            self.chars += len(delta.text)

    def note(self, line: str) -> None:
        if self.verbosity is not Verbosity.OFF:
            self.lines = [*self.lines, line][-MAX_LINES:]

    def printed(self, output: Output) -> None:
        if self.verbosity is not Verbosity.OFF:
            same = self.output is not None and self.output.call_id == output.call_id
            self.output = output.joined_to(self.output if same else None, OUTPUT_CHARS)

    def ended(self, call_id: str) -> None:
        if self.output is not None and self.output.call_id == call_id:
            self.output = None

    def said(self) -> Message | None:
        text = "".join(self.pieces)[:PREVIEW_LIMIT_CHARS]
        blocks: tuple[Block, ...] = (Markdown(text),) if text.strip() else ()
        if self.lines:
            blocks = (Plain("\n".join(self.lines)), *blocks)
        if self.output is not None and (shown := self.output.last_lines(OUTPUT_LINES)):
            blocks = (*blocks, Code("\n".join(shown)))
        return Message(blocks) if blocks else None


class TurnPreviews:
    """A TurnListener that shows turns through `Previews`, with `shows_text` including their text.

    Channels whose people see turns live (`seen_live`) get no previews. A turn that ends soon costs
    only an entry in a dictionary.
    """

    def __init__(
        self, previews: Previews, clock: Clock, *, shows_text: bool, seen_live: Collection[str] = ()
    ) -> None:
        self._previews = previews
        self._clock = clock
        self._texts = shows_text
        self._seen_live = frozenset(seen_live)
        self._running: dict[str, _Running] = {}
        self._young: dict[str, _Running] = {}
        self._some_young = asyncio.Event()

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:  # noqa: ARG002 - by turn
        running = self._running.get(turn_id)
        if running is None and not isinstance(event, Began):
            return
        match event:
            case TextDelta() if running is not None and self._texts:
                running.add(event)
            case RunStarted() if running is not None:
                running.verbosity = event.verbosity
            case Step(_, tool, StepState.STARTED) if running is not None:
                running.note(texts.STEP_LINE.format(tool=tool))
            case Step(call_id) if running is not None:
                running.ended(call_id)
            case Output() if running is not None:
                running.printed(event)
            case CandidateFailed() if running is not None:
                running.note(texts.model_retry(event, running.verbosity))
            case Began(channel, address) if channel not in self._seen_live:
                running = _Running(channel, address, self._clock.monotonic_s())
                self._running[turn_id] = self._young[turn_id] = running
                self._some_young.set()
            case Finished() | Failed() | Rested():
                self._forget(turn_id)
            case _:
                pass

    async def run(self) -> None:
        """Show turns once they have run long enough, until cancelled."""
        while True:
            await self._some_young.wait()
            oldest = next(iter(self._young), None)
            if oldest is None:
                self._some_young.clear()
                continue
            wait_s = self._young[oldest].began_s + PREVIEW_AFTER_S - self._clock.monotonic_s()
            if wait_s > 0:
                await self._clock.sleep(wait_s)
            elif (running := self._young.pop(oldest, None)) is not None:
                self._open(oldest, running)

    def _open(self, turn_id: str, running: _Running) -> None:
        running.preview = Preview(turn_id, running.channel, running.address, running.said)
        self._previews.open_preview(running.preview)

    def _forget(self, turn_id: str) -> None:
        self._young.pop(turn_id, None)
        running = self._running.pop(turn_id, None)
        if running is not None and running.preview is not None:
            self._previews.close_preview(running.preview)
