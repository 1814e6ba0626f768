"""Jobs: each caller's own."""

from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import Field

from bot.operator.unattended_views import ChangesView, JobEventView, JobPartsView, JobView, SubtaskView
from bot.web.blocks import Page
from bot.web.endpoints import Call, Endpoint, ShortText
from bot.web.items import sent_files
from bot.web.responses import Given
from channels.webchat import WEB
from core.job import MAX_TASK_CHARS, WORKER, JobOrder, JobRow
from core.messages import Address
from core.store.container_port import EgressUse, UseSample
from core.store.feed import Threads

if TYPE_CHECKING:
    from core.jobs.registry import JobRegistry

T = TypeVar("T")


class JobsWanted(Given):
    """A selection of jobs: first the ones that wait for a decision, then the newest. `working`: only
    jobs that wait or run."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    working: bool = False


class EventsWanted(Given):
    """The events after the position `after`, in order."""

    after: Annotated[int, Field(ge=0)] = 0
    limit: Annotated[int, Field(ge=1, le=200)] = 200


class NewJobPage(Given):
    """A job to start. `tools`: those it may use besides the ones that need no approval. `sandbox`: it is to
    work in a container, on a copy of the workspace's directory `project`, by the agent CLI `mode` if it is
    not "worker"; `image`: of the container, null for the configured one. `key`: makes a repeated request
    harmless."""

    task: Annotated[str, Field(min_length=1, max_length=MAX_TASK_CHARS)]
    tools: Annotated[list[ShortText], Field(max_length=100)] = Field(default_factory=list)
    priority: Annotated[int, Field(ge=-10, le=10)] = 0
    sandbox: bool = False
    project: Annotated[str, Field(max_length=1_000)] = "."
    mode: Annotated[str, Field(max_length=64)] = WORKER
    image: Annotated[str, Field(max_length=255)] | None = None
    key: ShortText | None = None


class JobMessage(Given):
    """A message for a job. `key`: makes a repeated request harmless."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_TASK_CHARS)]
    key: ShortText | None = None


class Acceptance(Given):
    """The acceptance of a job. `digest`: of the changes that the person saw."""

    digest: Annotated[str, Field(max_length=64)] | None = None


class ContainerView(Page):
    """The container of a job. `cpus`: processors; `egress`: the hosts that it may reach, each NAME:PORT;
    `samples`: what it used, in order; `connections`: what it reached and was refused, by target."""

    image: str
    memory_mb: int
    disk_mb: int
    cpus: int
    pids: int
    egress: tuple[str, ...]
    samples: tuple[UseSample, ...]
    connections: tuple[EgressUse, ...]


class Rejection(Given):
    """The reason for a rejection; a job that repeats this one is told it."""

    text: Annotated[str, Field(max_length=2_000)] = ""


class JobsApi:
    """One method per endpoint; core.jobs.registry does the rest. `build`: called by the first request."""

    def __init__(self, build: Callable[[], "JobRegistry"], threads: Threads) -> None:
        self._build = build
        self._threads = threads

    @cached_property
    def registry(self) -> "JobRegistry":
        """The operations on jobs."""
        return self._build()

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        one, refusals = "/jobs/{id}", (404, 409, 503)
        events = list[JobEventView]
        return [
            Endpoint("GET", "/jobs", self.listed, list[JobView], query=JobsWanted, refusals=(503,)),
            Endpoint("POST", "/jobs", self.create, JobView, body=NewJobPage, refusals=(409, 503)),
            Endpoint("GET", one, self.show, JobView, refusals=refusals),
            Endpoint("GET", f"{one}/parts", self.parts, JobPartsView, refusals=refusals),
            Endpoint("GET", f"{one}/events", self.events, events, query=EventsWanted, refusals=refusals),
            Endpoint("POST", f"{one}/prompt", self.prompt, JobView, body=JobMessage, refusals=refusals),
            Endpoint("POST", f"{one}/cancel", self.cancel, JobView, refusals=refusals),
            Endpoint("POST", f"{one}/accept", self.accept, JobView, query=Acceptance, refusals=refusals),
            Endpoint("GET", f"{one}/changes", self.changes, ChangesView, refusals=refusals),
            Endpoint("GET", f"{one}/container", self.container, ContainerView, refusals=refusals),
            Endpoint("POST", f"{one}/reject", self.reject, JobView, body=Rejection, refusals=refusals),
            Endpoint("POST", f"{one}/restart", self.restart, JobView, refusals=refusals),
        ]

    async def listed(self, call: Call) -> list[JobView]:
        """List the caller's jobs, newest first."""
        query: JobsWanted = call.query
        rows = await self.registry.listed(call.principal, query.limit, working=query.working)
        return [JobView.of(row) for row in rows]

    async def create(self, call: Call) -> JobView:
        """Start a job. Its result is sent to the caller's active conversation, or to their notices."""
        body: NewJobPage = call.body
        by = call.principal
        thread = await self._threads.active_thread(by.user_id)
        made = await self.registry.create(
            by,
            JobOrder(
                body.task,
                body.tools,
                body.priority,
                body.project if body.sandbox else None,
                body.mode,
                body.image,
            ),
            key=body.key or "",
            thread_id=None if thread is None else thread.id,
            told_in=(WEB, Address(by.user_id)),
        )
        return JobView.of(made)

    async def show(self, call: Call) -> JobView:
        """Return a job, by its short ID or ID."""
        return JobView.of(await self.find(call))

    async def find(self, call: Call) -> JobRow:
        """Return the caller's job that the address names. Raises NoSuchJob."""
        return await self.registry.find(call.principal, call.named)

    async def parts(self, call: Call) -> JobPartsView:
        """Return a job's subtasks, and the files that it handed over. A file without a URL was not sent to a
        conversation."""
        parts = await self.registry.parts(call.principal, call.named)
        return JobPartsView(
            subtasks=[
                SubtaskView(
                    id=row.id,
                    task=row.arguments,
                    state=row.state.value,
                    created_at=row.created_at,
                    ended_at=row.ended_at,
                )
                for row in parts.subtasks
            ],
            files=list(sent_files(parts.thread_id, parts.seq, parts.files)),
        )

    async def events(self, call: Call) -> list[JobEventView]:
        """Return a job's events. For the next page, pass the last position as `after`."""
        query: EventsWanted = call.query
        found = await self.registry.events(call.principal, call.named, after=query.after, limit=query.limit)
        return [JobEventView.of(event) for event in found]

    async def prompt(self, call: Call) -> JobView:
        """Give a job a message; its model reads it before the next step."""
        body: JobMessage = call.body
        told = await self.registry.prompt(call.principal, call.named, body.text, key=body.key or "")
        return JobView.of(told)

    async def cancel(self, call: Call) -> JobView:
        """Cancel a job."""
        return JobView.of(await self.registry.cancel(call.principal, call.named))

    async def accept(self, call: Call) -> JobView:
        """Accept the result of a job that was submitted. If it has changes to a project, it is accepted once
        the project has them; then `digest` must be theirs, if it is given."""
        query: Acceptance = call.query
        accepted = self.registry.accept(call.principal, call.named, query.digest)
        return JobView.of(await accepted)

    async def changes(self, call: Call) -> ChangesView:
        """Return the changes that a job in a container made to the copy of its project."""
        found = await self.registry.changes(call.principal, call.named)
        return ChangesView(digest=found.digest, diff=found.diff)

    async def container(self, call: Call) -> ContainerView:
        """Return the limits of a job's container, and what it used and reached."""
        found = await self.registry.container(call.principal, call.named)
        return ContainerView(**{one.name: getattr(found, one.name) for one in fields(found)})

    async def reject(self, call: Call) -> JobView:
        """Reject the result of a job that was submitted."""
        body: Rejection = call.body
        return JobView.of(await self.registry.reject(call.principal, call.named, body.text))

    async def restart(self, call: Call) -> JobView:
        """Start a new job that repeats one that has ended, and knows why it ended."""
        return JobView.of(await self.registry.restart(call.principal, call.named))
