"""The calls a model requested, brought to their outcomes: prepared, approved, run, recorded."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from core.approvals import Preset
from core.events import Step, StepState
from core.gates import Chose, ConsentSettings, Option, Wrote
from core.names import quoted
from core.runs.approval_requests import ApprovalRequests, Asked
from core.runs.budget import LoopBudget, LoopEvents
from core.runs.loop import Paused
from core.runs.services import ChatServices
from core.store.engine import patiently
from core.store.rows import CallRow, CallState, TurnStart
from core.tool import Effect, ProcessInfo
from core.tools.pipeline import NeedsPerson, PutsQuestion, Ready, Refused
from core.transcript import ResultStatus, ToolResult
from core.users import Role

# Results made from people's words: an answer to a question, no answer in time, or edited arguments.
#
# A person's own words are not tool output: the model reads them as it reads messages, unfenced.

HELD_BACK = "Not answered: the reply was withheld ({reason}). Do not assume any answer."
NOT_ANSWERED = "Not answered: no one replied to the question in time. Do not assume any answer."


def told_of_edit(call: CallRow, result: str) -> str:
    """Return a result with a note on the edited arguments, since the model knows only its own version."""
    by = quoted(call.edited_by or "")
    return f"[{by} changed the arguments before approving; the call ran with: {call.arguments}]\n{result}"


def reply_result(call: CallRow) -> ToolResult | None:
    """Return the result of an answered or expired question. None for other calls and open questions."""
    match call.state, call.answer:
        case CallState.APPROVED, Chose(_, label):
            return _replied(call, f"{_who(call)} chose: {label}")
        case CallState.APPROVED, Wrote(text):
            return _replied(call, f"{_who(call)} answered: {text}")
        case CallState.DENIED, Option.SKIP:
            return ToolResult(call.call_id, ResultStatus.CANCELLED, NOT_ANSWERED)
        case _:
            return None


def held_back(call: CallRow, reason: str) -> ToolResult:
    """Return the result of a question whose answer a hook refused."""
    return ToolResult(call.call_id, ResultStatus.CANCELLED, HELD_BACK.format(reason=reason))


def denied(call: CallRow) -> ToolResult:
    """Return the result of a call that a person denied."""
    return ToolResult(call.call_id, ResultStatus.DENIED, f"Not run: denied by {_who(call, 'no one')}.")


def unknown(call: CallRow) -> ToolResult:
    """Return the result of an interrupted call, with a person's statement about it if there is one."""
    interrupted = f"The hub was interrupted while {call.tool} ran; it may or may not have taken effect."
    match call.answer:
        case Option.HAPPENED:
            status = ResultStatus.UNKNOWN
            said = f"{_who(call)} confirmed that it happened. Its output is lost."
        case Option.SKIP:
            status, said = ResultStatus.SKIPPED, f"{_who(call)} decided not to run it again."
        case _:
            status, said = ResultStatus.UNKNOWN, "No one has checked yet."
    return ToolResult(call.call_id, status, f"{interrupted} {said}")


def _replied(call: CallRow, text: str) -> ToolResult:
    return ToolResult(call.call_id, ResultStatus.OK, text)


def _who(call: CallRow, otherwise: str = "The person") -> str:
    return quoted(call.answered_by) if call.answered_by else otherwise


class ToolCallRunner:
    """The calls of one start of a turn.

    `waiting`: the calls without an outcome, in order.
    `journalled`: called with each result once it is recorded.
    `in_private`: returns whether no one else reads the conversation."""

    def __init__(
        self,
        services: ChatServices,
        start: TurnStart,
        asking: ApprovalRequests,
        budget: LoopBudget,
        loop: LoopEvents,
        waiting: Sequence[CallRow],
        journalled: Callable[[ToolResult], None],
        in_private: Callable[[], bool],
    ) -> None:
        self._in_private = in_private
        self._services = services
        self._start = start
        self._thread_id = start.thread.id
        self._asking = asking
        self._budget = budget
        self._loop = loop
        self._waiting = list(waiting)
        self._journalled = journalled
        self._statuses: list[ResultStatus] = []
        self._refused: list[ResultStatus] = []
        self._standing: ConsentSettings | None = None
        self._ran_since: int | None = None

    def add(self, call: CallRow) -> None:
        """Add a call after the others."""
        self._waiting.append(call)

    def refused(self, result: ToolResult) -> None:
        """Add the result of a call that was recorded together with its outcome."""
        self._journalled(result)
        self._refused.append(result.status)

    @property
    def all_failed(self) -> bool:
        """True if the last `settle` settled calls and every one of them failed."""
        return bool(self._statuses) and all(status is not ResultStatus.OK for status in self._statuses)

    async def settle(self) -> Paused | None:
        """Settle and record the calls in the model's order. Returns Paused if a person must answer first."""
        self._statuses, self._refused = self._refused, []
        if self._budget.rounds:
            await self._said()  # a resumed turn uses the limits in force now
        while self._waiting:
            settled = await self._settle(self._waiting[0])
            if isinstance(settled, Paused):
                return settled
            await self._record(settled)
            self._waiting.pop(0)
        return None

    async def _settle(self, call: CallRow) -> ToolResult | Paused:
        if self._services.answer_hook is not None and isinstance(call.answer, Wrote):
            heard = await self._services.answer_hook.heard(
                call.answer.text, self._start.principal.user_id, self._thread_id, self._start.thread.channel
            )
            if isinstance(heard, str):
                return held_back(call, heard)
            call = replace(call, answer=heard)
        replied = reply_result(call)
        if replied is not None:
            return replied
        match call.state:
            case CallState.DENIED:
                return denied(call)
            case CallState.RUNNING:
                await self._asking.what_happened(call)
                return Paused()
            case CallState.UNKNOWN if call.answer is not Option.RETRY:
                return unknown(call)
            case CallState.ENDED:
                return _result(call, ResultStatus.CANCELLED, "Not run.")
            case _:
                return await self._prepare_and_run(call)

    async def _prepare_and_run(self, call: CallRow) -> ToolResult | Paused:
        prepared = self._services.pipeline.prepare(
            call, self._start.principal, self._thread_id, await self._said()
        )
        match prepared:
            case Refused(result):
                return result
            case PutsQuestion(_, question):
                if question.replies.secret is not None and (refusal := self._unfit_for_secrets()) is not None:
                    return _result(call, ResultStatus.DENIED, refusal)
                await self._asking.put(call, prepared)
                return Paused()
            case NeedsPerson() | Ready():
                limit = self._budget.no_more_tools(self._services.clock.monotonic_s())
                if limit is not None:  # people are not asked about calls that will not run
                    return _result(call, ResultStatus.SKIPPED, limit.said)
                if isinstance(prepared, Ready):
                    return await self._run(call, prepared)
                await self._asking.about([Asked(call, prepared), *await self._others()])
                return Paused()
            case _:
                assert_never(prepared)

    async def _others(self) -> Sequence[Asked]:
        """Return the later calls that also need a person, within the number that may still run."""
        said, principal = await self._said(), self._start.principal
        found: list[Asked] = []
        for call in self._waiting[1 : self._budget.calls_left()]:
            if call.state is not CallState.INTENT:
                continue
            prepared = self._services.pipeline.prepare(call, principal, self._thread_id, said)
            if isinstance(prepared, NeedsPerson):
                found.append(Asked(call, prepared))
        return found

    def _unfit_for_secrets(self) -> str | None:
        """Return the reason for not asking for a credential here, or None if it may be asked for."""
        if self._start.principal.role is not Role.OWNER:
            return "Not asked: only the owner has a vault."
        if not self._in_private():
            return (
                "Not asked: other people can read this conversation. The person can ask for this in private."
            )
        return None

    async def _said(self) -> ConsentSettings:
        """Return the person's consent settings, loaded once per start of the turn."""
        if self._standing is None:
            services, principal = self._services, self._start.principal
            self._standing = await services.store.consents.standing(principal.user_id, self._thread_id)
            held = services.pipeline.laws.in_force(principal, self._standing)
            self._budget.limits, self._budget.counted = held.limits, held.preset is not Preset.AUTO
        return self._standing

    async def _run(self, call: CallRow, ready: Ready) -> ToolResult | Paused:
        services = self._services
        if ready.tool.effect is Effect.EFFECT:
            refusal = await self._mark_running(call, ready)
            if refusal is not None:
                return _result(call, ResultStatus.DENIED, f"Not run: {refusal}")
        self._tell(Step(call.call_id, ready.tool.name, StepState.STARTED))
        started_at, started_s = services.clock.now(), services.clock.monotonic_s()
        self._loop.begins(ready.tool.name)
        self._budget.tools_run += 1

        async def process_started(process: ProcessInfo) -> None:
            await services.store.turns.record_process(call.call_id, process)

        result = await services.pipeline.run(
            call,
            ready,
            self._start.principal,
            self._thread_id,
            process_started,
            self._budget.remaining_s(started_s),
        )
        self._tell(Step(call.call_id, ready.tool.name, StepState.ENDED))
        self._loop.goes_on(ready.tool.name)
        self._ran_since = started_at
        if result.status is ResultStatus.UNKNOWN and ready.tool.effect is Effect.EFFECT:
            await self._asking.what_happened(call)
            return Paused()
        return result if call.edited_by is None else replace(result, text=told_of_edit(call, result.text))

    async def _mark_running(self, call: CallRow, ready: Ready) -> str | None:
        services, turn_id = self._services, self._start.turn_id
        check = services.pipeline.recheck(self._thread_id, ready=ready)
        return await patiently(
            lambda: services.store.turns.mark_running(turn_id, call.call_id, check, limits=ready.tool.limits),
            services.clock,
        )

    async def _record(self, result: ToolResult) -> None:
        services = self._services
        started_at, self._ran_since = self._ran_since, None
        await patiently(
            lambda: services.store.turns.finish_calls(self._start.turn_id, [result], started_at=started_at),
            services.clock,
        )
        self._journalled(result)
        self._statuses.append(result.status)

    def _tell(self, event: Step) -> None:
        self._services.turns.turn_event(self._thread_id, self._start.turn_id, event)


def _result(call: CallRow, status: ResultStatus, text: str) -> ToolResult:
    return ToolResult(call.call_id, status, text)
