"""A run without a person to ask: each step recorded before the next, tools called in autonomous mode.

Runs of routines and jobs are such runs. After a crash a run resumes after its last recorded step: a call that
was running then has an unknown outcome and is not run again.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from itertools import pairwise

from core.approvals import LoopLimits
from core.clock import Clock
from core.consent.rules import Mode, for_subtask, going_without
from core.errors import HubError, StoreError, ToolDenied, ToolFailed
from core.events import RunResult
from core.gates import ConsentSettings
from core.ids import Ids
from core.lazy import dataclass
from core.messages import quoted
from core.model.base import ModelReply, ModelRequest
from core.runs.loop import (
    Answered,
    Exhausted,
    Limit,
    LoopBudget,
    LoopEvents,
    LoopOutcome,
    Paused,
    run_agentic_loop,
)
from core.runs.registry import Run
from core.runs.tool_calls import CallRules, ToolCallRunner
from core.runs.unseen_models import UnseenRun
from core.safety.fencing import FENCE_RULE
from core.store.port import Store
from core.store.routine_rows import RunSteps
from core.store.rows import CallRow, CallState, NewCall
from core.store.units import patiently
from core.tools.pipeline import CallPipeline
from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    ResultStatus,
    Said,
    ToolCalled,
    ToolResult,
    UserSaid,
    in_call_order,
)
from core.users import Principal

Unit = Callable[[Store], Awaitable[None]]
InForce = tuple[Mode, ConsentSettings]

SUBTASK_OUTPUT_TOKENS = 4096
RECORDED_WITHIN_S = 2
"""Time before the end of a run at which its call is stopped, so that the outcome is recorded."""


@dataclass(frozen=True, slots=True)
class UnattendedServices:
    """The services of every such run."""

    store: Store
    pipeline: CallPipeline
    clock: Clock
    ids: Ids


@dataclass(frozen=True, slots=True)
class UnattendedStart:
    """The beginning of one start of a run. `run`, `models`: as the registry and the meter know it.

    `consent_thread`: the thread whose grants hold, or a name for it.
    `steps`: the journal so far. `spent_us`: running time of earlier starts."""

    run: Run
    models: UnseenRun
    consent_thread: str
    owner: Principal
    standing: ConsentSettings
    steps: RunSteps
    mode: Mode
    rounds: int
    timeout_s: int
    max_output_tokens: int
    spent_us: int = 0

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.run.run_id


class UnattendedRun(ABC):
    """One start of a run, as the agentic loop's delegate; its state is a copy of the journal.

    `delegates`: it may have subtasks. `budget`: None for one of its own."""

    def __init__(
        self,
        services: UnattendedServices,
        start: UnattendedStart,
        *,
        delegates: bool = True,
        budget: LoopBudget | None = None,
    ) -> None:
        self._services = services
        self._start = start
        self._run = start.run
        self._models = start.models
        self._mode = going_without(start.mode, start.standing.left_out)
        self._standing = start.standing
        self._said: list[Said] = list(start.steps.said)
        self._offered = False
        self._budget = budget or _budget_of(start, services.clock)
        subtask = self._subtask if delegates else None
        self._calls = ToolCallRunner(
            CallRules(services.pipeline, start.owner, start.consent_thread, self._mode, self._held, subtask),
            services.store.turns,
            start.run_id,
            None,
            self._budget,
            LoopEvents(self._budget, _untold),
            services.clock,
            [call for call in start.steps.calls if call.state is not CallState.ENDED],
            self._said.append,
            _untold if start.run.pulse is None else start.run.pulse.step,
        )

    @abstractmethod
    def _reserve(self, tokens: int) -> int:
        """Return the number of tokens a reply may use, at most `tokens`. Raises HubError if none are left."""

    @abstractmethod
    def _prompt(self, with_tools: bool) -> str:
        """Return the system prompt of a request with or without tools."""

    async def reply(self) -> ModelReply:
        """Return the model's words, once it makes no more calls. Raises ModelError, BudgetUsedUp, what
        `_reserve` raises, StoreError."""
        match await run_agentic_loop(self):
            case Answered(reply):
                return reply
            case Paused():
                raise AssertionError("an unattended run never waits for a person")

    # --- calls -----------------------------------------------------------------------------------------

    async def settle_calls(self) -> Paused | None:
        return await self._calls.settle()

    async def join_input(self) -> bool:
        """Return False: the run has no input but its beginning."""
        return False

    async def _held(self) -> ConsentSettings:
        return self._standing

    async def _in_force(self) -> InForce:
        """Return the mode and the consent settings that hold from this round on."""
        return self._mode, self._standing

    async def _subtask(self, call_id: str, task: str, tools: Sequence[str] | None) -> str:
        start = self._start
        whole = Whole(
            start.owner,
            start.consent_thread,
            self._run,
            self._models,
            self._budget,
            self.limit_reached,
            self._reserve,
            self._in_force,
        )
        return await carry_out(self._services, whole, call_id, task, tools)

    def last_batch_failed(self) -> bool:
        return self._calls.all_failed

    # --- limits ----------------------------------------------------------------------------------------

    def limit_reached(self) -> Exhausted | None:
        rounds = self._start.rounds
        if self._budget.rounds < rounds:
            return None
        return Exhausted(Limit.ROUNDS, f"The run has reached its limit of {rounds} rounds of tool calls.")

    async def at_limit(self, limit: Exhausted) -> None:
        # The run ends with final words; no person is asked.
        del limit

    def ended(self, outcome: LoopOutcome | None) -> None:
        # The end is recorded by the caller.
        del outcome

    def failed(self) -> None:
        # As in `ended`.
        return

    # --- the model -------------------------------------------------------------------------------------

    def offered_tools(self) -> bool:
        return self._offered

    async def _judge_anew(self) -> None:
        """Judge calls from here on by the mode and the settings that hold now."""
        mode, self._standing = await self._in_force()
        self._mode = going_without(mode, self._standing.left_out)
        self._calls.judge_in(self._mode)

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        await self._judge_anew()
        request = self._request(with_tools=with_tools)
        self._offered = bool(request.tools)
        self._models.models.meter.hold(self._calls.take_reserved())
        pulse = self._run.pulse
        with nullcontext() if pulse is None else pulse.model(self._start.run_id):
            return await self._models.reply(request, self._reserve)

    def _request(self, *, with_tools: bool) -> ModelRequest:
        pipeline, start = self._services.pipeline, self._start
        tools = pipeline.offered(start.owner, self._standing.disabled, self._mode) if with_tools else ()
        return ModelRequest(
            system=self._prompt(bool(tools)),
            conversation=tuple(in_call_order(self._said)),
            tools=tools,
            max_output_tokens=start.max_output_tokens,
        )

    async def record_calls(self, reply: ModelReply) -> None:
        services, start = self._services, self._start
        self._budget.rounds += 1
        intents = await services.pipeline.intents(
            reply.calls, start.owner, start.consent_thread, self._budget.rounds, services.ids
        )
        calls, ended = intents.calls, {result.call_id for result in intents.refused}
        said = AssistantSaid(reply.text, reply.origin)
        await self._record(said, calls, intents.refused)
        for call in calls:
            self._said.append(ToolCalled(call.call_id, call.tool, call.arguments))
            if call.call_id in ended:
                continue
            self._calls.add(
                CallRow(
                    call.call_id, start.run_id, 0, call.tool, call.arguments, CallState.INTENT, call.effect
                )
            )
        for result in intents.refused:
            self._calls.refused(result)

    async def record_note(self, reply: ModelReply | None, note: str) -> None:
        if reply is not None and reply.text:
            await self._record(AssistantSaid(reply.text, reply.origin), [])
        await self._kept(lambda store: store.turns.record_notes(self._start.run_id, [Note(note)]))
        self._said.append(Note(note))

    def transcript(self) -> Sequence[Entry]:
        # A run's steps belong to no conversation.
        return ()

    async def _record(
        self, said: AssistantSaid, calls: Sequence[NewCall], refused: Sequence[ToolResult] = ()
    ) -> None:
        run_id, models = self._start.run_id, self._run.trace()
        await self._kept(
            lambda store: store.turns.record_reply_and_intents(
                run_id, said, calls, refused=refused, models=models
            )
        )
        self._run.kept(models)
        self._said.append(said)

    async def _kept(self, unit: Unit) -> None:
        store = self._services.store
        await patiently(lambda: unit(store), self._services.clock)


def _untold(event: object) -> None:
    """Ignore an event: no one watches the run."""
    del event


def _budget_of(start: UnattendedStart, clock: Clock) -> LoopBudget:
    seconds = max(1, start.timeout_s - RECORDED_WITHIN_S)
    return LoopBudget(
        LoopLimits(max_rounds=start.rounds, loop_timeout_s=seconds),
        rounds=_rounds(start.steps.said) + start.steps.subtask_rounds,
        tools_run=0,
        spent_us=start.spent_us,
        started_s=clock.monotonic_s(),
        counted=False,
    )


def _rounds(said: Sequence[Said]) -> int:
    """Return the number of replies with calls."""
    return sum(
        isinstance(one, AssistantSaid) and isinstance(then, ToolCalled) for one, then in pairwise(said)
    )


# Subtasks: runs that carry out one call of another run, within its limits, at its expense.


@dataclass(frozen=True, slots=True)
class Whole:
    """The run that a subtask is a part of. The subtask is never wider, and spends what the run may spend.

    `limit_reached`, `reserve`: see LoopDelegate and UnattendedRun. `in_force`: returns its mode and the
    person's consent settings, as they are now."""

    principal: Principal
    consent_thread: str
    run: Run
    models: UnseenRun
    budget: LoopBudget
    limit_reached: Callable[[], Exhausted | None]
    reserve: Callable[[int], int]
    in_force: Callable[[], Awaitable[InForce]]


class _Subtask(UnattendedRun):
    """One start of a subtask."""

    def __init__(
        self, services: UnattendedServices, start: UnattendedStart, whole: Whole, tools: frozenset[str]
    ) -> None:
        super().__init__(services, start, delegates=False, budget=whole.budget)
        self._whole = whole
        self._tools = tools

    def _reserve(self, tokens: int) -> int:
        return self._whole.reserve(tokens)

    def limit_reached(self) -> Exhausted | None:
        return self._whole.limit_reached()

    async def _in_force(self) -> InForce:
        mode, standing = await self._whole.in_force()
        return for_subtask(mode, self._tools), standing

    async def result(self) -> str:
        """Return its last words with remarks, once they are recorded. Raises ToolFailed, and StoreError."""
        run, store = self._run, self._services.store
        try:
            reply = await self.reply()
            remarks = remarks_of(await store.journal.run_steps(run.run_id))
            text = "\n".join([reply.text.strip() or "Done.", *(f"- {remark}" for remark in remarks)])
            said, trace = AssistantSaid(text, reply.origin), run.trace()
            await self._kept(lambda store: store.journal.end_subtask(run.run_id, said, trace))
            run.kept(trace)
        except StoreError:
            raise
        except HubError as error:
            raise ToolFailed(f"{error}\n\n{partial_result(self._said)}") from error
        finally:
            self._models.models.meter.hand_over()
        run.result = RunResult.SUCCESS
        return text

    def _prompt(self, with_tools: bool) -> str:
        tools = (
            "Only the tools on offer are available; don't repeat a refused call."
            if with_tools
            else "You can't use tools any more: say what was done and what is left."
        )
        alone = (
            "You are working on one part of a larger task by yourself. There is no one to answer questions "
            "or to approve anything."
        )
        end = (
            "Your last words are returned to the assistant that gave you this part. Never claim to have done "
            "something that no tool result shows, and say what is left undone."
        )
        return f"{alone} {tools} {FENCE_RULE}\n\n{end}"


async def carry_out(
    services: UnattendedServices, whole: Whole, call_id: str, task: str, tools: Sequence[str] | None
) -> str:
    """Carry out the subtask of a run's call, from its beginning or its last recorded step, and return its
    result. Raises ToolError, and StoreError."""
    mode, standing = await whole.in_force()
    has = services.pipeline.delegable(whole.principal, standing.disabled, mode)
    if refused := sorted(set(tools or ()) - has):
        names = ", ".join(quoted(name[:64]) for name in refused[:5])
        raise ToolDenied(f"a subtask has only tools that you have, and none that asks a person; not {names}")
    journal = services.store.journal
    if not (await journal.run_steps(call_id)).said:  # it begins, which counts as a round
        if (limit := whole.limit_reached()) is not None:
            raise ToolDenied(limit.said)
        whole.budget.rounds += 1
    begun = await patiently(lambda: journal.begin_subtask(call_id, UserSaid(task)), services.clock)
    if begun.answer is not None:
        return begun.answer
    given = has if tools is None else frozenset(tools)
    models = whole.models.of_subtask(begun.reserved)
    with whole.run.subtask(call_id, models.models) as run:
        start = UnattendedStart(
            run,
            models,
            whole.consent_thread,
            whole.principal,
            standing,
            begun.steps,
            for_subtask(mode, given),
            whole.budget.limits.max_rounds,
            whole.budget.limits.loop_timeout_s,
            SUBTASK_OUTPUT_TOKENS,
        )
        return await _Subtask(services, start, whole, given).result()


def partial_result(said: Sequence[Said]) -> str:
    """Return what a journal shows of work that was cut short: its last words, and how its calls went."""
    words = [one.text.strip() for one in said if isinstance(one, AssistantSaid) and one.text.strip()]
    results = [one.status for one in said if isinstance(one, ToolResult)]
    well = sum(status is ResultStatus.OK for status in results)
    counted = f"{len(results)} tool calls were made, {well} of them without an error."
    return "\n\n".join([*words[-1:], counted])


# Notes for the owner next to the result: calls nobody could approve, and calls with an unknown outcome. Made
# from the run's recorded steps, so that they are the same after a crash.

MOST = 5
SHOWN_CHARS = 300


def remarks_of(steps: RunSteps) -> tuple[str, ...]:
    """Return the remarks, a sentence each, in order."""
    tools = {call.call_id: call.tool for call in steps.calls}
    remarks: list[str] = []
    for said in steps.said:
        if not isinstance(said, ToolResult):
            continue
        tool = tools.get(said.call_id, "")
        if said.status is ResultStatus.DENIED:
            remarks.append(f"{tool} did not run: " + said.text.partition("\n")[0][:SHOWN_CHARS])
        elif said.status is ResultStatus.UNKNOWN:
            remarks.append(_unknown(tool))
    remarks += [_unknown(call.tool) for call in steps.calls if call.state is CallState.RUNNING]
    return tuple(dict.fromkeys(remarks))[:MOST]


def _unknown(tool: str) -> str:
    return f"{tool} was interrupted. It may or may not have taken effect, and it was not run again."
