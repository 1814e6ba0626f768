"""The one path of every call: lookup, validate, decide, and all of it again at execution.

A refusal at any point is the call's result, in words the model can use. Nothing is skipped
after a person's decision.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Collection, Sequence
from copy import copy
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from core.clock import Clock
from core.consent import card_texts
from core.consent.cards import detail_of_call
from core.consent.decide import binding_hash, decide, not_active, same_binding
from core.consent.rules import (
    Allow,
    Ask,
    Autonomous,
    CallFacts,
    Decision,
    Deny,
    EffectivePolicy,
    Interactive,
    Mode,
    for_subtask,
    still_granted,
)
from core.errors import InvalidArguments, ToolNotFound
from core.extension import is_of_server
from core.gates import ConsentSettings, Grant, Option
from core.ids import Ids
from core.lazy import dataclass
from core.model.base import CallRequest, ToolSpec
from core.safety.fencing import ResultLimits, read_arguments
from core.store.effects import EditRefused
from core.store.port import RunCheck
from core.store.rows import CallRow, CallState
from core.tool import (
    TOOLS_PAUSED,
    Arguments,
    CallPlan,
    Effect,
    ProcessInfo,
    RunningCall,
    Subtask,
    Tool,
    Workspace,
)
from core.tools.execution import Executor, HostExecutor, ToolPause
from core.tools.registry import (
    CallHook,
    Intents,
    NeedsPerson,
    Prepared,
    PutsQuestion,
    Ready,
    Refused,
    ToolRegistry,
    facts_of,
    journalled,
    needs_person,
    ready_or_question,
    under_grants,
)
from core.transcript import ResultStatus, ToolResult
from core.users import Principal
from core.web import UNINTERCEPTED, Interceptor

if TYPE_CHECKING:
    from core.tools.sign_in import SignIns

# Compares an approval with the call as it would run now.

_APPROVING = frozenset({Option.APPROVE, Option.ALWAYS, Option.SESSION})


def approved(call: CallRow, binding: str) -> bool:
    """Return whether a person approved this very call: the same arguments and files, for the same person,
    here."""
    if call.answer is Option.RETRY and call.state is CallState.UNKNOWN:
        return True
    if call.answer not in _APPROVING or call.binding is None:
        return False
    return same_binding(call.binding, binding)


def outdated(call: CallRow, binding: str) -> str:
    """Return the reason an approval no longer covers the call; empty without an approval."""
    if call.answer not in _APPROVING or call.binding is None:
        return ""
    same_call = same_binding(call.binding.partition(".")[0], binding.partition(".")[0])
    return card_texts.FILE_CHANGED if same_call else card_texts.CALL_CHANGED


INTERACTIVE = Interactive()
_PLAN_CHANGED = "a file it uses changed while it was starting; call it again."
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Settings of the pipeline. `tool_timeout_s`: the limit of tools without one of their own, see
    `EffectivePolicy` for others. `binding_key`: secret. `workspaces`: the one that a person's calls
    work in; None: all do in `workspace`, the hub's own."""

    effective_policy: EffectivePolicy
    binding_key: bytes
    workspace: Workspace
    tool_timeout_s: float
    result_limits: ResultLimits
    executor: Executor = field(default_factory=HostExecutor)
    interceptor: Interceptor = UNINTERCEPTED
    workspaces: Callable[[Principal], Workspace] | None = None


class CallPipeline:
    """Preparation, check and run of calls. `effective_policy`: the rules they are judged by. `sign_ins`: None
    where no server can be signed in to. `workspace`: the hub's own."""

    def __init__(
        self,
        registry: ToolRegistry,
        settings: PipelineSettings,
        clock: Clock,
        pause: ToolPause | None = None,
        hook: CallHook | None = None,
        sign_ins: "SignIns | None" = None,
    ) -> None:
        self._registry = registry
        self._hook = hook
        self._settings = settings
        self._clock = clock
        self.workspace = settings.workspace
        self._workspaces = settings.workspaces or settings.workspace.for_everyone
        self._executor = settings.executor
        self.leaks = settings.result_limits.leaks
        self.effective_policy = settings.effective_policy
        self.pause = pause or ToolPause()
        self.sign_ins = sign_ins

    def workspace_of(self, principal: Principal) -> Workspace:
        """Return the workspace of a person's calls."""
        return self._workspaces(principal)

    def within(self, workspace: Workspace) -> "CallPipeline":
        """Return this pipeline for runs in another workspace: their calls are judged, bound and run there."""
        other = copy(self)
        other.workspace, other._workspaces = workspace, workspace.for_everyone
        return other

    def offered(
        self, principal: Principal, disabled: frozenset[str] = frozenset(), mode: Mode = INTERACTIVE
    ) -> Sequence[ToolSpec]:
        """Return the tools offered to a model working for `principal`. `disabled`: by the person."""
        return self._registry.specs(principal, mode, self.effective_policy.policy(), disabled)

    def unattended(self, principal: Principal) -> Sequence[str]:
        """Return the names of the tools that a run without a person may use without being named for it:
        those that need no approval, ask nothing and aren't denylisted."""
        visible = self._registry.visible_tools(principal, Autonomous(()), self.effective_policy.policy())
        return tuple(tool.name for tool in visible if tool.asks is None)

    def workable(self, principal: Principal) -> frozenset[str]:
        """Return the names of all tools that a run without a person may be given by name."""
        every = Autonomous((frozenset(self._registry.names),))
        visible = self._registry.visible_tools(principal, every, self.effective_policy.policy())
        return frozenset(tool.name for tool in visible if tool.asks is None)

    def delegable(self, principal: Principal, disabled: frozenset[str], mode: Mode) -> frozenset[str]:
        """Return the names of all tools that a subtask of a run in that mode may be given."""
        policy = self.effective_policy.policy()
        every = for_subtask(mode, frozenset(self._registry.names))
        visible = self._registry.visible_tools(principal, every, policy, disabled)
        return frozenset(tool.name for tool in visible if tool.asks is None)

    def effect_of(self, name: str) -> Effect:
        """Return the effect of running a call of this name twice; a tool that doesn't exist has no effect."""
        try:
            return self._registry.lookup(name).effect
        except ToolNotFound:
            return Effect.NONE

    async def intents(
        self, requests: Sequence[CallRequest], principal: Principal, thread_id: str, loop_round: int, ids: Ids
    ) -> Intents:
        """Return the intents of a reply's calls: hooks are asked here, once."""
        return await journalled(requests, self._registry, self._hook, principal, thread_id, loop_round, ids)

    def judged(self, name: str, principal: Principal, standing: ConsentSettings, mode: Mode) -> Decision:
        """Return the decision on a call of a tool whose arguments carry no risk. Raises ToolNotFound."""
        facts = facts_of(self._registry.lookup(name))
        call = CallFacts(
            facts, "", self._clock.now(), grants=standing.grants, setting=standing.settings.get(name)
        )
        return decide(call, principal, mode, self.effective_policy.policy_for(principal, standing))

    def rates(self, name: str) -> bool:
        """Return whether calls of a tool are rated by their arguments. Raises ToolNotFound."""
        return facts_of(self._registry.lookup(name)).rated

    def required(self, name: str) -> Sequence[str]:
        """Return the arguments that each call of a tool has. Raises ToolNotFound."""
        return tuple(self._registry.lookup(name).parameters.get("required", ()))

    def sensitive(self, name: str) -> frozenset[str]:
        """Return the arguments of the tool of this name that are never shown."""
        try:
            return self._registry.lookup(name).sensitive
        except ToolNotFound:
            return frozenset()

    def shown(self, call: CallRow) -> str:
        """Return the call's arguments as people see them, even if its tool is gone."""
        try:
            return detail_of_call(call, self._registry.lookup(call.tool))
        except ToolNotFound:
            return detail_of_call(call, None)

    def argument_names(self, name: str) -> Collection[str]:
        """Return the argument names of the tool."""
        try:
            return self._registry.lookup(name).parameters.get("properties", {}).keys()
        except ToolNotFound:
            return ()

    def prepare(
        self,
        call: CallRow,
        principal: Principal,
        thread_id: str,
        standing: ConsentSettings,
        mode: Mode = INTERACTIVE,
    ) -> Prepared:
        """Return the next step for a call, given a person's decision so far."""
        if self.pause.paused:
            return Refused(_result(call, ResultStatus.DENIED, f"Not run: {TOOLS_PAUSED}."))
        try:
            return self._prepared(call, principal, thread_id, standing, mode)
        except ToolNotFound as error:
            if isinstance(mode, Autonomous) and is_of_server(call.tool):
                gone = not_active(call.tool[:80])
                return Refused(_result(call, ResultStatus.DENIED, gone.text), gone.reason)
            return Refused(_result(call, ResultStatus.ERROR, str(error)))
        except InvalidArguments as error:
            text = f"{call.tool} was not run: its arguments are not valid. {error}"
            return Refused(_result(call, ResultStatus.ERROR, text))
        except BaseException:  # a tool's own code, which waits for nothing: no caller cancelled it
            logger.exception("call.check_crashed call=%s tool=%s", call.call_id, call.tool)
            text = f"{call.tool} was not run: checking its arguments failed unexpectedly."
            return Refused(_result(call, ResultStatus.ERROR, text))

    def _prepared(
        self, call: CallRow, principal: Principal, thread_id: str, standing: ConsentSettings, mode: Mode
    ) -> Prepared:
        """Prepare a call. Raises ToolNotFound, InvalidArguments, and any exception of the tool's own code."""
        tool, arguments = self._read(call)
        plan = self._executor.plan(tool, arguments, self.workspace_of(principal))
        timeout_s = tool.timeout_s or self._settings.tool_timeout_s
        timeout_s = self.effective_policy.in_force(principal, standing).timeout_s(tool.name, timeout_s)
        ready = ready_or_question(tool, arguments, timeout_s, plan, mode)
        decision = self._decide(tool, arguments, plan, principal, thread_id, standing, mode)
        match decision:
            case Deny():
                return Refused(
                    _result(call, ResultStatus.DENIED, decision.text), decision.reason, decision.grants
                )
            case Allow(grants):
                return under_grants(ready, grants)
            case Ask():
                binding = self._binding(tool, arguments, plan, principal, thread_id)
                if approved(call, binding):
                    return ready
                again = outdated(call, binding)
                asked = replace(decision, reason=f"{decision.reason} {again}".strip()) if again else decision
                return needs_person(tool, arguments, plan, asked, binding, again)

    def prepare_edit(
        self, call: CallRow, principal: Principal, thread_id: str, standing: ConsentSettings
    ) -> NeedsPerson | EditRefused:
        """Return the gate for a call whose arguments a person edited; it opens even where none was needed.
        Raises ToolNotFound,
        InvalidArguments."""
        tool, arguments = self._read(call)
        if tool.sensitive:
            return EditRefused(f"{tool.name} has arguments that are not shown, so it can't be edited here.")
        plan = self._executor.plan(tool, arguments, self.workspace_of(principal))
        decision = self._decide(tool, arguments, plan, principal, thread_id, standing)
        match decision:
            case Deny():
                return EditRefused(decision.text)
            case Allow():
                asked = Ask("", allow_always=False)
            case Ask():
                asked = decision
        binding = self._binding(tool, arguments, plan, principal, thread_id)
        return needs_person(tool, arguments, plan, asked, binding)

    def recheck(self, thread_id: str, mode: Mode = INTERACTIVE, ready: Ready | None = None) -> RunCheck:
        """Judge again inside the transaction that marks the call running, on the facts then.

        `ready`: what will run; its plan must still be the call's.
        """

        def check(call: CallRow, principal: Principal, standing: ConsentSettings) -> str | tuple[Grant, ...]:
            match self.prepare(call, principal, thread_id, standing, mode):
                case Ready(plan=plan, grants=grants):
                    return grants if ready is None or _same_plan(ready.plan, plan) else _PLAN_CHANGED
                case Refused(result):
                    return result.text
                case PutsQuestion():
                    return "only a person can answer it"
                case NeedsPerson(again=again):
                    return f"the approval does not cover the call as it would run now. {again}".strip()

        return check

    async def run(
        self,
        call: CallRow,
        ready: Ready,
        principal: Principal,
        thread_id: str,
        process_started: Callable[[ProcessInfo], Awaitable[None]],
        remaining_s: float = math.inf,
        subtask: Subtask | None = None,
        show: Callable[[bytes], None] | None = None,
    ) -> ToolResult:
        """Run a prepared call to its one result. Raises SignInRequired if it did not run for that reason, and
        StoreError if a record could not be written.

        `remaining_s`: the rest of the turn's time, which no call outlasts. `subtask`: None where nothing can
        be delegated. `show`: takes the output as the tool writes it.
        """
        settings, tool, workspace = self._settings, ready.tool, self.workspace_of(principal)
        timeout_s = max(0.0, min(ready.timeout_s, remaining_s))
        context = RunningCall(
            principal,
            thread_id,
            call.call_id,
            workspace,
            timeout_s,
            settings.interceptor,
            process_started,
            subtask,
            show,
        )
        return await self._executor.run(
            call.call_id,
            tool,
            ready.arguments,
            context,
            self._clock,
            settings.result_limits,
            self.pause,
            ready.plan,
        )

    def _read(self, call: CallRow) -> tuple[Tool, Arguments]:
        tool = self._registry.lookup(call.tool)
        return tool, tool.validate(read_arguments(call.arguments))

    def _decide(
        self,
        tool: Tool,
        arguments: Arguments,
        plan: CallPlan | None,
        principal: Principal,
        thread_id: str,
        standing: ConsentSettings,
        mode: Mode = INTERACTIVE,
    ) -> Decision:
        operation, method = arguments.get("operation"), arguments.get("method")
        workspace = self.workspace_of(principal)
        facts = CallFacts(
            tool=facts_of(tool),
            thread_id=thread_id,
            now=self._clock.now(),
            risk=plan.risk if plan is not None else self._executor.rate(tool, arguments, workspace),
            operation=operation if isinstance(operation, str) else "",
            method=method if isinstance(method, str) else None,
            grants=standing.grants,
            setting=standing.settings.get(tool.name),
        )
        mode = still_granted(mode, standing.own)
        return decide(facts, principal, mode, self.effective_policy.policy_for(principal, standing))

    def _binding(
        self, tool: Tool, arguments: Arguments, plan: CallPlan | None, principal: Principal, thread_id: str
    ) -> str:
        """Return the call's hash, followed by the hash of the call with its files, if it has any."""
        workspace = self.workspace_of(principal)
        hashed = partial(
            binding_hash,
            self._settings.binding_key,
            tool=tool.name,
            version=tool.version,
            arguments=arguments,
            principal=principal.user_id,
            thread_id=thread_id,
            working_dir=str(workspace.root),
        )
        if plan is not None:
            digests = plan.digests
        else:
            digests = self._executor.digests(tool, arguments, workspace)
        return f"{hashed()}.{hashed(file_digests=digests)}" if digests else hashed()


def _same_plan(judged: CallPlan | None, now: CallPlan | None) -> bool:
    if judged is None or now is None:
        return judged is now
    return (judged.shown, dict(judged.digests)) == (now.shown, dict(now.digests))


def _result(call: CallRow, status: ResultStatus, text: str) -> ToolResult:
    return ToolResult(call.call_id, status, text)
