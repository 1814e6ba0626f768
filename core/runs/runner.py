"""The runner of one turn: the loop, messages for its failures, and the one transaction that ends it."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from core import texts
from core.clock import Clock
from core.errors import (
    AllowanceUsedUp,
    ContextOverflow,
    ModelAuthRejected,
    ModelError,
    ModelRejected,
    ModelReplyInvalid,
    StaleTurn,
)
from core.events import Began, Failed, Finished, Rested, TurnEvent, TurnListener
from core.ids import Ids
from core.messages import Markdown, Message, plain
from core.ports import Senders
from core.runs.loop import Answered, LoopDelegate, LoopOutcome, Paused, run_agentic_loop
from core.store.port import Turns
from core.store.rows import Draft, LoadedTurn, TurnFinished, TurnStart, TurnState
from core.store.units import committed, patiently
from core.transcript import AssistantSaid, Entry, total_chars

# The transcripts of recently active threads, cached so that a new turn need not read history.
#
# The journal in the store is authoritative. A cached transcript is used only if the turn's inputs
# directly follow it. Positions are never reused, so entries added elsewhere leave a gap; then the
# journal is read again.

THREAD_LIMIT_CHARS = 250_000
"""The limit on a cached transcript. Longer ones are read for each turn, which costs little compared
with their model calls."""
TOTAL_LIMIT_CHARS = 4_000_000


class Journals:
    """Transcripts by thread. The least recently used are dropped first."""

    def __init__(self, total_limit_chars: int = TOTAL_LIMIT_CHARS) -> None:
        self._total_limit_chars = total_limit_chars
        self._kept: OrderedDict[str, tuple[int, tuple[Entry, ...]]] = OrderedDict()
        self._size_chars = 0

    def take(self, start: TurnStart) -> LoadedTurn | None:
        """Return the new turn on the thread's cached transcript, or None if it must be loaded from the store.

        A taken transcript leaves the cache. The turn returns it after it ends with an answer.
        """
        size_chars, entries = self._kept.pop(start.thread.id, (0, ()))
        self._size_chars -= size_chars
        known_to_seq = entries[-1].seq if entries else 0
        if start.resumed or not start.inputs or start.inputs[0].seq != known_to_seq + 1:
            return None
        return LoadedTurn(
            start, (*entries, *start.inputs), (), spent_us=0, rounds=0, tools_run=0, continued=None
        )

    def keep(self, thread_id: str, entries: Sequence[Entry]) -> None:
        """Cache a thread's whole transcript as stored: since its newest summary, or its start."""
        size_chars = total_chars(entries)
        if not entries or size_chars > THREAD_LIMIT_CHARS:
            return
        before, _ = self._kept.pop(thread_id, (0, ()))
        self._kept[thread_id] = (size_chars, tuple(entries))
        self._size_chars += size_chars - before
        while self._size_chars > self._total_limit_chars:
            _, (dropped_chars, _) = self._kept.popitem(last=False)
            self._size_chars -= dropped_chars


logger = logging.getLogger(__name__)


class DelegateFactory(Protocol):
    """A factory for the delegate of a turn."""

    def __call__(self, loaded: LoadedTurn) -> LoopDelegate:
        """Return a delegate that resumes at the end of the journal."""
        ...


class ChatTurnRunner:
    """The TurnRunner of core.runs.actors for chat turns."""

    def __init__(
        self,
        turns: Turns,
        delegates: DelegateFactory,
        senders: Senders,
        turn_listener: TurnListener,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._turns = turns
        self._delegates = delegates
        self._senders = senders
        self._turn_listener = turn_listener
        self._clock = clock
        self._ids = ids
        self._journals = Journals()

    async def run(self, start: TurnStart) -> None:
        thread = start.thread
        self._turn_listener.turn_event(thread.id, start.turn_id, Began(thread.channel, thread.address))
        try:
            await self._run(start)
        finally:
            self._turn_listener.turn_event(thread.id, start.turn_id, Rested())

    async def _run(self, start: TurnStart) -> None:
        try:
            outcome, transcript = await patiently(lambda: self._go_on(start), self._clock)
        except StaleTurn:
            return await self.end_stopped(start)
        except ModelError as error:
            return await self._fail(start, error, _model_failure(error))
        except AllowanceUsedUp as error:
            return await self._fail(start, error, texts.ALLOWANCE_USED_UP)
        except BaseException as error:
            if _was_cancelled(error):
                raise
            reference = self._ids.row_id()[:13]
            logger.exception("turn.unexpected_error turn=%s reference=%s", start.turn_id, reference)
            return await self._fail(start, error, texts.INTERNAL_FAILURE.format(reference=reference))
        return await self._end(start, outcome, transcript)

    async def _go_on(self, start: TurnStart) -> tuple[LoopOutcome, Sequence[Entry]]:
        """Resume from the end of the journal. The caller repeats this if the database fails on the way."""
        loaded = self._journals.take(start) or await self._turns.load_turn(start)
        delegate = self._delegates(loaded)
        return await run_agentic_loop(delegate), delegate.transcript()

    async def end_stopped(self, start: TurnStart, left_running: str | None = None) -> None:
        """The stop was already answered when it was accepted; what it could
        not end is said now."""
        try:
            said = None if left_running is None else plain(texts.left_running(left_running))
            await self._finish(start, TurnState.STOPPED, None, said)
        except StaleTurn:
            logger.info("turn.already_ended turn=%s", start.turn_id)

    async def _end(self, start: TurnStart, outcome: LoopOutcome, transcript: Sequence[Entry]) -> None:
        match outcome:
            case Paused():
                pass
            case Answered(reply):
                text = reply.text.strip() or texts.EMPTY_REPLY
                said = AssistantSaid(text, reply.origin)
                message = Message(blocks=(Markdown(text),))
                await self._finish(start, TurnState.DONE, said, message, event=Finished(text))
                last = Entry(transcript[-1].seq + 1, start.turn_id, self._clock.now(), said)
                self._journals.keep(start.thread.id, (*transcript, last))

    async def _fail(self, start: TurnStart, error: BaseException, text: str) -> None:
        logger.warning("turn.failed turn=%s type=%s error=%s", start.turn_id, type(error).__name__, error)
        try:
            await self._finish(
                start, TurnState.FAILED, None, plain(text), error=_reason(error), event=Failed(text)
            )
        except StaleTurn:
            await self.end_stopped(start)

    async def _finish(
        self,
        start: TurnStart,
        state: TurnState,
        answer: AssistantSaid | None,
        message: Message | None,
        *,
        error: str | None = None,
        event: TurnEvent | None = None,
    ) -> None:
        thread = start.thread
        drafts = (
            [Draft(thread.channel, thread.address, message, self._ids.row_id())]
            if message is not None
            else []
        )
        next_turn_id = self._ids.row_id()

        async def finish() -> TurnFinished:
            return await self._turns.finish_turn_and_enqueue(
                start.turn_id,
                state,
                answer,
                drafts,
                next_turn_id=next_turn_id,
                error=error,
                send_now=self._senders.may_send_now(thread.channel, thread.address),
                meanwhile=meanwhile,
            )

        def meanwhile() -> None:
            if message is not None:
                self._senders.prerender(thread.channel, message)

        def follow(_: TurnFinished) -> None:
            if event is not None:
                self._turn_listener.turn_event(thread.id, start.turn_id, event)

        await committed(patiently(finish, self._clock), follow)


def _model_failure(error: ModelError) -> str:
    match error:
        case ContextOverflow():
            return texts.CONTEXT_TOO_LONG
        case ModelAuthRejected():
            return texts.MODEL_KEY_REJECTED
        case ModelRejected():
            return texts.MODEL_REFUSED
        case ModelReplyInvalid():
            return texts.MODEL_BROKE_OFF
        case _:
            return texts.MODEL_UNREACHABLE


def _was_cancelled(error: BaseException) -> bool:
    """Return whether the turn's own task was cancelled. Any other cancellation is a defect of the code
    that raised it."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]
