"""The tools of this hub, by name and limited to those a person may use; and a call of one on its way: as
hooks leave it, and once it was judged.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from core.consent.cards import action_of, detail_of
from core.consent.decide import never_runs
from core.consent.rules import Ask, Autonomous, DenyReason, Mode, Policy, ToolFacts
from core.errors import InvalidArguments, ToolNotFound
from core.gates import Grant, ToolSetting
from core.ids import Ids
from core.lazy import dataclass
from core.model.base import CallRequest, ToolSpec
from core.safety.fencing import read_arguments
from core.store.rows import NewCall
from core.tool import Arguments, CallPlan, Effect, Question, Tool
from core.transcript import ResultStatus, ToolResult
from core.users import Principal, Role

OFFERS_KEPT = 256
_Asked = tuple[str, Role, Mode, frozenset[str]]


class ToolRegistry:
    """The registry of tools, in the order given. Raises ValueError if two names differ only in `-` and `_`.

    Several threads read it: a change is made in a copy and put in place at once.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._own = tuple(tools)
        self._brought: dict[str, Sequence[Tool]] = {}
        self._specs: dict[str, tuple[Tool, ToolSpec]] = {}
        self._hold(self._own)

    def replace(self, source: str, tools: Sequence[Tool]) -> None:
        """Replace the tools of a source. They come after the hub's own and other sources'.

        Raises ValueError as the constructor does, and then changes nothing.
        """
        brought = {**self._brought, source: tools}
        self._hold([*self._own, *(tool for found in brought.values() for tool in found)])
        self._brought = brought

    def brought(self, source: str) -> Sequence[Tool]:
        """Return the tools of a source."""
        return self._brought.get(source, ())

    def sources(self) -> Mapping[str, str]:
        """Return the source of each tool that is not the hub's own, by the tool's name."""
        return {tool.name: source for source, tools in self._brought.items() for tool in tools}

    def _hold(self, tools: Iterable[Tool]) -> None:
        folded: dict[str, Tool] = {}
        for tool in tools:
            other = folded.setdefault(_fold(tool.name), tool)
            if other is not tool:
                raise ValueError(f"two tools are called {tool.name} and {other.name}")
        held = {tool.name: tool for tool in folded.values()}
        self._specs = {name: made for name, made in self._specs.items() if held.get(name) is made[0]}
        self._facts = {name: facts_of(tool) for name, tool in held.items()}
        self._tools, self._folded = held, folded
        self._offers: dict[_Asked, tuple[Policy, Sequence[ToolSpec]]] = {}

    def lookup(self, name: str) -> Tool:
        """Return the tool that a model means by `name`: an exact match, or one with `-` and `_` swapped.

        Raises ToolNotFound, whose message is for the model.
        """
        tool = self._tools.get(name) or self._folded.get(_fold(name))
        if tool is None:
            raise ToolNotFound(f"There is no tool named {name[:80]!r}.")
        return tool

    @property
    def names(self) -> Sequence[str]:
        """Names of the tools, in order."""
        return tuple(self._tools)

    def all(self) -> Sequence[Tool]:
        """Return every tool, in order."""
        return tuple(self._tools.values())

    def visible_tools(
        self, principal: Principal, mode: Mode, policy: Policy, disabled: Collection[str] = frozenset()
    ) -> Sequence[Tool]:
        """Return the tools offered to a model working for `principal`; `disabled`: by that person.

        For chats, and for runs without a person. A hint for the model, not a protection: `consent.decide`
        judges every call
        again, by the same rules. Tools a member may ask an owner for are on offer, otherwise nothing could
        be asked.
        """
        return tuple(
            tool
            for name, tool in self._tools.items()
            if not never_runs(
                self._facts[name],
                principal,
                mode,
                policy,
                ToolSetting.DISABLED if name in disabled else None,
            )
        )

    def specs(
        self, principal: Principal, mode: Mode, policy: Policy, disabled: Collection[str] = frozenset()
    ) -> Sequence[ToolSpec]:
        """Return the specs of `visible_tools`; the same objects every time.

        Called at each model call, so the result is kept for as long as the policy is the same object.
        """
        asked = (principal.user_id, principal.role, mode, frozenset(disabled))
        under, found = self._offers.get(asked, (None, ()))
        if under is not policy:
            visible = self.visible_tools(principal, mode, policy, disabled)
            found = tuple(map(self._spec, visible))
            if len(self._offers) >= OFFERS_KEPT:
                self._offers.clear()
            self._offers[asked] = policy, found
        return found

    def _spec(self, tool: Tool) -> ToolSpec:
        """Return the tool's spec, made when a model first gets it: its schema takes milliseconds."""
        of, spec = self._specs.get(tool.name, (None, None))
        if spec is None or of is not tool:
            spec = ToolSpec(tool.name, tool.description, tool.parameters)
            self._specs[tool.name] = tool, spec
        return spec


def facts_of(tool: Tool) -> ToolFacts:
    """Return the facts that a tool is judged by."""
    rated = tool.rate is not None or tool.plan is not None
    return ToolFacts(tool.name, tool.requirement, tool.data, rated=rated, users=tool.users)


def _fold(name: str) -> str:
    return name.replace("-", "_")


@dataclass(frozen=True, slots=True)
class Ready:
    """The call may run, or a person approved exactly this. `plan`: the judged plan, of a tool that plans.
    `timeout_s`: the time it may take. `grants`: see core.consent.rules.Allow."""

    tool: Tool
    arguments: Arguments
    timeout_s: float
    plan: CallPlan | None = None
    grants: tuple[Grant, ...] = ()


@dataclass(frozen=True, slots=True)
class PutsQuestion:
    """The call is a question to the person it is made for; their answer is its result."""

    tool: Tool
    question: Question


@dataclass(frozen=True, slots=True)
class NeedsPerson:
    """A person must approve first. `binding` names exactly what; `detail` shows it, `action` says it in a few
    words. `again`: why an earlier approval doesn't count, empty without one."""

    tool: Tool
    ask: Ask
    binding: str
    detail: str
    action: str
    again: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that does not run; its result says why. `reason`: where that was decided, not found out.
    `grants`: see core.consent.rules.Deny."""

    result: ToolResult
    reason: DenyReason | None = None
    grants: tuple[str, ...] = ()


Prepared = Ready | PutsQuestion | NeedsPerson | Refused


def needs_person(
    tool: Tool, arguments: Arguments, plan: CallPlan | None, ask: Ask, binding: str, again: str = ""
) -> NeedsPerson:
    """Return the call as a person is asked about it."""
    detail, action = detail_of(tool, arguments, plan), action_of(tool, arguments)
    return NeedsPerson(tool, ask, binding, detail, action, again)


def ready_or_question(
    tool: Tool, arguments: Arguments, timeout_s: float, plan: CallPlan | None, mode: Mode
) -> Ready | PutsQuestion:
    """Return the next step when nothing stands against the call. Raises InvalidArguments."""
    if tool.asks is None or isinstance(mode, Autonomous):
        return Ready(tool, arguments, timeout_s, plan)
    return PutsQuestion(tool, tool.asks(arguments))


def under_grants(ready: Ready | PutsQuestion, grants: tuple[Grant, ...]) -> Ready | PutsQuestion:
    """Return the next step of a call that these grants let run."""
    return replace(ready, grants=grants) if grants and isinstance(ready, Ready) else ready


# A model's calls on their way into the journal: hooks are asked here, once, before all others.
#
# Their changes are journalled with the call, so that nothing is lost or asked twice on the way back from a
# person, or over a restart.


@dataclass(frozen=True, slots=True)
class Intents:
    """Calls to journal, and the results of those that are refused."""

    calls: Sequence[NewCall]
    refused: Sequence[ToolResult] = ()


class CallHook(Protocol):
    """A hook that may change or refuse calls before consent."""

    async def judge(
        self, tool: Tool, arguments: Arguments, principal: Principal, thread_id: str
    ) -> Mapping[str, Any] | str:
        """Return the arguments to use from now on, or the reason for a refusal."""
        ...


async def journalled(
    requests: Sequence[CallRequest],
    registry: ToolRegistry,
    hook: CallHook | None,
    principal: Principal,
    thread_id: str,
    loop_round: int,
    ids: Ids,
) -> Intents:
    """Return the intents of a reply's calls. Hooks never see a call that could not run as it is; the model
    gets its error."""
    calls: list[NewCall] = []
    refused: list[ToolResult] = []
    for request in requests:
        call_id, arguments = ids.call_id(), request.arguments
        effect = Effect.NONE
        try:
            tool = registry.lookup(request.tool)
            effect = tool.effect
            if hook is not None:
                given = tool.validate(read_arguments(arguments))
                judged = await hook.judge(tool, given, principal, thread_id)
                if isinstance(judged, str):
                    refused.append(ToolResult(call_id, ResultStatus.DENIED, f"Not run: {judged}"))
                elif judged != given:
                    arguments = json.dumps(dict(judged), ensure_ascii=False)
        except (ToolNotFound, InvalidArguments):
            pass
        calls.append(NewCall(call_id, request.tool, arguments, effect, loop_round, request.reason))
    return Intents(tuple(calls), tuple(refused))
