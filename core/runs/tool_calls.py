"""The calls a model requested, brought to their outcomes: prepared, approved, run, recorded.

Runs of every kind use the same runner. Where people are asked, an open gate pauses the run; where nobody
is, a call that needs a person is denied.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Protocol, assert_never

from core.clock import Clock
from core.consent.rules import DELEGATE, Autonomous, Mode
from core.errors import SignInRequired
from core.events import Output, Step, StepState
from core.gates import ConsentSettings
from core.lazy import dataclass
from core.messages import quoted
from core.runs.loop import LoopBudget, LoopEvents, Paused
from core.runs.reply_stream import LiveOutput
from core.safety.fencing import read_arguments
from core.store.port import Turns
from core.store.rows import CallRow, CallState
from core.store.units import patiently
from core.tool import Effect, ProcessInfo, Subtask
from core.tools.pipeline import CallPipeline, NeedsPerson, PutsQuestion, Ready, Refused
from core.transcript import ResultStatus, ToolResult
from core.usage import Reservation
from core.users import Principal

logger = logging.getLogger(__name__)

TOGETHER = 8
"""The number of neighbouring calls without effect that run at the same time."""
SUBTASKS_TOGETHER = 4
"""The number of neighbouring subtasks that run at the same time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A call that needs a person's decision, and the request for it."""

    call: CallRow
    needs: NeedsPerson


class CallPeople(Protocol):
    """The people who decide about a run's calls. Paused: the run waits in the store for what they say."""

    async def decided(self, call: CallRow) -> CallRow | ToolResult | Paused:
        """Return the outcome that a person's answer already is, or else the call to go on with."""
        ...

    async def question(self, call: CallRow, puts: PutsQuestion) -> ToolResult | Paused:
        """Put the question that the call asks, or return why not."""
        ...

    async def approval(self, asked: Sequence[Asked]) -> Paused:
        """Request approval of the first call, and of later ones that can share its card."""
        ...

    async def sign_in(self, call: CallRow, tool: str, needed: SignInRequired) -> ToolResult | Paused:
        """Ask the person to sign in, so that the call can run again, or return why not."""
        ...

    async def what_happened(self, call: CallRow) -> Paused:
        """Ask about a call that started but whose outcome was never recorded."""
        ...


@dataclass(frozen=True, slots=True)
class CallRules:
    """The rules a run's calls are judged by. `standing` returns the person's consent settings.

    `subtask`: carries out what the run delegates; None if it can't."""

    pipeline: CallPipeline
    principal: Principal
    thread_id: str
    mode: Mode
    standing: Callable[[], Awaitable[ConsentSettings]]
    subtask: Subtask | None = None


class ToolCallRunner:
    """The calls of one start of a run.

    `turns`, `run_id`: the journal they are recorded in, and its run.
    `people`: None where nobody is asked.
    `waiting`: the calls without an outcome, in order.
    `recorded`: called with each result once it is in the journal.
    `show`: takes the output of calls as they run; None where no person looks on.
    """

    def __init__(
        self,
        rules: CallRules,
        turns: Turns,
        run_id: str,
        people: CallPeople | None,
        budget: LoopBudget,
        loop: LoopEvents,
        clock: Clock,
        waiting: Sequence[CallRow],
        recorded: Callable[[ToolResult], None],
        tell: Callable[[Step], None],
        show: Callable[[Output], None] | None = None,
    ) -> None:
        self._rules = rules
        self._turns = turns
        self._run_id = run_id
        self._people = people
        self._budget = budget
        self._loop = loop
        self._clock = clock
        self._waiting = list(waiting)
        self._recorded = recorded
        self._tell = tell
        self._show = show
        self._statuses: list[ResultStatus] = []
        self._refused: list[ResultStatus] = []
        self._recording = asyncio.Lock()
        self._reserved: Reservation | None = None
        self._to_sign_in: dict[str, SignInRequired] = {}

    def judge_in(self, mode: Mode) -> None:
        """Judge calls in this mode from now on."""
        if mode != self._rules.mode:
            self._rules = replace(self._rules, mode=mode)

    def add(self, call: CallRow) -> None:
        """Add a call after the others."""
        self._waiting.append(call)

    def refused(self, result: ToolResult) -> None:
        """Add the result of a call that was recorded together with its outcome."""
        self._recorded(result)
        self._refused.append(result.status)

    def take_reserved(self) -> Reservation | None:
        """Return the reservation of the next model call that was stored with the last result, once."""
        reserved, self._reserved = self._reserved, None
        return reserved

    @property
    def all_failed(self) -> bool:
        """True if the last `settle` settled calls and every one of them failed."""
        return bool(self._statuses) and all(status is not ResultStatus.OK for status in self._statuses)

    async def settle(self) -> Paused | None:
        """Settle and record the calls in the model's order. Returns Paused if a person must answer first.

        Only neighbouring calls without effect that need no person run at the same time, and neighbouring
        subtasks. Every other call waits for all before it and holds back all after it, so that no read
        overtakes a write.
        """
        self._statuses, self._refused = self._refused, []
        if self._budget.rounds:
            await self._rules.standing()  # a resumed run uses the limits in force now
        while self._waiting:
            together = await self._together()
            if together:
                await self._run_together(together)
                continue
            settled = await self._settle(self._waiting[0])
            if isinstance(settled, Paused):
                return settled
            await self._record(self._waiting[0], settled)
        return None

    # --- one after the other ----------------------------------------------------------------------------

    async def _settle(self, call: CallRow) -> "_Outcome | Paused":
        if self._people is not None:
            decided = await self._people.decided(call)
            if not isinstance(decided, CallRow):
                return decided if isinstance(decided, Paused) else _Outcome(decided)
            call = decided
        return await self._prepare_and_run(call)

    async def _prepare_and_run(self, call: CallRow) -> "_Outcome | Paused":
        if (needed := self._to_sign_in.pop(call.call_id, None)) is not None:
            return await self._sign_in(call, needed)
        people, prepared = self._people, await self._prepared(call)
        match prepared:
            case Refused(result, reason):
                logger.info("call.refused call=%s tool=%s reason=%s", call.call_id, call.tool, reason)
                return _Outcome(result)
            case PutsQuestion():
                if people is None:
                    return _needs_person(call)
                put = await people.question(call, prepared)
                return put if isinstance(put, Paused) else _Outcome(put)
            case NeedsPerson() | Ready():
                limit = self._budget.no_more_tools(self._clock.monotonic_s())
                if limit is not None:  # people are not asked about calls that will not run
                    return _Outcome(_result(call, ResultStatus.SKIPPED, limit.said))
                if isinstance(prepared, Ready):
                    return await self._run(call, prepared)
                if people is None:
                    return _needs_person(call)
                return await people.approval([Asked(call, prepared), *await self._others()])
            case _:
                assert_never(prepared)

    async def _prepared(self, call: CallRow) -> Refused | PutsQuestion | NeedsPerson | Ready:
        rules = self._rules
        standing = await rules.standing()
        prepared = rules.pipeline.prepare(call, rules.principal, rules.thread_id, standing, rules.mode)
        if isinstance(prepared, NeedsPerson) and (objection := prepared.tool.objection) is not None:
            # People are not asked about what is known to fail.
            arguments = prepared.tool.validate(read_arguments(call.arguments))
            if (found := await objection(rules.principal, arguments)) is not None:
                text = f"{call.tool} was not run: {found}."
                return Refused(_result(call, ResultStatus.ERROR, text))
        return prepared

    async def _others(self) -> Sequence[Asked]:
        """Return the later calls that also need a person, within the number that may still run."""
        found: list[Asked] = []
        for call in self._waiting[1 : self._budget.calls_left()]:
            if call.state is not CallState.INTENT:
                continue
            prepared = await self._prepared(call)
            if isinstance(prepared, NeedsPerson):
                found.append(Asked(call, prepared))
        return found

    async def _run(self, call: CallRow, ready: Ready) -> "_Outcome | Paused":
        effect = ready.tool.effect is Effect.EFFECT
        if effect and (refusal := await self._mark_running(call, ready)) is not None:
            return _Outcome(_result(call, ResultStatus.DENIED, f"Not run: {refusal}"))
        await patiently(self._turns.hold_lease, self._clock)
        self._begin(call, ready)
        outcome = await self._run_begun(call, ready)
        if isinstance(outcome, SignInRequired):
            return await self._sign_in(call, outcome)
        if effect and self._people is not None and outcome.result.status is ResultStatus.UNKNOWN:
            return await self._people.what_happened(call)
        return outcome

    async def _sign_in(self, call: CallRow, needed: SignInRequired) -> "_Outcome | Paused":
        """Ask for the sign-in without which a call did not run. An unattended run only tells its person."""
        rules, people, sign_ins = self._rules, self._people, self._rules.pipeline.sign_ins
        user_id, server = rules.principal.user_id, needed.server
        if people is not None and sign_ins is not None:
            put = await people.sign_in(call, call.tool, needed)
            return put if isinstance(put, Paused) else _Outcome(put)
        if sign_ins is not None:
            await sign_ins.tell(needed, user_id, call.tool)
        text = f"{call.tool} is not available without its person: they are not signed in to {server}."
        return _Outcome(_result(call, ResultStatus.DENIED, text))

    async def _mark_running(self, call: CallRow, ready: Ready) -> str | None:
        rules = self._rules
        check = rules.pipeline.recheck(rules.thread_id, rules.mode, ready)
        limits = ready.tool.limits
        return await patiently(
            lambda: self._turns.mark_running(self._run_id, call.call_id, check, limits=limits), self._clock
        )

    # --- side by side -----------------------------------------------------------------------------------

    async def _together(self) -> "Sequence[tuple[CallRow, Ready]]":
        """Return the next calls if they may run at the same time, within the number that may still run."""
        if self._budget.no_more_tools(self._clock.monotonic_s()) is not None:
            return ()
        limit = self._budget.calls_left()
        nearest = self._waiting[: TOGETHER if limit is None else min(TOGETHER, limit)]
        alike = list(takewhile(_is_subtask, nearest))[:SUBTASKS_TOGETHER]
        alike = alike or list(takewhile(self._is_without_effect, nearest))
        found: list[tuple[CallRow, Ready]] = []
        for call in alike if len(alike) > 1 else ():
            prepared = await self._prepared(call)
            if not isinstance(prepared, Ready):
                break
            found.append((call, prepared))
        return found if len(found) > 1 else ()

    def _is_without_effect(self, call: CallRow) -> bool:
        """Return whether the call, of which nobody has said anything yet, may run any number of times."""
        alone = call.call_id in self._to_sign_in
        return not alone and _is_new(call) and self._rules.pipeline.effect_of(call.tool) is Effect.NONE

    async def _run_together(self, together: "Sequence[tuple[CallRow, Ready]]") -> None:
        """Run the calls at the same time, and record each result as it comes."""

        async def run(call: CallRow, ready: Ready) -> None:
            outcome = await self._run_begun(call, ready)
            if isinstance(outcome, SignInRequired):  # a gate opens only when nothing else runs
                self._to_sign_in[call.call_id] = outcome
                return
            await self._record(call, outcome)

        running: list[asyncio.Task[None]] = []
        for call, ready in together:
            self._begin(call, ready)
            running.append(asyncio.create_task(run(call, ready), name=f"call {call.call_id}"))
        try:
            await asyncio.gather(*running)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    # --- every call -------------------------------------------------------------------------------------

    def _begin(self, call: CallRow, ready: Ready) -> None:
        limit_s = min(ready.timeout_s, self._budget.remaining_s(self._clock.monotonic_s()))
        self._tell(Step(call.call_id, ready.tool.name, StepState.STARTED, limit_s))
        self._loop.begins(ready.tool.name)
        self._budget.tools_run += 1

    async def _run_begun(self, call: CallRow, ready: Ready) -> "_Outcome | SignInRequired":
        rules, started_at = self._rules, self._clock.now()

        async def process_started(process: ProcessInfo) -> None:
            await self._turns.record_process(call.call_id, process)

        live = None if self._show is None else LiveOutput(call.call_id, rules.pipeline.leaks, self._show)
        ended = Step(call.call_id, ready.tool.name, StepState.ENDED)
        try:
            result = await rules.pipeline.run(
                call,
                ready,
                rules.principal,
                rules.thread_id,
                process_started,
                self._budget.remaining_s(self._clock.monotonic_s()),
                rules.subtask,
                None if live is None else live.add,
            )
        except SignInRequired as needed:
            self._budget.tools_run -= 1  # it did not run
            result = needed
        self._tell(ended)
        self._loop.goes_on(ready.tool.name)
        if isinstance(result, SignInRequired):
            return result
        if call.edited_by is not None:
            result = replace(result, text=told_of_edit(call, result.text))
        return _Outcome(result, started_at)

    async def _record(self, call: CallRow, outcome: "_Outcome") -> None:
        async with self._recording:
            results, started_at = [outcome.result], outcome.started_at
            unattended = isinstance(self._rules.mode, Autonomous)
            self._reserved = await patiently(
                lambda: self._turns.finish_calls(
                    self._run_id, results, started_at=started_at, unattended=unattended
                ),
                self._clock,
            )
            self._recorded(outcome.result)
            self._statuses.append(outcome.result.status)
            self._waiting.remove(call)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A call's result, and when the call began, if it ran."""

    result: ToolResult
    started_at: int | None = None


def _is_new(call: CallRow) -> bool:
    return call.state is CallState.INTENT and call.answer is None


def _is_subtask(call: CallRow) -> bool:
    """Return whether the call, of which nobody has said anything yet, is a subtask."""
    return _is_new(call) and call.tool == DELEGATE


def told_of_edit(call: CallRow, result: str) -> str:
    """Return a result with a note on the edited arguments, since the model knows only its own version."""
    by = quoted(call.edited_by or "")
    return f"[{by} changed the arguments before approving; the call ran with: {call.arguments}]\n{result}"


def _needs_person(call: CallRow) -> _Outcome:
    return _Outcome(_result(call, ResultStatus.DENIED, f"{call.tool} needs a person's approval."))


def _result(call: CallRow, status: ResultStatus, text: str) -> ToolResult:
    return ToolResult(call.call_id, status, text)
