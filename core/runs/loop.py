"""The agentic loop: model and tools in turn, until there is an answer or a person is needed.

The loop keeps no essential state. Its delegate journals every step, so a loop started on an unfinished turn
resumes at the first unfinished step. When one of a turn's limits is used up, a person is asked whether to
continue.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import Protocol

from core.approvals import LoopLimits
from core.clock import SECOND_US
from core.consent import card_texts
from core.errors import StaleTurn, StoreUnavailable
from core.events import AutoLoop, LoopPhase
from core.lazy import dataclass
from core.model.base import CallRequest, ModelReply
from core.off_loop import json_with_breaks
from core.safety.fencing import MAX_VALUES
from core.transcript import Entry, Note


class Limit(StrEnum):
    """A limit on a turn."""

    ROUNDS = "max_rounds"
    TOOLS = "max_tools"
    TIME = "loop_timeout"


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A limit that is used up. `said`: a sentence for people and the model."""

    limit: Limit
    said: str


@dataclass(slots=True)
class LoopBudget:
    """The budget that a turn has used. `started_s` is monotonic; `spent_us` was used before this start.

    If `counted` is False, rounds and calls are counted but not limited (preset `auto`). Time is
    always limited.
    """

    limits: LoopLimits
    rounds: int
    tools_run: int
    spent_us: int
    started_s: float
    counted: bool = True

    def start_over(self, now_s: float) -> None:
        """Count from now on: a person has written to the turn."""
        self.rounds = self.tools_run = self.spent_us = 0
        self.started_s = now_s

    def exhausted(self, now_s: float) -> Exhausted | None:
        """Return the limit that is used up before another round of the model, or None."""
        if self.counted and self.rounds >= self.limits.max_rounds:
            return Exhausted(Limit.ROUNDS, card_texts.budget_rounds(self.rounds))
        return self.no_more_tools(now_s)

    def no_more_tools(self, now_s: float) -> Exhausted | None:
        """Return the limit that is used up before another call in the current round, or None."""
        limits = self.limits
        if self.counted and self.tools_run >= limits.max_tools:
            return Exhausted(Limit.TOOLS, card_texts.budget_tools(self.tools_run))
        if self.remaining_s(now_s) <= 0:
            return Exhausted(Limit.TIME, card_texts.budget_time(limits.loop_timeout_s))
        return None

    def calls_left(self) -> int | None:
        """Return the number of calls that may still run, or None if it is unlimited."""
        return max(0, self.limits.max_tools - self.tools_run) if self.counted else None

    def remaining_s(self, now_s: float) -> float:
        """Return the seconds that the turn may still take."""
        return self.limits.loop_timeout_s - self.spent_us / SECOND_US - (now_s - self.started_s)


# The events that people see of a turn that runs tools by itself.

STOPPED = "stopped"
FAILED = "failed"


class LoopEvents:
    """Events of one start of a turn: its beginning, each call that ended, and its end.

    A turn that runs no tools causes no events. No events follow the end."""

    def __init__(self, budget: LoopBudget, tell: Callable[[AutoLoop], None]) -> None:
        self._budget = budget
        self._tell = tell
        self._tool: str | None = None

    def begins(self, tool: str) -> None:
        """Report that a call is about to run. The first call since a person last decided begins the loop."""
        if self._tool is None:
            self._tool = tool
            phase = LoopPhase.PROGRESS if self._budget.tools_run else LoopPhase.STARTED
            self._tell(self._event(phase))

    def goes_on(self, tool: str) -> None:
        """Report that a call has run."""
        self._tool = tool
        self._tell(self._event(LoopPhase.PROGRESS))

    def finished(self) -> None:
        """Report that the model gave its final answer."""
        if self._tool is not None:
            self._tell(self._event(LoopPhase.FINISHED))
            self._tool = None

    def cancelled(self, reason: str) -> None:
        """Report any other end."""
        if self._tool is not None:
            self._tell(self._event(LoopPhase.CANCELLED, reason))
            self._tool = None

    def _event(self, phase: LoopPhase, reason: str | None = None) -> AutoLoop:
        budget = self._budget
        limits = budget.limits if budget.counted else None
        return AutoLoop(
            phase,
            self._tool or "",
            budget.rounds,
            budget.tools_run,
            None if limits is None else limits.max_rounds,
            None if limits is None else limits.max_tools,
            reason,
        )


TRUNCATED_LIMIT = 3
"""The number of consecutive replies with calls cut off at the output limit. Then the model must answer
without tools."""
MAX_NUDGES = 2
"""The number of times in a run that a model is reminded to call the tool it announced."""
NUDGE = (
    "You said what you are going to do, but called no tool. Call the tool now. If there is nothing to do, "
    "give your answer."
)
REPEATS_WARNED = 3
REPEATS_LIMIT = 5
"""The number of times the same calls may fail in a row. After a warning, tools are withheld."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The model's final answer."""

    reply: ModelReply


@dataclass(frozen=True, slots=True)
class Paused:
    """A wait for a person. The turn resumes when they answer."""


LoopOutcome = Answered | Paused


class LoopDelegate(Protocol):
    """The steps of one kind of run, such as a chat turn. The delegate journals every effect."""

    async def settle_calls(self) -> Paused | None:
        """Settle every call without an outcome, in order. Returns Paused if a person must answer first."""
        ...

    async def join_input(self) -> bool:
        """Journal the input that waits to join this run, if any. Return True if some joined.

        It is called where every call has its result and the next model call is still to come, so that the
        model hears of the input at once and no result is separated from its call."""
        ...

    def last_batch_failed(self) -> bool:
        """Return whether the last `settle_calls` settled calls and every one of them failed."""
        ...

    def limit_reached(self) -> Exhausted | None:
        """Return the limit that is used up, or None to continue."""
        ...

    async def at_limit(self, limit: Exhausted) -> Paused | None:
        """Ask whether to continue. Returns None if the model may only give a final answer without tools."""
        ...

    def offered_tools(self) -> bool:
        """Return whether the last model call offered tools."""
        ...

    async def call_model(self, *, with_tools: bool) -> ModelReply | Paused:
        """Make one metered model call on the current journal. Returns Paused if a person must allow its
        cost first."""
        ...

    async def record_calls(self, reply: ModelReply) -> None:
        """Journal a reply and the calls it requests."""
        ...

    async def record_note(self, reply: ModelReply | None, note: str) -> None:
        """Journal a reply's text, if any, and a note for the model."""
        ...

    def ended(self, outcome: LoopOutcome | None) -> None:
        """Report the end of this run. None: a person or the hub's shutdown cut it short."""
        ...

    def failed(self) -> None:
        """Report that this run failed. The failure itself is reported elsewhere."""
        ...

    def transcript(self) -> Sequence[Entry]:
        """Return the journal as known to this run: earlier entries and those it has added."""
        ...


async def run_agentic_loop(delegate: LoopDelegate) -> LoopOutcome:
    """Start or continue one turn. Raises the errors of the model and the store."""
    try:
        outcome = await _steps(delegate)
    except (asyncio.CancelledError, StaleTurn):
        delegate.ended(None)
        raise
    except StoreUnavailable:
        raise  # the caller resumes the turn
    except Exception:
        delegate.failed()
        raise
    delegate.ended(outcome)
    return outcome


async def _steps(delegate: LoopDelegate) -> LoopOutcome:
    guard, nudges = _Guard(), _reminders(delegate.transcript())
    while True:
        paused = await delegate.settle_calls()
        if paused is not None:
            return paused
        if await delegate.join_input():
            guard.asked_anew()
        warning = guard.after_batch(failed=delegate.last_batch_failed())
        if warning is not None:
            await delegate.record_note(None, warning)
        limit = delegate.limit_reached()
        with_tools = limit is None and not guard.words_only
        reply = await _reply_or_pause(delegate, limit, with_tools=with_tools)
        if isinstance(reply, Paused):
            return reply
        if not reply.calls or not with_tools:
            if nudges < MAX_NUDGES and delegate.offered_tools() and _only_announces(reply):
                nudges += 1
                await delegate.record_note(reply, NUDGE)
                continue
            return Answered(reply)
        if reply.truncated:
            await delegate.record_note(reply, guard.truncated())
            continue
        guard.saw(reply.calls)
        await delegate.record_calls(reply)


def _reminders(entries: Sequence[Entry]) -> int:
    """Return how many reminders the newest run had before it was interrupted, as far as it is journaled."""
    run_id = entries[-1].turn_id if entries else None
    of_run = takewhile(lambda entry: entry.turn_id == run_id, reversed(entries))
    return sum(isinstance(entry.said, Note) and entry.said.text == NUDGE for entry in of_run)


async def _reply_or_pause(
    delegate: LoopDelegate, limit: Exhausted | None, *, with_tools: bool
) -> ModelReply | Paused:
    paused = None if limit is None else await delegate.at_limit(limit)
    return paused or await delegate.call_model(with_tools=with_tools)


class _Guard:
    """A guard against a model that repeats itself. It is in memory only, so a restart resets it."""

    def __init__(self) -> None:
        self.words_only = False
        self._truncated = 0
        self._batch: tuple[tuple[str, str], ...] = ()
        self._repeated = 0
        self._failed_batch: tuple[tuple[str, str], ...] = ()

    def asked_anew(self) -> None:
        """Let tools be used again: a person has written to the run. Reminders don't start over."""
        self.words_only = False
        self._truncated = self._repeated = 0
        self._batch = self._failed_batch = ()

    def truncated(self) -> str:
        self._truncated += 1
        self.words_only = self.words_only or self._truncated >= TRUNCATED_LIMIT
        return (
            "Your tool call was cut off at the output limit, so it was not run. "
            "Use shorter arguments or smaller steps."
        )

    def saw(self, calls: Sequence[CallRequest]) -> None:
        self._truncated = 0
        self._batch = tuple((call.tool, _canonical(call.arguments)) for call in calls)

    def after_batch(self, *, failed: bool) -> str | None:
        if not self._batch:
            return None
        batch, self._batch = self._batch, ()
        if not failed:
            self._repeated, self._failed_batch = 0, ()
            return None
        self._repeated = self._repeated + 1 if batch == self._failed_batch else 1
        self._failed_batch = batch
        if self._repeated < REPEATS_WARNED:
            return None
        self.words_only = self.words_only or self._repeated >= REPEATS_LIMIT
        return "The same call failed again. Try something different, or tell the person what the problem is."


def _canonical(arguments: str) -> str:
    """Return the arguments with sorted keys, so that their order makes no difference."""
    try:
        return json.dumps(json_with_breaks(arguments, most_values=MAX_VALUES), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


# Announcements: a model that says it is about to act, and requests no call.

_OPENINGS = ("let me ", "i'll ", "i will ", "i'm going to ", "i am going to ")
_ACTIONS = (
    "search", "look up", "look into", "check", "fetch", "find", "read the", "write the", "create", "run the",
    "execute", "query", "retrieve", "add it", "add the", "add this", "add that", "update the", "delete",
    "remove the",
)  # fmt: skip
_TALK = (
    "explain", "know", "think", "summarize", "clarify", "describe", "help", "understand", "break", "outline",
    "walk you", "provide", "suggest", "elaborate", "start by",
)  # fmt: skip
_APOSTROPHES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'"})
_SENTENCE_ENDS = str.maketrans({".": "\n", "!": "\n", ":": "\n", "?": "?\n"})
ANNOUNCEMENT_LIMIT_CHARS = 2_000
"""The limit on a reply that may be an announcement; longer ones are answers."""


def _only_announces(reply: ModelReply) -> bool:
    return not reply.truncated and announces_call(reply.text)


def announces_call(text: str) -> bool:
    """Return whether a reply only announces an action: a sentence such as "Let me check the log."

    Code and quotations don't count. It is a weak hint in English, for a reminder that costs little."""
    if len(text) > ANNOUNCEMENT_LIMIT_CHARS:
        return False
    heard = text.lower().translate(_APOSTROPHES)
    if not any(map(heard.__contains__, _OPENINGS)):
        return False  # nearly every reply
    prose = _prose(heard)
    if any(f"let me {word}" in prose for word in _TALK):
        return False
    return any(map(_is_announcement, prose.translate(_SENTENCE_ENDS).splitlines()))


def _is_announcement(sentence: str) -> bool:
    if sentence.endswith("?"):  # it asks the person first
        return False
    for opening in _OPENINGS:
        _, found, rest = f" {sentence}".partition(f" {opening}")
        if found and any(f" {action} " in f" {rest.replace(',', ' ')} " for action in _ACTIONS):
            return True
    return False


def _prose(text: str) -> str:
    """Return the lines that are neither code nor quoted, without what stands in double quotes."""
    lines: list[str] = []
    in_code = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not (in_code or line.startswith(("    ", "\t", ">"))):
            lines.append("".join(line.split('"')[::2]))
    return "\n".join(lines)
