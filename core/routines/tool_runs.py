"""A run's conversation with the model: each step recorded before the next, tools called in a scope fixed
when the run began, with no person to ask.

Calls go through core.tools.pipeline in autonomous mode. After a crash a run resumes after its last
recorded step:
a call that was running then has an unknown outcome and is not run again.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import cast

from core.approvals import LoopLimits
from core.clock import Clock
from core.consent.facts import Autonomous, ScopeGrant
from core.gates import ConsentSettings
from core.ids import Ids
from core.model.base import ModelReply, ModelRequest
from core.routine import Lightweight
from core.routines.budget import SpentSoFar
from core.routines.definitions import definition_of
from core.routines.run import Asked, system_text, user_text
from core.runs.budget import Exhausted, Limit, LoopBudget, LoopEvents
from core.runs.loop import Answered, LoopOutcome, Paused, run_agentic_loop
from core.runs.tool_calls import CallRules, ToolCallRunner
from core.runs.unseen_models import UnseenRun
from core.store.port import Store
from core.store.routine_rows import RunSteps, StartedRun
from core.store.rows import CallRow, CallState, NewCall
from core.store.units import patiently
from core.tools.pipeline import CallPipeline
from core.tools.prepared import Refused
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

# The scope of a run, fixed when it began.


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a run. `tools`: all its tools; `grants`: see core.routine.Lightweight; `rounds`: of
    calls."""

    tools: tuple[str, ...]
    grants: tuple[str, ...]
    rounds: int

    @property
    def mode(self) -> Autonomous:
        """The mode its calls are judged in."""
        pairs = (grant.partition(" ") for grant in self.grants)
        grants = tuple(ScopeGrant(tool, pattern) for tool, _, pattern in pairs)
        return Autonomous((frozenset(self.tools),), grants)


def scope_of(action: Lightweight, unattended: Iterable[str]) -> Scope:
    """Return what a routine's action gives its runs. `unattended`: the tools it has without naming them."""
    tools = tuple(dict.fromkeys([*unattended, *action.allowed_tools]))
    return Scope(tools, action.grants, action.max_tool_rounds)


NO_TOOLS = Scope((), (), rounds=0)


def scope_to_json(scope: Scope) -> str:
    """Return the scope as stored."""
    return json.dumps({"tools": scope.tools, "grants": scope.grants, "rounds": scope.rounds})


def scope_from_json(text: str) -> Scope:
    """Read the output of `scope_to_json`."""
    kept = cast("Mapping[str, list[str]]", json.loads(text))
    return Scope(tuple(kept["tools"]), tuple(kept["grants"]), int(cast("int", kept["rounds"])))


logger = logging.getLogger(__name__)

Unit = Callable[[Store], Awaitable[None]]

RECORDED_WITHIN_S = 2
"""Time before the end of a run at which its call is stopped, so that the outcome is recorded."""


@dataclass(frozen=True, slots=True)
class ToolRunServices:
    """The services of every run."""

    store: Store
    pipeline: CallPipeline
    clock: Clock
    ids: Ids


class ToolRuns:
    """Implementation of core.routines.run.ScopedTools."""

    def __init__(self, services: ToolRunServices) -> None:
        self._services = services

    async def begin(
        self, asked: Asked, started: StartedRun, owner: Principal, models: UnseenRun, spent: SpentSoFar
    ) -> "ToolRun":
        """Return the run's conversation, at its beginning or at the interruption. Raises StoreError."""
        services, run_id = self._services, started.run.id
        steps = await services.store.journal.run_steps(run_id)
        if steps.scope is None:
            tools = asked.action.use_tools
            scope = scope_of(asked.action, services.pipeline.unattended(owner)) if tools else NO_TOOLS
            question = UserSaid(user_text(asked))
            await patiently(
                lambda: services.store.journal.open_run_journal(run_id, scope_to_json(scope), question),
                services.clock,
            )
            steps = replace(steps, scope=scope_to_json(scope), said=(question,))
        standing = await services.store.journal.run_standing(owner.user_id, started.routine.thread_id)
        return ToolRun(services, asked, started, steps, owner, standing, models, spent)

    async def missing_grants(self, started: StartedRun, owner: Principal, steps: RunSteps) -> tuple[str, ...]:
        """Return the grants whose absence denied calls. They are judged again, so that a crash
        loses none."""
        if steps.scope is None:
            return ()
        thread_id, mode = thread_of(started), scope_from_json(steps.scope).mode
        standing = await self._services.store.journal.run_standing(owner.user_id, started.routine.thread_id)
        denied = {
            said.call_id
            for said in steps.said
            if isinstance(said, ToolResult) and said.status is ResultStatus.DENIED
        }
        missing: dict[str, None] = {}
        for call in steps.calls:
            if call.call_id in denied:
                prepared = self._services.pipeline.prepare(call, owner, thread_id, standing, mode)
                if isinstance(prepared, Refused):
                    missing |= dict.fromkeys(f"{call.tool} {pattern}" for pattern in prepared.grants)
        return tuple(missing)


class ToolRun:
    """One start of a run, as the agentic loop's delegate; its state is a copy of the journal."""

    def __init__(
        self,
        services: ToolRunServices,
        asked: Asked,
        started: StartedRun,
        steps: RunSteps,
        owner: Principal,
        standing: ConsentSettings,
        models: UnseenRun,
        spent: SpentSoFar,
    ) -> None:
        self._services = services
        self._asked = asked
        self._run_id = started.run.id
        self._thread_id = thread_of(started)
        self._scope = scope_from_json(steps.scope or "")
        self._owner = owner
        self._standing = standing
        self._models = models
        self._spent = spent
        self._said: list[Said] = list(steps.said)
        self._offered = False
        guardrails = definition_of(started.routine).guardrails
        self._budget = LoopBudget(
            LoopLimits(
                max_rounds=self._scope.rounds, loop_timeout_s=guardrails.timeout_s - RECORDED_WITHIN_S
            ),
            rounds=_rounds(steps.said),
            tools_run=0,
            spent_us=0,
            started_s=services.clock.monotonic_s(),
            counted=False,
        )
        self._calls = ToolCallRunner(
            CallRules(services.pipeline, owner, self._thread_id, self._scope.mode, self._held),
            services.store.turns,
            self._run_id,
            None,
            self._budget,
            LoopEvents(self._budget, _untold),
            services.clock,
            [call for call in steps.calls if call.state is not CallState.ENDED],
            self._said.append,
            _untold,
        )

    async def reply(self) -> ModelReply:
        """Return the model's words, once it makes no more calls. Raises ModelError, OutOfBudget,
        StoreError."""
        match await run_agentic_loop(self):
            case Answered(reply):
                return reply
            case Paused():
                raise AssertionError("an unattended run never waits for a person")

    # --- calls -----------------------------------------------------------------------------------------

    async def settle_calls(self) -> Paused | None:
        return await self._calls.settle()

    async def join_input(self) -> bool:
        """Return False: a run has no input but its trigger."""
        return False

    async def _held(self) -> ConsentSettings:
        return self._standing

    def last_batch_failed(self) -> bool:
        return self._calls.all_failed

    # --- limits ----------------------------------------------------------------------------------------

    def limit_reached(self) -> Exhausted | None:
        if self._budget.rounds < self._scope.rounds:
            return None
        return Exhausted(
            Limit.ROUNDS, f"The run has reached its limit of {self._scope.rounds} rounds of tool calls."
        )

    async def at_limit(self, limit: Exhausted) -> None:
        # The run ends with final words; no person is asked.
        del limit

    def ended(self, outcome: LoopOutcome | None) -> None:
        # The end is recorded by the caller.
        del outcome

    def failed(self) -> None:
        pass

    # --- the model -------------------------------------------------------------------------------------

    def offered_tools(self) -> bool:
        return self._offered

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        pipeline, mode = self._services.pipeline, self._scope.mode
        tools = pipeline.offered(self._owner, self._standing.disabled, mode) if with_tools else ()
        self._offered = bool(tools)
        request = ModelRequest(
            system=system_text(self._asked, with_tools=bool(tools)),
            conversation=tuple(in_call_order(self._said)),
            tools=tools,
            max_output_tokens=self._asked.action.max_tokens,
        )
        return await self._models.reply(request, self._spent.reserve)

    async def record_calls(self, reply: ModelReply) -> None:
        services = self._services
        self._budget.rounds += 1
        intents = await services.pipeline.intents(
            reply.calls, self._owner, self._thread_id, self._budget.rounds, services.ids
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
                    call.call_id, self._run_id, 0, call.tool, call.arguments, CallState.INTENT, call.effect
                )
            )
        for result in intents.refused:
            self._calls.refused(result)

    async def record_note(self, reply: ModelReply | None, note: str) -> None:
        if reply is not None and reply.text:
            await self._record(AssistantSaid(reply.text, reply.origin), [])
        await self._kept(lambda store: store.turns.record_notes(self._run_id, [Note(note)]))
        self._said.append(Note(note))

    def transcript(self) -> Sequence[Entry]:
        # A run's steps belong to no thread.
        return ()

    async def _record(
        self, said: AssistantSaid, calls: Sequence[NewCall], refused: Sequence[ToolResult] = ()
    ) -> None:
        spent = self._spent.total
        await self._kept(
            lambda store: store.journal.record_run_reply(self._run_id, said, calls, spent, refused=refused)
        )
        self._said.append(said)

    async def _kept(self, unit: Unit) -> None:
        store = self._services.store
        await patiently(lambda: unit(store), self._services.clock)


def _untold(event: object) -> None:
    """Ignore an event: a routine's run has no watchers."""
    del event


def thread_of(started: StartedRun) -> str:
    """Return the thread whose grants hold for a run, or a name for it."""
    return started.routine.thread_id or f"routine:{started.routine.id}"


def _rounds(said: Sequence[Said]) -> int:
    """Return the number of replies with calls."""
    return sum(
        isinstance(one, AssistantSaid) and isinstance(then, ToolCalled) for one, then in pairwise(said)
    )


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
            remarks.append(f"{tool} did not run: {_first_line(said.text)}")
        elif said.status is ResultStatus.UNKNOWN:
            remarks.append(_unknown(tool))
    remarks += [_unknown(call.tool) for call in steps.calls if call.state is CallState.RUNNING]
    return tuple(dict.fromkeys(remarks))[:MOST]


def _unknown(tool: str) -> str:
    return f"{tool} was interrupted. It may or may not have taken effect, and it was not run again."


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:SHOWN_CHARS]
