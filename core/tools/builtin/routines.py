"""`routine_create`, `_list`, `_update`, `_delete`, `_fire`, `_history`, `event_emit`: the person's
routines.

Routine runs get none of the tools that change something
(core.consent.facts.AUTONOMOUS_DENYLIST), so that no routine creates, changes or fires another.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from core.errors import HubError, ToolFailed
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool
from core.users import Principal


class Told(Protocol):
    """Operations on routines in words (the part of core.routines.trial these tools need)."""

    async def create(self, by: Principal, thread_id: str, page: Mapping[str, Any]) -> str:
        """Create a routine."""
        ...

    async def listed(self, by: Principal) -> str:
        """List the person's routines."""
        ...

    async def change(self, by: Principal, name: str, page: Mapping[str, Any]) -> str:
        """Change a routine."""
        ...

    async def delete(self, by: Principal, name: str) -> str:
        """Delete a routine."""
        ...

    async def fire(self, by: Principal, name: str, key: str) -> str:
        """Run a routine once."""
        ...

    async def history(self, by: Principal, name: str, limit: int) -> str:
        """List the runs of a routine."""
        ...

    async def emit(
        self, by: Principal, source: str, event_type: str, payload: Mapping[str, Any], key: str
    ) -> str:
        """Return the routines an event fires."""
        ...


Name = Annotated[str, "the routine's name"]
Schedule = Annotated[str | None, 'for kind cron, such as "0 9 * * 1-5" or "every 2 h"']
Zone = Annotated[str | None, "of the schedule, such as Europe/Berlin; left out: the hub's own"]
Pattern = Annotated[str | None, "for kind event: the regular expression to be found in a message"]


def routine_tools(told: Callable[[], Told]) -> Sequence[Tool]:
    """Return all the tools. The first one used calls `told`."""
    return (_making(told), *_changing(told), *_using(told))


def _making(told: Callable[[], Told]) -> Tool:
    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def routine_create(
        call: CallContext,
        name: Annotated[str, "what it is called"],
        prompt: Annotated[str, "what the model is asked each time"],
        kind: Annotated[Literal["cron", "event", "system_event", "webhook", "manual"], "what fires it"],
        schedule: Schedule = None,
        timezone: Zone = None,
        pattern: Pattern = None,
        consume: Annotated[bool, "kind event: such a message is the routine's alone"] = False,
        source: Annotated[str | None, "for kind system_event"] = None,
        event_type: Annotated[str | None, "for kind system_event"] = None,
        path: Annotated[str | None, "for kind webhook: below /api/webhooks/"] = None,
        secret_name: Annotated[str | None, "for kind webhook: the vault's secret that signs"] = None,
        signature: Annotated[
            Literal["standard", "github", "gitlab", "stripe"] | None, "for kind webhook: whose way"
        ] = None,
        cooldown_s: Annotated[int | None, "how long it rests after it fired"] = None,
        tools: Annotated[list[str] | None, "the tools its runs may use, with nobody to ask"] = None,
        description: Annotated[str, "what it is for"] = "",
    ) -> str:
        """Make a routine: something the hub does by itself, whose result is told in this conversation."""
        trigger: dict[str, Any] = {
            "type": kind,
            "schedule": schedule,
            "timezone": timezone,
            "pattern": pattern,
            "on_match": "consume" if consume else None,
            "source": source,
            "event_type": event_type,
            "path": path,
            "secret_name": secret_name,
            "signature": signature,
        }
        page: dict[str, Any] = {
            "name": name,
            "description": description,
            "trigger": _given(trigger),
            "action": {"type": "lightweight", "prompt": prompt, **_scope(tools)},
        }
        if cooldown_s is not None:
            page["guardrails"] = {"cooldown_s": cooldown_s}
        return await _said(told().create(call.principal, call.thread_id, page))

    return routine_create


def _changing(told: Callable[[], Told]) -> tuple[Tool, ...]:
    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def routine_update(
        call: CallContext,
        name: Name,
        enabled: Annotated[bool | None, "false pauses it, true lets it go on"] = None,
        prompt: Annotated[str | None, "its new prompt"] = None,
        schedule: Schedule = None,
        timezone: Zone = None,
        pattern: Pattern = None,
        cooldown_s: Annotated[int | None, "how long it rests after it fired"] = None,
        description: Annotated[str | None, "what it is for"] = None,
    ) -> str:
        """Change a routine: what is given and nothing else."""
        trigger = _given({"schedule": schedule, "timezone": timezone, "pattern": pattern})
        page = _given({"enabled": enabled, "description": description, "trigger": trigger or None})
        if prompt is not None:
            page["action"] = {"prompt": prompt}
        if cooldown_s is not None:
            page["guardrails"] = {"cooldown_s": cooldown_s}
        return await _said(told().change(call.principal, name, page))

    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def routine_delete(call: CallContext, name: Name) -> str:
        """Forget a routine and its runs."""
        return await _said(told().delete(call.principal, name))

    return routine_update, routine_delete


def _using(told: Callable[[], Told]) -> tuple[Tool, ...]:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def routine_list(call: CallContext) -> str:
        """The person's routines, with the next time of each."""
        return await _said(told().listed(call.principal))

    @tool(requirement=Requirement.ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def routine_fire(call: CallContext, name: Name) -> str:
        """Run a routine once, now."""
        return await _said(told().fire(call.principal, name, call.idempotency_key))

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def routine_history(
        call: CallContext,
        name: Name,
        limit: Annotated[int, "how many runs", Field(ge=1, le=50)] = 10,
    ) -> str:
        """The newest runs of a routine."""
        return await _said(told().history(call.principal, name, limit))

    @tool(requirement=Requirement.ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def event_emit(
        call: CallContext,
        source: Annotated[str, "where the event comes from"],
        event_type: Annotated[str, "what happened"],
        payload: Annotated[dict[str, Any] | None, "what is to be known of it"] = None,
    ) -> str:
        """Tell the person's routines that something happened."""
        emitted = told().emit(call.principal, source, event_type, payload or {}, call.idempotency_key)
        return await _said(emitted)

    return routine_list, routine_fire, routine_history, event_emit


async def _said(doing: Any) -> str:
    try:
        return await doing
    except HubError as error:
        raise ToolFailed(str(error)) from error


def _scope(tools: list[str] | None) -> dict[str, Any]:
    return {"use_tools": True, "allowed_tools": tools} if tools else {}


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
