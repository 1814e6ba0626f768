"""What a model asks for, on its way into the journal: hooks are asked here, once, before anybody else is.

What they make of a call is journalled with it, so that nothing of it can be lost or asked twice on the way
back from a person, or over a restart.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.errors import InvalidArguments, ToolNotFound
from core.ids import Ids
from core.model.base import CallRequest
from core.safety.validation import read_arguments
from core.store.rows import NewCall
from core.tool import Arguments, Effect, Tool
from core.tools.registry import ToolRegistry
from core.transcript import ResultStatus, ToolResult
from core.users import Principal


@dataclass(frozen=True, slots=True)
class Intents:
    """Calls to be journalled, and the outcome of those that go no further."""

    calls: Sequence[NewCall]
    refused: Sequence[ToolResult] = ()


class CallHook(Protocol):
    """Whatever may change or refuse calls before consent."""

    async def judge(
        self, tool: Tool, arguments: Arguments, principal: Principal, thread_id: str
    ) -> Mapping[str, Any] | str:
        """The arguments as they are to be from now on, or why the call goes no further."""
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
    """What a reply's calls become. A call that could not run as it is, is no business of hooks: that is what
    it will be told."""
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
        calls.append(NewCall(call_id, request.tool, arguments, effect, loop_round))
    return Intents(tuple(calls), tuple(refused))
