"""The agentic loop: model and tools in turn, until there is an answer or a person is needed.

The loop holds no state that matters: its delegate journals every step, so a loop started on a half-done
turn goes on at the first unfinished step.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.errors import StaleTurn, StoreUnavailable
from core.model.base import CallRequest, ModelReply
from core.runs.budget import Exhausted
from core.transcript import Entry

TRUNCATED_LIMIT = 3
"""So many calls cut off at the output limit in a row: the model must answer in words."""
REPEATS_WARNED = 3
REPEATS_LIMIT = 5
"""The same failing calls again and again: a warning, then words only."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The model's final words."""

    reply: ModelReply


@dataclass(frozen=True, slots=True)
class Paused:
    """A person was asked; the turn goes on when they answered."""


LoopOutcome = Answered | Paused


class LoopDelegate(Protocol):
    """What a kind of run (a chat turn, later a job) does at each step; every effect is journalled by it."""

    async def settle_calls(self) -> Paused | None:
        """Bring every call without an outcome to one, in order; Paused if a person must answer first."""
        ...

    def last_batch_failed(self) -> bool:
        """Whether calls were settled by `settle_calls` just now and every one of them failed."""
        ...

    def limit_reached(self) -> Exhausted | None:
        """The budget that is used up; None: go on."""
        ...

    async def at_limit(self, limit: Exhausted) -> Paused | None:
        """Ask whether to go on; None: the model may still say final words, without tools."""
        ...

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        """One metered model call on the journal as it stands."""
        ...

    async def record_calls(self, reply: ModelReply) -> None:
        """Journal a reply and the calls it asks for."""
        ...

    async def record_note(self, reply: ModelReply | None, note: str) -> None:
        """Journal a reply's text, if any, and something to tell the model."""
        ...

    def ended(self, outcome: LoopOutcome | None) -> None:
        """This run is over; None: it was cut short, by a person or by the hub's end."""
        ...

    def failed(self) -> None:
        """This run is over by a failure, which is reported elsewhere."""
        ...

    def transcript(self) -> Sequence[Entry]:
        """The journal as this run knows it: what was there before it, and what it has added."""
        ...


async def run_agentic_loop(delegate: LoopDelegate) -> LoopOutcome:
    """Run or go on with one turn. Raises what the model or the store raises."""
    try:
        outcome = await _steps(delegate)
    except (asyncio.CancelledError, StaleTurn):
        delegate.ended(None)
        raise
    except StoreUnavailable:
        raise  # whoever runs the turn goes on with it
    except Exception:
        delegate.failed()
        raise
    delegate.ended(outcome)
    return outcome


async def _steps(delegate: LoopDelegate) -> LoopOutcome:
    guard = _Guard()
    while True:
        paused = await delegate.settle_calls()
        if paused is not None:
            return paused
        warning = guard.after_batch(failed=delegate.last_batch_failed())
        if warning is not None:
            await delegate.record_note(None, warning)
        limit = delegate.limit_reached()
        if limit is not None:
            paused = await delegate.at_limit(limit)
            if paused is not None:
                return paused
        with_tools = limit is None and not guard.words_only
        reply = await delegate.call_model(with_tools=with_tools)
        if not reply.calls or not with_tools:
            return Answered(reply)
        if reply.truncated:
            await delegate.record_note(reply, guard.truncated())
            continue
        guard.saw(reply.calls)
        await delegate.record_calls(reply)


class _Guard:
    """Notices a model that runs in circles. In memory only: a restart forgives."""

    def __init__(self) -> None:
        self.words_only = False
        self._truncated = 0
        self._batch: tuple[tuple[str, str], ...] = ()
        self._repeated = 0
        self._failed_batch: tuple[tuple[str, str], ...] = ()

    def truncated(self) -> str:
        self._truncated += 1
        self.words_only = self.words_only or self._truncated >= TRUNCATED_LIMIT
        return (
            "Your tool call was cut off at the output limit, so it was not run. "
            "Use shorter arguments, or go about it in smaller steps."
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
        return "The same call failed again. Try something different, or tell the person what is in the way."


def _canonical(arguments: str) -> str:
    """Arguments with their keys sorted, so that order makes no difference."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
