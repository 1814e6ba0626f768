"""The tools of this hub, by name and limited to those a person may use; what follows for a call of one once
it was judged; and the kill switch.

The kill switch is in force as soon as it is recorded, and holds over restarts: the transaction that marks a
call running reads it there. This is its other half, in the running hub: it stops running calls, and holds
back those marked just before. Gates stay open; a call approved in the meantime does not run.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from core.consent.decide import never_runs
from core.consent.rules import Ask, Autonomous, DenyReason, Mode, Policy, ToolFacts
from core.errors import InvalidArguments, ToolNotFound
from core.gates import Grant, ToolSetting
from core.ids import Ids
from core.lazy import LazyModule, dataclass
from core.model.base import CallRequest, ToolSpec
from core.safety.fencing import read_arguments
from core.store.rows import CallRow, NewCall
from core.tool import Arguments, CallPlan, Effect, Question, Tool
from core.transcript import ResultStatus, ToolResult
from core.users import Principal, Role

if TYPE_CHECKING:
    from core.safety import confusables
else:
    confusables = LazyModule("core.safety.confusables")


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


logger = logging.getLogger(__name__)

SETTLES_WITHIN_S = 10.0
"""How long the answer to a pause waits for the calls that it stops; removing a container may take seconds."""


class ToolPause:
    """The kill switch in the running hub, and the calls it stops. `paused`: as recorded when the hub
    started."""

    def __init__(self, *, paused: bool = False) -> None:
        self._lifted = asyncio.Event()
        self._running: dict[asyncio.Future[None], asyncio.Future[None]] = {}
        self.set(paused=paused)

    @property
    def paused(self) -> bool:
        """True if no tool may run."""
        return not self._lifted.is_set()

    def set(self, *, paused: bool) -> None:
        """Pause all tools, or let them run again. The caller has recorded it."""
        if not paused:
            self._lifted.set()
            return
        self._lifted.clear()
        for stop in self._running:
            _resolve(stop)

    async def lifted(self) -> None:
        """Wait until tools may run."""
        await self._lifted.wait()

    @contextlib.contextmanager
    def stops(self) -> Generator[asyncio.Future[None]]:
        """Give what the switch resolves when the call within the context has to end, which is over with the
        context; resolved already if no call may begin."""
        loop = asyncio.get_running_loop()
        stop, over = loop.create_future(), loop.create_future()
        if self.paused:
            stop.set_result(None)
        self._running[stop] = over
        try:
            yield stop
        finally:
            del self._running[stop]
            _resolve(over)

    async def settled(self) -> None:
        """Wait until every call that the switch has stopped is over; until then the pause isn't answered.

        A call that does not end in time is reported where it ends; see SETTLES_WITHIN_S."""
        ending = [over for stop, over in self._running.items() if stop.done()]
        if ending:
            _, left = await asyncio.wait(ending, timeout=SETTLES_WITHIN_S)
            if left:
                logger.warning("tool.pause_unsettled calls=%d", len(left))


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


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

_ACTIONS = {
    "shell": ("Run", "command"),
    "http": ("Request", "url"),
    "read_file": ("Read", "path"),
    "list_dir": ("List", "path"),
    "grep": ("Search for", "pattern"),
    "write_file": ("Write", "path"),
    "apply_patch": ("Edit", "path"),
    "delete_file": ("Delete", "path"),
    "send_file": ("Send", "path"),
    "save_attachment": ("Save attachment", "name"),
    "memory_write": ("Remember", "text"),
    "routine_create": ("Create routine", "name"),
    "routine_update": ("Change routine", "name"),
    "routine_delete": ("Delete routine", "name"),
    "routine_fire": ("Run routine", "name"),
    "create_job": ("Start job", "task"),
    "cancel_job": ("Cancel job", "job_id"),
    "secret_delete": ("Delete secret", "name"),
    "tool_install": ("Install extension", "name"),
    "tool_remove": ("Remove extension", "name"),
}
"""What a call of a tool does, and the argument that says to what."""
_ACTION_CHARS = 80


def action_of(tool: Tool, arguments: Arguments) -> str:
    """Return the call in a few words, such as "Run `ls`", for headlines. It may be cut; `detail_of` has all
    of it."""
    verb, name = _ACTIONS.get(tool.name, ("", ""))
    about = arguments.get(name)
    if name in tool.sensitive or not isinstance(about, str) or not about.strip():
        return f"Use `{tool.name}`"
    line, more, _ = about.strip().partition("\n")
    seen = as_seen(line[: 2 * _ACTION_CHARS]).partition("\n")[0]
    cut = more or len(line) > _ACTION_CHARS or len(seen) > _ACTION_CHARS
    return f"{verb} `{seen[:_ACTION_CHARS].rstrip()}{'…' if cut else ''}`"


def detail_of(tool: Tool, arguments: Arguments, plan: CallPlan | None = None) -> str:
    """Return the arguments as a person should see them: a single text as it is, otherwise a line each. A plan
    adds what they
    stand for.

    Text of several lines is indented then, so that it cannot pass for another argument; invisible
    characters are named,
    see safety.confusables.
    """
    shown = _shown(arguments, tool.sensitive)
    return f"{shown}\nruns: {as_seen(plan.shown)}" if plan is not None and plan.shown else shown


def needs_person(
    tool: Tool, arguments: Arguments, plan: CallPlan | None, ask: Ask, binding: str, again: str = ""
) -> NeedsPerson:
    """Return the call as a person is asked about it."""
    detail, action = detail_of(tool, arguments, plan), action_of(tool, arguments)
    return NeedsPerson(tool, ask, binding, detail, action, again)


def _shown(arguments: Arguments, sensitive: frozenset[str]) -> str:
    shown = {
        name: "•••" if name in sensitive else value for name, value in arguments.items() if value is not None
    }
    texts = [value for value in shown.values() if isinstance(value, str)]
    if len(shown) == 1 and len(texts) == 1:
        return as_seen(texts[0])
    lines = (
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in shown.items()
    )
    return as_seen("\n".join(line.replace("\n", "\n    ") for line in lines))


def as_seen(text: str) -> str:
    """Return the text with nothing hidden; lookalikes are named below."""
    others = confusables.look_alikes(text)
    shown = confusables.in_plain_sight(text)
    return f"{shown}\n[look-alikes: {'; '.join(others)}]" if others else shown


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


def detail_of_call(call: CallRow, registry: ToolRegistry) -> str:
    """Return a journaled call's arguments in the same form, as its tool reads them; unchanged if the
    tool cannot read them or is gone."""
    try:
        tool = registry.lookup(call.tool)
    except ToolNotFound:
        tool = None
    try:
        given = read_arguments(call.arguments)
    except InvalidArguments:
        return as_seen(call.arguments)
    try:
        arguments = given if tool is None else tool.validate(given)
    except InvalidArguments:
        arguments = given
    return _shown(arguments, frozenset() if tool is None else tool.sensitive)


# A model's calls on their way into the journal: hooks are asked here, once, before all others.
#
# Their changes are journalled with the call, so that nothing is lost or asked twice on the way back from a
# person, or
# over a restart.


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
