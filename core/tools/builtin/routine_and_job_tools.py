"""Tools of the person's routines and jobs: `remind`, `routine_create`, `_list`, `_update`, `_delete`,
`_fire`, `_history`, `event_emit`; `create_job`, `list_jobs`, `job_status`, `job_events`, `job_prompt`,
`cancel_job`; and `delegate`, which gives a part of a run's work to a subtask.

Runs without a person get none of the tools that change routines or start, tell or end jobs
(core.consent.rules.AUTONOMOUS_DENYLIST), so that no routine creates, changes or fires another, and no job
starts another.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from core.errors import HubError, ToolFailed
from core.job import WORKER, JobOrder
from core.tool import Arguments, CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool
from core.users import Principal


class RoutineOperations(Protocol):
    """Operations on routines in words (the part of core.routines.trial these tools need)."""

    async def create(self, by: Principal, thread_id: str, page: Mapping[str, Any]) -> str:
        """Create a routine."""
        ...

    async def objection(self, by: Principal, page: Mapping[str, Any]) -> str | None:
        """Return why a routine cannot be created, or None."""
        ...

    async def remind(self, by: Principal, thread_id: str, text: str, when: str, key: str) -> str:
        """Set a reminder."""
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
Schedule = Annotated[
    str | None, 'for kind cron: "0 9 * * 1-5", "every 2 h"; once: "at 2026-12-01 09:00", "in 20 m"'
]
Zone = Annotated[str | None, "time zone of the schedule, such as Europe/Berlin; default: the person's"]
Pattern = Annotated[str | None, "for kind event: a regular expression to match in messages"]


def routine_tools(told: Callable[[], RoutineOperations]) -> Sequence[Tool]:
    """Return all the tools. The first one used calls `told`."""
    return (_reminding(told), _making(told), *_changing(told), *_using(told))


def _reminding(told: Callable[[], RoutineOperations]) -> Tool:
    @tool(requirement=Requirement.NEVER, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def remind(
        call: CallContext,
        text: Annotated[str, "the reminder's text, as the person will read it"],
        when: Annotated[str, 'the time: "in 20 m", "09:00", "2026-12-01 09:00" in the person\'s time zone'],
    ) -> str:
        """Remind the person of something once. The text is sent to this conversation at that time."""
        return await _said(told().remind(call.principal, call.thread_id, text, when, call.idempotency_key))

    return remind


def _making(told: Callable[[], RoutineOperations]) -> Tool:
    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def routine_create(
        call: CallContext,
        name: Annotated[str, "the routine's name"],
        prompt: Annotated[str, "the prompt for each run"],
        kind: Annotated[Literal["cron", "event", "system_event", "webhook", "manual"], "its trigger"],
        schedule: Schedule = None,
        timezone: Zone = None,
        pattern: Pattern = None,
        consume: Annotated[bool, "for kind event: keep matching messages from the chat assistant"] = False,
        source: Annotated[str | None, "for kind system_event"] = None,
        event_type: Annotated[str | None, "for kind system_event"] = None,
        path: Annotated[str | None, "for kind webhook: the path below /api/webhooks/"] = None,
        secret_name: Annotated[str | None, "for kind webhook: the vault secret that signs requests"] = None,
        signature: Annotated[
            Literal["standard", "github", "gitlab", "stripe"] | None, "for kind webhook: the signature scheme"
        ] = None,
        cooldown_s: Annotated[int | None, "minimum time between two runs, in seconds"] = None,
        tools: Annotated[list[str] | None, "the tools its runs may use without asking"] = None,
        full_job: Annotated[
            str | None,
            "for long work: the title of the job that each run dispatches; the prompt is its task",
        ] = None,
        max_iterations: Annotated[int | None, "for a full job: its maximum number of rounds"] = None,
        sandbox: Annotated[
            str | None,
            "for a full job: work in a container, on a copy of this directory of the workspace; . for all",
        ] = None,
        mode: Annotated[
            str | None, "with sandbox: the agent CLI that does the job, if the hub has any"
        ] = None,
        image: Annotated[
            str | None, "with sandbox: the image of the container, if the hub has several"
        ] = None,
        description: Annotated[str, "a description of its purpose"] = "",
    ) -> str:
        """Create a routine: a prompt the hub runs by itself. Its result is sent to this conversation."""
        given = {
            "name": name,
            "prompt": prompt,
            "kind": kind,
            "schedule": schedule,
            "timezone": timezone,
            "pattern": pattern,
            "consume": consume,
            "source": source,
            "event_type": event_type,
            "path": path,
            "secret_name": secret_name,
            "signature": signature,
            "cooldown_s": cooldown_s,
            "tools": tools,
            "full_job": full_job,
            "max_iterations": max_iterations,
            "description": description,
            "sandbox": sandbox,
            "mode": mode,
            "image": image,
        }
        return await _said(told().create(call.principal, call.thread_id, _page(given)))

    async def objection(by: Principal, given: Arguments) -> str | None:
        return await told().objection(by, _page(given))

    return replace(routine_create, objection=objection)


_TRIGGER = ("schedule", "timezone", "pattern", "source", "event_type", "path", "secret_name", "signature")


def _page(given: Arguments) -> dict[str, Any]:
    """Return the page of a new routine from the arguments of `routine_create`."""
    on_match = "consume" if given["consume"] else None
    trigger = {"type": given["kind"], "on_match": on_match, **{name: given[name] for name in _TRIGGER}}
    page: dict[str, Any] = {
        "name": given["name"],
        "description": given["description"],
        "trigger": _given(trigger),
        "action": _action(
            given["prompt"],
            given["tools"],
            given["full_job"],
            {one: given[one] for one in ("max_iterations", "sandbox", "mode", "image")},
        ),
    }
    if given["cooldown_s"] is not None:
        page["guardrails"] = {"cooldown_s": given["cooldown_s"]}
    return page


def _changing(told: Callable[[], RoutineOperations]) -> tuple[Tool, ...]:
    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def routine_update(
        call: CallContext,
        name: Name,
        enabled: Annotated[bool | None, "false pauses it, true enables it"] = None,
        prompt: Annotated[str | None, "the new prompt"] = None,
        schedule: Schedule = None,
        timezone: Zone = None,
        pattern: Pattern = None,
        cooldown_s: Annotated[int | None, "minimum time between two runs, in seconds"] = None,
        description: Annotated[str | None, "a description of its purpose"] = None,
    ) -> str:
        """Change the given fields of a routine."""
        trigger = _given({"schedule": schedule, "timezone": timezone, "pattern": pattern})
        page = _given({"enabled": enabled, "description": description, "trigger": trigger or None})
        if prompt is not None:
            page["action"] = {"prompt": prompt}
        if cooldown_s is not None:
            page["guardrails"] = {"cooldown_s": cooldown_s}
        return await _said(told().change(call.principal, name, page))

    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def routine_delete(call: CallContext, name: Name) -> str:
        """Delete a routine and its runs."""
        return await _said(told().delete(call.principal, name))

    return routine_update, routine_delete


def _using(told: Callable[[], RoutineOperations]) -> tuple[Tool, ...]:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def routine_list(call: CallContext) -> str:
        """List the person's routines with their next run times."""
        return await _said(told().listed(call.principal))

    @tool(requirement=Requirement.ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def routine_fire(call: CallContext, name: Name) -> str:
        """Run a routine once now."""
        return await _said(told().fire(call.principal, name, call.idempotency_key))

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def routine_history(
        call: CallContext,
        name: Name,
        limit: Annotated[int, "maximum number of runs", Field(ge=1, le=50)] = 10,
    ) -> str:
        """List a routine's newest runs."""
        return await _said(told().history(call.principal, name, limit))

    @tool(requirement=Requirement.ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def event_emit(
        call: CallContext,
        source: Annotated[str, "the event's source"],
        event_type: Annotated[str, "the event's type"],
        payload: Annotated[dict[str, Any] | None, "the event's data"] = None,
    ) -> str:
        """Send an event to the person's routines."""
        emitted = told().emit(call.principal, source, event_type, payload or {}, call.idempotency_key)
        return await _said(emitted)

    return routine_list, routine_fire, routine_history, event_emit


async def _said(doing: Awaitable[str]) -> str:
    try:
        return await doing
    except HubError as error:
        raise ToolFailed(str(error)) from error


def _action(
    prompt: str,
    tools: list[str] | None,
    full_job: str | None,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    if full_job is None:
        scope = {"use_tools": True, "allowed_tools": tools} if tools else {}
        return {"type": "lightweight", "prompt": prompt, **scope}
    job = {"title": full_job, "description": prompt, **more}
    return _given({"type": "full_job", **job, "allowed_tools": tools or None})


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


class JobOperations(Protocol):
    """Operations on jobs in words."""

    async def create(self, by: Principal, thread_id: str, order: JobOrder, key: str) -> str:
        """Create a job."""
        ...

    async def listed(self, by: Principal, *, working: bool) -> str:
        """List the person's jobs."""
        ...

    async def status(self, by: Principal, named: str) -> str:
        """Describe a job."""
        ...

    async def events(self, by: Principal, named: str, after: int) -> str:
        """List a job's events."""
        ...

    async def prompt(self, by: Principal, named: str, text: str, key: str) -> str:
        """Give a job a message."""
        ...

    async def cancel(self, by: Principal, named: str) -> str:
        """Cancel a job."""
        ...


MAX_SUBTASK_S = 86_400.0
"""A subtask has the time that its run has left."""


def delegate_tool() -> Tool:
    """Return `delegate`."""

    @tool(requirement=Requirement.NEVER, effect=Effect.IDEMPOTENT, timeout_s=MAX_SUBTASK_S)
    async def delegate(
        call: CallContext,
        task: Annotated[
            str, "the part, with everything that must be known for it", Field(min_length=1, max_length=20_000)
        ],
        tools: Annotated[list[str] | None, "the tools it may use; by default all of yours"] = None,
    ) -> str:
        """Give an independent part of your task to a helper, and get its result. Several such calls in one
        reply are worked on at the same time. It can't ask anyone and knows only what you tell it; a call of
        its that needs approval is refused, and you may make it yourself."""
        return await call.delegate(task, tools)

    return delegate


JobId = Annotated[str, "the job's id"]


def job_tools(told: Callable[[], JobOperations]) -> Sequence[Tool]:
    """Return all the tools. The first one used calls `told`."""
    return (*_changing_jobs(told), *_looking(told))


def _changing_jobs(told: Callable[[], JobOperations]) -> tuple[Tool, ...]:
    @tool(requirement=Requirement.ALWAYS_ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def create_job(
        call: CallContext,
        task: Annotated[str, "what is to be done, with everything the job must know"],
        tools: Annotated[list[str] | None, "tools it may use besides those that need no approval"] = None,
        priority: Annotated[int, "higher ones start first", Field(ge=-10, le=10)] = 0,
        sandbox: Annotated[bool, "let it work in a container, on a copy of a project"] = False,
        project: Annotated[
            str, "with sandbox: the directory of the workspace to copy", Field(max_length=1_000)
        ] = ".",
        mode: Annotated[
            str,
            "with sandbox: worker, or the agent CLI that does it, if the hub has any",
            Field(max_length=64),
        ] = WORKER,
        image: Annotated[
            str | None,
            "with sandbox: the image of the container, if the hub has several",
            Field(max_length=255),
        ] = None,
    ) -> str:
        """Start a job, which works in the background by itself. Its result is sent to this conversation. In a
        container it has a shell and files of its own, and no network; the project itself changes only once
        the person accepts what the job changed."""
        order = JobOrder(task, tools or (), priority, project if sandbox else None, mode, image)
        return await _said(told().create(call.principal, call.thread_id, order, call.idempotency_key))

    @tool(requirement=Requirement.ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def job_prompt(
        call: CallContext, job_id: JobId, text: Annotated[str, "what the job should know or do as well"]
    ) -> str:
        """Give a job that waits or runs a message."""
        return await _said(told().prompt(call.principal, job_id, text, call.idempotency_key))

    @tool(requirement=Requirement.ASK, effect=Effect.IDEMPOTENT, data=Data.OWN)
    async def cancel_job(call: CallContext, job_id: JobId) -> str:
        """Cancel a job. What it has done already still applies."""
        return await _said(told().cancel(call.principal, job_id))

    return create_job, job_prompt, cancel_job


def _looking(told: Callable[[], JobOperations]) -> tuple[Tool, ...]:
    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def list_jobs(
        call: CallContext, working: Annotated[bool, "only jobs that wait or run"] = False
    ) -> str:
        """List the person's newest jobs with their states."""
        return await _said(told().listed(call.principal, working=working))

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def job_status(call: CallContext, job_id: JobId) -> str:
        """Show a job's state, usage and result."""
        return await _said(told().status(call.principal, job_id))

    @tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.OWN)
    async def job_events(
        call: CallContext,
        job_id: JobId,
        after: Annotated[int, "only events after this number", Field(ge=0)] = 0,
    ) -> str:
        """List what a job said and did, in order."""
        return await _said(told().events(call.principal, job_id, after))

    return list_jobs, job_status, job_events
