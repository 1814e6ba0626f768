"""A reply while it comes: its text without reasoning, tool syntax and credentials, and the previews of turns
that have run for a while.
"""

import asyncio
import codecs
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter

from core import texts
from core.clock import Clock
from core.errors import ModelReplyInvalid
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
from core.model.base import ModelReply, ModelRequest, ReplyDelta, closing
from core.model.cleaning import Cleaner, cleaned_reply
from core.off_loop import off_loop
from core.ports import Preview, Previews
from core.safety.fencing import sanitise
from core.safety.leaks import LeakDetector, RedactedStream

Tell = Callable[[TextDelta], None]
_NAME = attrgetter("name")


class ReplyStream:
    """One attempt's text, told as it comes, without reasoning, tool syntax and credentials.

    `numbers`: the numbers of attempts; a reply whose final answer starts over takes another one."""

    def __init__(self, leaks: LeakDetector, numbers: Iterator[int], tell: Tell | None) -> None:
        self._leaks = leaks
        self._redacted = RedactedStream(leaks)
        self._cleaner = Cleaner()
        self._numbers = numbers
        self._attempt = next(numbers)
        self._started_over = False
        self._tell = tell

    async def whole(
        self, stream: AsyncIterator[ReplyDelta | ModelReply], request: ModelRequest
    ) -> ModelReply:
        """Return the reply. Raises the model's errors, and ModelReplyInvalid if the stream has none."""
        async with closing(stream) as pieces:
            async for piece in pieces:
                if isinstance(piece, ModelReply):
                    return await self._ended(piece, request)
                if self._tell is not None:
                    await self._show(self._tell, len(piece.text), partial(self._cleaner.feed, piece.text))
        raise ModelReplyInvalid("the model adapter returned no reply")

    async def _ended(self, reply: ModelReply, request: ModelRequest) -> ModelReply:
        cleaner = self._cleaner
        if self._tell is not None:
            await self._show(self._tell, cleaner.fed_chars, cleaner.finish)
            stream = self._redacted
            self._pass_on(self._tell, await off_loop(stream.look_chars(), stream.rest))
        offered = frozenset(map(_NAME, request.tools))
        was_read = self._tell is not None and cleaner.fed_chars == len(reply.text)

        def cleaned() -> ModelReply:
            whole = cleaned_reply(reply, offered, cleaner if was_read else None)
            redacted = self._leaks.redacted
            is_clean = (was_read and self._was_told(whole.text)) or redacted(whole.text) == whole.text
            if is_clean and not whole.calls and not whole.suggestions:
                return whole
            shown = tuple(one for one in whole.suggestions if redacted(one) == one)
            calls = tuple(replace(one, reason=redacted(one.reason)) for one in whole.calls)
            return replace(whole, text=redacted(whole.text), suggestions=shown, calls=calls)

        return await off_loop(len(reply.text), cleaned)

    def _was_told(self, text: str) -> bool:
        """Return whether people have seen all of a text, which therefore holds no secret."""
        return not self._redacted.found and self._redacted.told_chars == len(text) > 0

    async def _show(self, tell: Tell, chars: int, read: Callable[[], str]) -> None:
        """Tell people the text that reading `chars` characters releases."""
        text = await off_loop(chars, read)
        if self._cleaner.starts_over and not self._started_over:
            self._started_over = True
            self._redacted, self._attempt = RedactedStream(self._leaks), next(self._numbers)
        if text:
            stream = self._redacted
            self._pass_on(tell, await off_loop(stream.look_chars(text), partial(stream.add, text)))

    def _pass_on(self, tell: Tell, text: str) -> None:
        if text:
            tell(TextDelta(self._redacted.told_chars - len(text), text, self._attempt))


SHOWN_LIMIT_CHARS = 64 * 1024
"""Limit of the output shown of one running call; its result has the end as well."""
MORE = "\n[There is more output; the end is shown with the result.]\n"


class LiveOutput:
    """The output of a running call as people may see it: whole lines, without secrets, up to a limit."""

    def __init__(self, call_id: str, leaks: LeakDetector, show: Callable[[Output], None]) -> None:
        self._call_id = call_id
        self._show = show
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._stream = RedactedStream(leaks)
        self._line = ""
        self._taken_chars = self._shown_chars = 0

    def add(self, output: bytes) -> None:
        """Take the next bytes that the program wrote."""
        if self._taken_chars >= SHOWN_LIMIT_CHARS:
            return
        text = self._line + self._decoder.decode(output)
        end = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1
        # Whole lines: a terminal sequence that is cut in two would hide a secret from the search.
        self._line = text[end:][:SHOWN_LIMIT_CHARS]
        room = SHOWN_LIMIT_CHARS - self._taken_chars
        self._taken_chars += end
        self._pass_on(self._stream.add(sanitise(text[:end][:room])))
        if end > room:
            self._pass_on(MORE)

    def _pass_on(self, text: str) -> None:
        if text:
            self._show(Output(self._call_id, self._shown_chars, text))
            self._shown_chars += len(text)


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
        if isinstance(event, Began):
            if event.channel not in self._seen_live:
                running = _Running(event.channel, event.address, self._clock.monotonic_s())
                self._running[turn_id] = self._young[turn_id] = running
                self._some_young.set()
        elif (running := self._running.get(turn_id)) is not None:
            self._note(turn_id, running, event)

    def _note(self, turn_id: str, running: _Running, event: TurnEvent) -> None:
        match event:
            case TextDelta():
                if self._texts:
                    running.add(event)
            case RunStarted():
                running.verbosity = event.verbosity
            case Finished() | Failed() | Rested():
                self._forget(turn_id)
            case Step(_, tool, StepState.STARTED):
                running.note(texts.STEP_LINE.format(tool=tool))
            case Step(call_id):
                running.ended(call_id)
            case Output():
                running.printed(event)
            case CandidateFailed():
                running.note(texts.model_retry(event, running.verbosity))
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
