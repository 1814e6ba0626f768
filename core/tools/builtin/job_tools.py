"""`delegate`, which gives a part of a run's work to a subtask, and the tools of the person's jobs:
`create_job`, `list_jobs`, `job_status`, `job_events`, `job_prompt`, `cancel_job`.

Runs without a person get none of the tools that start, tell or end jobs
(core.consent.rules.AUTONOMOUS_DENYLIST), so that no job starts another.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Protocol

from pydantic import Field

from core.errors import HubError, ToolFailed
from core.job import WORKER
from core.tool import CallContext, Data, Effect, Requirement, Tool
from core.tools.definition import tool
from core.users import Principal


class Told(Protocol):
    """Operations on jobs in words."""

    async def create(
        self,
        by: Principal,
        thread_id: str,
        task: str,
        tools: Sequence[str],
        priority: int,
        key: str,
        project: str | None,
        mode: str,
        image: str | None,
    ) -> str:
        """Create a job. `project`, `mode`, `image`: see core.jobs.dispatch.JobDispatcher.new."""
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


def job_tools(told: Callable[[], Told]) -> Sequence[Tool]:
    """Return all the tools. The first one used calls `told`."""
    return (*_changing(told), *_looking(told))


def _changing(told: Callable[[], Told]) -> tuple[Tool, ...]:
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
        made = told().create(
            call.principal,
            call.thread_id,
            task,
            tools or (),
            priority,
            call.idempotency_key,
            project if sandbox else None,
            mode,
            image,
        )
        return await _said(made)

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


def _looking(told: Callable[[], Told]) -> tuple[Tool, ...]:
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


async def _said(doing: Awaitable[str]) -> str:
    try:
        return await doing
    except HubError as error:
        raise ToolFailed(str(error)) from error
