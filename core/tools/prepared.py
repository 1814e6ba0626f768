"""The next step for a call, after it was judged."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from core.consent.rules import Ask, Autonomous, DenyReason, Mode
from core.errors import InvalidArguments, ToolNotFound
from core.gates import Grant
from core.ids import Ids
from core.lazy_dataclass import dataclass
from core.lazy_module import LazyModule
from core.model.base import CallRequest
from core.safety.fencing import read_arguments
from core.store.rows import CallRow, NewCall
from core.tool import Arguments, CallPlan, Effect, Question, Tool
from core.tools.registry import ToolRegistry
from core.transcript import ResultStatus, ToolResult
from core.users import Principal

if TYPE_CHECKING:
    from core.safety import confusables
else:
    confusables = LazyModule("core.safety.confusables")


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
