"""The one path of every call: lookup, validate, decide, and at execution all of it again.

A refusal at any point is the call's result, in words the model can use; nothing is skipped on the way
back from a person.
"""

import json
import math
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from core.clock import Clock
from core.consent.binding import binding_hash, same_binding
from core.consent.decide import decide
from core.consent.facts import Allow, Ask, CallFacts, Decision, Deny, Interactive
from core.consent.laws import ConsentLaws
from core.errors import InvalidArguments, ToolNotFound
from core.model.base import ToolSpec
from core.prompts import Option, Standing
from core.safety.limits import ResultLimits
from core.safety.validation import read_arguments
from core.store.accept import EditRefused
from core.store.base import RunCheck
from core.store.rows import CallRow, CallState
from core.tool import Arguments, Effect, ProcessInfo, Question, Tool
from core.tools.execution import run_call
from core.tools.halt import REASON, ToolHalt
from core.tools.registry import ToolRegistry, facts_of
from core.transcript import ResultStatus, ToolResult
from core.users import Principal

INTERACTIVE = Interactive()


@dataclass(frozen=True, slots=True)
class Ready:
    """The call may run, or a person agreed to exactly this."""

    tool: Tool
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class PutsQuestion:
    """The call is a question to the person it is made for; their answer is its result."""

    tool: Tool
    question: Question


@dataclass(frozen=True, slots=True)
class NeedsPerson:
    """A person must agree first. `binding` names exactly what; `detail` shows it."""

    tool: Tool
    ask: Ask
    binding: str
    detail: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The call does not run; its result says why."""

    result: ToolResult


Prepared = Ready | PutsQuestion | NeedsPerson | Refused


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """`tool_timeouts_s` beats a tool's own limit, which beats `tool_timeout_s`. `binding_key`: secret."""

    laws: ConsentLaws
    binding_key: bytes
    workspace: str
    tool_timeout_s: float
    tool_timeouts_s: dict[str, float]
    result_limits: ResultLimits


@dataclass(frozen=True, slots=True)
class RunningCall:
    """What a tool sees of its call; implements core.tool.CallContext."""

    principal: Principal
    thread_id: str
    idempotency_key: str
    workspace: str
    deadline_s: float
    record_process: Callable[[ProcessInfo], Awaitable[None]]

    async def process_started(self, process: ProcessInfo) -> None:
        """See CallContext."""
        await self.record_process(process)


class CallPipeline:
    """Prepares, checks and runs calls. `laws`: what they are judged by."""

    def __init__(
        self,
        registry: ToolRegistry,
        settings: PipelineSettings,
        clock: Clock,
        halt: ToolHalt | None = None,
    ) -> None:
        self._registry = registry
        self._settings = settings
        self._clock = clock
        self.laws = settings.laws
        self._halt = halt or ToolHalt()

    @property
    def halt(self) -> ToolHalt:
        """The switch that stops all of them."""
        return self._halt

    def offered(self, principal: Principal, disabled: frozenset[str] = frozenset()) -> Sequence[ToolSpec]:
        """The tools a model working for `principal` is told about. `disabled`: by the person."""
        return self._registry.specs(principal, INTERACTIVE, self.laws.policy(), disabled)

    def effect_of(self, name: str) -> Effect:
        """What running a call of this name twice would mean; a tool that doesn't exist has no effect."""
        try:
            return self._registry.lookup(name).effect
        except ToolNotFound:
            return Effect.NONE

    def sensitive(self, name: str) -> frozenset[str]:
        """Arguments of the tool of this name that are never shown."""
        try:
            return self._registry.lookup(name).sensitive
        except ToolNotFound:
            return frozenset()

    def argument_names(self, name: str) -> Collection[str]:
        """What the tool of this name takes."""
        try:
            return self._registry.lookup(name).parameters.get("properties", {}).keys()
        except ToolNotFound:
            return ()

    def prepare(self, call: CallRow, principal: Principal, thread_id: str, standing: Standing) -> Prepared:
        """What is to be done with a call now, on what a person may already have said about it."""
        if self._halt.halted:
            return Refused(_result(call, ResultStatus.DENIED, f"Not run: {REASON}."))
        try:
            tool, arguments = self._read(call)
            ready = _ready(tool, arguments)
        except ToolNotFound as error:
            return Refused(_result(call, ResultStatus.ERROR, str(error)))
        except InvalidArguments as error:
            text = f"{call.tool} was not run, its arguments do not fit. {error}"
            return Refused(_result(call, ResultStatus.ERROR, text))
        decision = self._decide(tool, arguments, principal, thread_id, standing)
        match decision:
            case Deny():
                return Refused(_result(call, ResultStatus.DENIED, decision.text))
            case Allow():
                return ready
            case Ask():
                if self._agreed(call, tool, arguments, principal, thread_id):
                    return ready
                binding = self._binding(tool, arguments, principal, thread_id)
                return NeedsPerson(tool, decision, binding, _detail(tool, arguments))

    def prepare_edit(
        self, call: CallRow, principal: Principal, thread_id: str, standing: Standing
    ) -> NeedsPerson | EditRefused:
        """What a person is asked about a call whose arguments they changed; they are asked even where nobody
        had to be. Raises ToolNotFound, InvalidArguments."""
        tool, arguments = self._read(call)
        if tool.sensitive:
            return EditRefused(
                f"{tool.name} has arguments that are not shown, so they cannot be changed here."
            )
        decision = self._decide(tool, arguments, principal, thread_id, standing)
        match decision:
            case Deny():
                return EditRefused(decision.text)
            case Allow():
                asked = Ask("", allow_always=False)
            case Ask():
                asked = decision
        binding = self._binding(tool, arguments, principal, thread_id)
        return NeedsPerson(tool, asked, binding, _detail(tool, arguments))

    def recheck(self, thread_id: str) -> RunCheck:
        """The same judgement inside the transaction that marks the call running, on what is true then."""

        def check(call: CallRow, principal: Principal, standing: Standing) -> str | None:
            match self.prepare(call, principal, thread_id, standing):
                case Ready():
                    return None
                case Refused(result):
                    return result.text
                case PutsQuestion():
                    return "only a person can answer it"
                case NeedsPerson():
                    return "the consent given does not cover the call as it would run now"

        return check

    async def run(
        self,
        call: CallRow,
        ready: Ready,
        principal: Principal,
        thread_id: str,
        process_started: Callable[[ProcessInfo], Awaitable[None]],
        remaining_s: float = math.inf,
    ) -> ToolResult:
        """Run a prepared call to its one result. Raises StoreError if a record could not be written.

        `remaining_s`: what is left of the turn's time, which no call outlasts.
        """
        settings, tool = self._settings, ready.tool
        timeout_s = settings.tool_timeouts_s.get(tool.name, tool.timeout_s or settings.tool_timeout_s)
        timeout_s = max(0.0, min(timeout_s, remaining_s))
        context = RunningCall(
            principal, thread_id, call.call_id, settings.workspace, timeout_s, process_started
        )
        return await run_call(
            call.call_id, tool, ready.arguments, context, self._clock, settings.result_limits, self._halt
        )

    def _read(self, call: CallRow) -> tuple[Tool, Arguments]:
        tool = self._registry.lookup(call.tool)
        return tool, tool.validate(read_arguments(call.arguments))

    def _decide(
        self,
        tool: Tool,
        arguments: Arguments,
        principal: Principal,
        thread_id: str,
        standing: Standing,
    ) -> Decision:
        operation, method = arguments.get("operation"), arguments.get("method")
        facts = CallFacts(
            tool=facts_of(tool),
            thread_id=thread_id,
            now=self._clock.now(),
            risk=tool.rate(arguments) if tool.rate is not None else None,
            operation=operation if isinstance(operation, str) else "",
            method=method if isinstance(method, str) else None,
            grants=standing.grants,
            setting=standing.settings.get(tool.name),
        )
        return decide(facts, principal, INTERACTIVE, self.laws.policy_for(principal, standing))

    def _agreed(
        self, call: CallRow, tool: Tool, arguments: Arguments, principal: Principal, thread_id: str
    ) -> bool:
        """Whether a person agreed to this very call: the same arguments, for the same person, here."""
        if call.answer is Option.RETRY and call.state is CallState.UNKNOWN:
            return True
        if call.answer not in {Option.APPROVE, Option.ALWAYS, Option.SESSION} or call.binding is None:
            return False
        return same_binding(call.binding, self._binding(tool, arguments, principal, thread_id))

    def _binding(self, tool: Tool, arguments: Arguments, principal: Principal, thread_id: str) -> str:
        return binding_hash(
            self._settings.binding_key,
            tool=tool.name,
            version=tool.version,
            arguments=arguments,
            principal=principal.user_id,
            thread_id=thread_id,
            working_dir=self._settings.workspace,
        )


def _ready(tool: Tool, arguments: Arguments) -> Ready | PutsQuestion:
    """What is to be done once nothing stands against the call. Raises InvalidArguments."""
    return Ready(tool, arguments) if tool.asks is None else PutsQuestion(tool, tool.asks(arguments))


def _detail(tool: Tool, arguments: Arguments) -> str:
    """The arguments as a person should see them: one text alone as it is, otherwise a line each."""
    shown = {
        name: "•••" if name in tool.sensitive else value
        for name, value in arguments.items()
        if value is not None
    }
    texts = [value for value in shown.values() if isinstance(value, str)]
    if len(shown) == 1 and len(texts) == 1:
        return texts[0]
    lines = (
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in shown.items()
    )
    return "\n".join(lines)


def _result(call: CallRow, status: ResultStatus, text: str) -> ToolResult:
    return ToolResult(call.call_id, status, text)
