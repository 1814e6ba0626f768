"""The runner of one turn: the loop, its result, and the one transaction that ends it."""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol, assert_never

from core import texts
from core.clock import Clock
from core.errors import AllowanceUsedUp, BudgetUsedUp, ModelError, ModelMisconfigured, StaleTurn
from core.events import (
    Began,
    Failed,
    Finished,
    ModelTrace,
    Rested,
    RunKind,
    RunResult,
    TurnEvent,
    TurnListener,
    Verbosity,
)
from core.ids import Ids
from core.lazy import dataclass
from core.messages import Choice, Markdown, Message, plain
from core.model.base import ModelReply, StopReason
from core.model.visible_text import is_silent
from core.ports import OutboxListener
from core.runs.loop import Answered, LoopDelegate, Paused, run_agentic_loop
from core.runs.registry import Run, RunRegistry
from core.store.port import Turns
from core.store.rows import Draft, LoadedTurn, TurnFinished, TurnStart, TurnState
from core.store.units import committed, patiently
from core.transcript import AssistantSaid, Entry, total_chars
from core.users import Role

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

    def __call__(self, loaded: LoadedTurn, run: Run) -> LoopDelegate:
        """Return a delegate that resumes at the end of the journal."""
        ...


@dataclass(frozen=True, slots=True)
class Success:
    """A reply of which the answer is still to be made. `transcript`: the entries before it."""

    reply: ModelReply
    transcript: Sequence[Entry]


@dataclass(frozen=True, slots=True)
class Final:
    """A message that is sent unchanged.

    `error`: the reason, for the operator. `told_owner`: it tells the owner what only they can mend."""

    text: str
    error: str
    told_owner: bool = False


class ChatTurnRunner:
    """The TurnRunner of core.runs.actors for chat turns."""

    def __init__(
        self,
        turns: Turns,
        delegates: DelegateFactory,
        listener: OutboxListener,
        turn_listener: TurnListener,
        registry: RunRegistry,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._turns = turns
        self._delegates = delegates
        self._listener = listener
        self._turn_listener = turn_listener
        self._registry = registry
        self._clock = clock
        self._ids = ids
        self._journals = Journals()
        self._ended_while_stopped: dict[str, TurnStart | None] = {}
        self._cut_short: dict[str, ModelTrace] = {}
        """The models of turns that were cancelled, until their end is stored."""

    async def run(self, start: TurnStart) -> TurnStart | None:
        thread = start.thread
        self._turn_listener.turn_event(thread.id, start.turn_id, Began(thread.channel, thread.address))
        try:
            with self._registry.running(
                start.turn_id, thread.id, RunKind.CHAT, thread.settings.verbosity
            ) as run:
                run.chosen = texts.chosen_words(start.chosen)
                try:
                    return await self._run(start, run)
                except asyncio.CancelledError:
                    self._cut_short[start.turn_id] = run.trace()
                    raise
        finally:
            self._turn_listener.turn_event(thread.id, start.turn_id, Rested())

    async def _run(self, start: TurnStart, run: Run) -> TurnStart | None:
        try:
            result = await self._result(start, run)
        except StaleTurn:
            return await self.end_stopped(start)
        match result:
            case Paused():
                run.result = RunResult.WAITING
                return None
            case Success():
                following = await self._answer(start, result)
                run.result = RunResult.SUCCESS
            case Final():
                following = await self._fail(start, result)
                run.result = RunResult.FINAL
            case _:
                assert_never(result)
        await self._registry.report_faults(run, said=isinstance(result, Final) and result.told_owner)
        return following

    async def _result(self, start: TurnStart, run: Run) -> Paused | Success | Final:
        """Run the turn. Raises StaleTurn if it was stopped or taken over."""
        try:
            return await patiently(lambda: self._go_on(start, run), self._clock)
        except StaleTurn:
            raise
        except BaseException as error:
            if _was_cancelled(error):
                raise
            return _final(start, run, error, self._ids.row_id()[:13])

    async def _go_on(self, start: TurnStart, run: Run) -> Paused | Success:
        """Resume from the end of the journal. The caller repeats this if the database fails on the way."""
        loaded = self._journals.take(start) or await self._turns.load_turn(start)
        delegate = self._delegates(loaded, run)
        match await run_agentic_loop(delegate):
            case Answered(reply):
                return Success(reply, delegate.transcript())
            case Paused() as paused:
                return paused

    async def end_stopped(self, start: TurnStart, left_running: str | None = None) -> TurnStart | None:
        # The stop was answered when it was accepted; this reports only what it could not end.
        if start.turn_id in self._ended_while_stopped:
            return self._ended_while_stopped.pop(start.turn_id)
        try:
            said = None if left_running is None else plain(texts.left_running(left_running))
            return await self._finish(start, TurnState.STOPPED, None, said)
        except StaleTurn:
            logger.info("turn.already_ended turn=%s", start.turn_id)
            return None

    async def _answer(self, start: TurnStart, success: Success) -> TurnStart | None:
        reply, transcript = success.reply, success.transcript
        text = _answer(reply)
        silent = is_silent(text)
        suggestions = () if silent else _suggestions(reply)
        choices = tuple(Choice(one, one) for one in suggestions)
        menu_id = self._ids.gate_id() if choices else None
        said = AssistantSaid(text, reply.origin, suggestions, menu_id or "")
        message = None if silent else Message((Markdown(text),), choices, menu_id)
        following = await self._finish(
            start, TurnState.DONE, said, message, event=Finished("" if silent else text)
        )
        last = Entry(transcript[-1].seq + 1, start.turn_id, self._clock.now(), said)
        self._journals.keep(start.thread.id, (*transcript, last))
        return following

    async def _fail(self, start: TurnStart, final: Final) -> TurnStart | None:
        try:
            return await self._finish(
                start, TurnState.FAILED, None, plain(final.text), error=final.error, event=Failed(final.text)
            )
        except StaleTurn:
            return await self.end_stopped(start)

    async def _finish(
        self,
        start: TurnStart,
        state: TurnState,
        answer: AssistantSaid | None,
        message: Message | None,
        *,
        error: str | None = None,
        event: TurnEvent | None = None,
    ) -> TurnStart | None:
        thread = start.thread
        drafts = (
            [Draft(thread.channel, thread.address, message, self._ids.row_id())]
            if message is not None
            else []
        )
        next_turn_id = self._ids.row_id()
        models = self._cut_short.pop(start.turn_id, None) or self._registry.trace(start.turn_id)

        async def finish() -> TurnFinished:
            return await self._turns.finish_turn_and_enqueue(
                start.turn_id,
                state,
                answer,
                drafts,
                next_turn_id=next_turn_id,
                error=error,
                models=models,
                send_now=self._listener.may_send_now(thread.channel, thread.address),
                meanwhile=meanwhile,
            )

        def meanwhile() -> None:
            if message is not None:
                self._listener.prerender(thread.channel, message)

        def follow(done: TurnFinished) -> None:
            self._listener.outbox_ready(done.outbox)
            if event is not None:
                self._turn_listener.turn_event(thread.id, start.turn_id, event)
            self._ended_while_stopped[start.turn_id] = done.next

        done = await committed(patiently(finish, self._clock), follow)
        self._ended_while_stopped.pop(start.turn_id, None)
        return done.next


def _was_cancelled(error: BaseException) -> bool:
    """Return whether the turn's own task was cancelled. Any other cancellation is a defect of the code
    that raised it."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _suggestions(reply: ModelReply) -> tuple[str, ...]:
    """Return what a reply suggests to say next, each on one line. Commands are the hub's to suggest."""
    lines = dict.fromkeys(" ".join(one.split()) for one in reply.suggestions)
    return tuple(one for one in lines if one and not one.startswith("/"))


def _answer(reply: ModelReply) -> str:
    """Return a reply's text as it is kept and shown: marked if it was cut off, and never empty."""
    text = reply.text.strip()
    match reply.stop:
        case StopReason.LENGTH:
            return f"{text}\n\n{texts.CUT_OFF}".strip()
        case StopReason.FILTERED:
            return f"{text}\n\n{texts.FILTERED}".strip()
        case StopReason.END | StopReason.OVERFLOW:
            return text or texts.EMPTY_REPLY
        case _:
            assert_never(reply.stop)


def _final(start: TurnStart, run: Run, error: BaseException, reference: str) -> Final:
    """Return the message about a failed turn. Its details are for the owner, and where people asked for
    them."""
    kind, is_owner = type(error).__name__, start.principal.role is Role.OWNER
    detailed = run.verbosity is Verbosity.FULL
    faults = run.models.faults if is_owner and run.models is not None else {}
    match error:
        case ModelError():
            was_reset = run.models is not None and run.models.was_reset
            text = texts.model_failure(error, faults, was_reset=was_reset)
        case AllowanceUsedUp():
            text, detailed = texts.ALLOWANCE_USED_UP, False
        case BudgetUsedUp():
            text, detailed = str(error), False
        case _:
            logger.error(
                "turn.unexpected_error turn=%s reference=%s", start.turn_id, reference, exc_info=error
            )
            text, detailed = texts.INTERNAL_FAILURE, detailed or is_owner
            if not detailed:
                text = texts.REFERENCE.format(text=text, reference=reference)
    if detailed:
        text = f"{text}\n\n{texts.agent_failed(run.failures, error, reference)}"
    logger.warning("turn.failed turn=%s reference=%s type=%s error=%s", start.turn_id, reference, kind, error)
    told_owner = is_owner and isinstance(error, ModelMisconfigured)
    return Final(text, f"{kind}: {error}"[:500], told_owner)
