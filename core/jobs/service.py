"""Jobs as the rest of the hub sees them, and the making of new ones: who may have them, and the budget and
tools of each, fixed in one step. Light: the first job loads what carries jobs out.

Every way to a job goes through here: the chat command, the tool, the API, a routine. None can put a person
in its loop.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from core.consent.roles import Access
from core.errors import ToolDenied
from core.extension import is_of_server
from core.ids import Ids
from core.job import MAX_TASK_CHARS, WORKER, JobBudget, JobOrder, JobRefused, JobRow, NewJob
from core.lazy import dataclass
from core.messages import Address, quoted
from core.runs.registry import LazyEngine, RunEngine, RunSignals
from core.safety.fencing import fence_tool_output
from core.safety.paths import guard_of
from core.store.routine_rows import DayLeft
from core.tool import Data
from core.tools.pipeline import CallPipeline
from core.users import Principal, Role

if TYPE_CHECKING:
    from core.jobs.scheduler import ClaimedWork
    from core.jobs.worker import JobWorker
    from core.ports import OutboxListener
    from core.store.container_port import ContainerEnd, EgressUse
    from core.store.feed import Changes
    from core.store.port import Store
    from core.store.rows import UnfinishedRun
    from core.store.unattended_port import JobViews


class Monitor(Protocol):
    """The messages that show jobs as they run."""

    def changed(self, changes: "Changes") -> None:
        """Note the changes of a commit."""
        ...

    async def run(self) -> None:
        """Run until cancelled."""
        ...


def _unheard(job_id: str, news: object) -> None:
    del job_id, news


@dataclass(frozen=True, slots=True)
class JobOutcomes:
    """How jobs in containers begin and end, for a recording.

    `begun`: called with the ID of each that is at work, and what its person asked for; `reached`: with its
    connections by target and decision, once it has no more; `ended`: with its end, once that is stored.
    `instead`: makes what brings such jobs to their ends without any container."""

    begun: Callable[[str, str], None] = _unheard
    reached: "Callable[[str, Sequence[EgressUse]], None]" = _unheard
    ended: "Callable[[str, ContainerEnd], None]" = _unheard
    instead: "Callable[[Store, JobWorker, OutboxListener], ClaimedWork] | None" = None


class JobEngines:
    """Implementation of core.runs.registry.RunEngine: jobs of the host, and jobs in containers.

    Neither engine claims the jobs of the other. `contained`: builds the second one, once there is a job for
    it; `expects`: returns whether there may be one."""

    def __init__(
        self,
        signals: RunSignals,
        host: Callable[[RunSignals], RunEngine],
        contained: Callable[[RunSignals], RunEngine],
        is_contained: Callable[[str], Awaitable[bool]],
        expects: Callable[[], Awaitable[bool]],
    ) -> None:
        self._signals = signals
        self._of_host, self._of_contained = RunSignals(), RunSignals()
        self._host = host(self._of_host)
        self._build = contained
        self._contained: RunEngine | None = None
        self._is_contained = is_contained
        self._expects = expects

    async def resume(self, run: "UnfinishedRun") -> None:
        await (await self._engine_of(run.run_id)).resume(run)

    async def join(self, run: "UnfinishedRun", timeout_s: float) -> None:
        await (await self._engine_of(run.run_id)).join(run, timeout_s)

    async def set_aside(self, run: "UnfinishedRun") -> None:
        await (await self._engine_of(run.run_id)).set_aside(run)

    def unfinished(self) -> Sequence[str]:
        others = () if self._contained is None else self._contained.unfinished()
        return (*self._host.unfinished(), *others)

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._host.run(), name="scheduler of jobs on the host")
            running = False
            while True:
                if not running and (self._contained is not None or await self._expects()):
                    running = True
                    group.create_task(self._loaded().run(), name="scheduler of jobs in containers")
                await self._signals.something()
                self._of_host.wake()
                self._of_contained.wake()

    async def _engine_of(self, job_id: str) -> RunEngine:
        return self._loaded() if await self._is_contained(job_id) else self._host

    def _loaded(self) -> RunEngine:
        if self._contained is None:
            self._contained = self._build(self._of_contained)
        return self._contained


class JobService(LazyEngine[RunEngine]):
    """Implementation of core.runs.recovery.RunsOfKind for jobs, and of core.store.feed.ChangeListener. It is
    woken by every change of a job's state.

    `changed`: called with every change of a job. `leftovers`: returns whether earlier hubs left anything of
    jobs that is to be removed; blocking.
    `shows`: there are messages that show jobs, so that every commit counts."""

    def __init__(
        self,
        jobs: "Callable[[], JobViews]",
        build: Callable[[RunSignals], RunEngine],
        build_monitor: Callable[[], Monitor],
        changed: Callable[[], None],
        leftovers: Callable[[], bool],
    ) -> None:
        super().__init__(build)
        self._leftovers = leftovers
        self._changed = changed
        self._jobs = jobs
        self._build_monitor = build_monitor
        self._monitor: Monitor | None = None
        self.shows = False

    def changed(self, changes: "Changes") -> None:
        if changes.jobs:
            self._signals.wake()
            self._changed()
        if self._monitor is not None:
            self._monitor.changed(changes)

    async def run(self) -> None:
        """Carry jobs out until cancelled; without one, wait for the first."""
        idle = self._engine is None and not await asyncio.to_thread(self._leftovers)
        if idle and not await self._jobs().has_waiting_jobs():
            await self._signals.something()
        self._monitor, self.shows = self._build_monitor(), True
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._monitor.run(), name="monitor of jobs")
            tasks.create_task(self._loaded().run(), name="scheduler of jobs")


CREATE = "create_job"
"""People whose role has this tool may have jobs, however they ask for one."""
_PREVIOUS_CHARS = 8_000
NO_LIMIT = DayLeft()


# The state of containers, which decides before each full job of a routine whether it may run.


class Readiness(StrEnum):
    """The state of containers. HOST: they are turned off, so jobs run on the host; READY: on, and Docker
    answers; UNREACHABLE: on, and it does not."""

    HOST = "host"
    READY = "ready"
    UNREACHABLE = "unreachable"


UNREACHABLE_TEXT = (
    "Containers are turned on ([sandbox] enabled = true), but Docker does not answer, so no job was started. "
    "Start Docker and check it with `hubbub sandbox status`, or set [sandbox] enabled = false to run jobs on "
    "the host."
)
"""The reason a full job is refused, with the fix."""


class ContainerProbe(Protocol):
    """The look at containers before each full job."""

    async def readiness(self) -> Readiness:
        """Return their state now."""
        ...


@dataclass(frozen=True, slots=True)
class RoutineWork:
    """The work of a routine's run, which a job is to do. `order`: its task is for people; `question`: the
    model's first message; `left`: of the routine's budget today."""

    run_id: str
    title: str
    order: JobOrder
    question: str
    iterations: int
    left: DayLeft = NO_LIMIT


@dataclass(frozen=True, slots=True)
class Choices:
    """What a job in a container can choose in the place of the usual worker and the usual image."""

    agents: tuple[str, ...] = ()
    images: tuple[str, ...] = ()


class JobDispatcher:
    """The maker of new jobs. `budget`: the configured limits of each; `review`: their owners accept or reject
    their results; `containers`: there may be jobs in containers; `agents`: the agent CLIs that may do
    these; `images`: those that a container may be made of, first the usual one."""

    def __init__(
        self,
        pipeline: CallPipeline,
        budget: JobBudget,
        ids: Ids,
        *,
        review: bool = False,
        containers: bool = False,
        agents: Sequence[str] = (),
        images: Sequence[str] = (),
    ) -> None:
        self._images = images
        self._agents = agents
        self._containers = containers
        self._review = review
        self._pipeline = pipeline
        self._budget = budget
        self._ids = ids

    @property
    def choices(self) -> Choices:
        """What a job in a container can choose; nothing where there are none."""
        return Choices(tuple(self._agents), tuple(self._images[1:])) if self._containers else Choices()

    def new(
        self,
        owner: Principal,
        order: JobOrder,
        *,
        key: str,
        thread_id: str | None = None,
        told_in: tuple[str, Address] | None = None,
    ) -> NewJob:
        """Return a job for a person, to be stored next. Raises JobRefused."""
        self._require_permission(owner)
        if not order.task.strip():
            raise JobRefused("a job needs a task")
        if len(order.task) > MAX_TASK_CHARS:
            raise JobRefused(f"a task has at most {MAX_TASK_CHARS} characters")
        return NewJob(
            id=self._ids.row_id(),
            owner_id=owner.user_id,
            key=key,
            task=order.task.strip(),
            scope=self._scope(owner, order.tools) if order.project is None else (),
            budget=self._budget,
            thread_id=thread_id,
            told_in=told_in,
            priority=order.priority,
            actor=owner.user_id,
            review=self._review,
            project=None if order.project is None else self._project(order.project, order.tools),
            mode=self._mode(order.mode, order.project),
            image=self._image(order.image, order.project),
        )

    def refusal(self, owner: Principal, order: JobOrder) -> str | None:
        """Return why a person may have no such job; None if they may. Its task is not judged."""
        try:
            self._require_permission(owner)
            if order.project is None:
                self._scope(owner, order.tools)
            else:
                self._project(order.project, order.tools)
            self._mode(order.mode, order.project)
            self._image(order.image, order.project)
        except JobRefused as error:
            return str(error)
        return None

    def for_routine(self, owner: Principal, work: RoutineWork) -> NewJob:
        """Return the job that does the work of a routine's run. Raises JobRefused.

        No conversation hears of it, and no one reviews it: its result is the run's."""
        new = self.new(owner, work.order, key=f"run:{work.run_id}")
        budget = replace(
            self._budget,
            iterations=work.iterations,
            day_tokens=work.left.tokens,
            day_micro_usd=work.left.micro_usd,
        )
        return replace(
            new,
            name=work.title,
            question=work.question,
            run_id=work.run_id,
            budget=budget,
            review=False,
            actor=None,
        )

    def _project(self, project: str, tools: Sequence[str]) -> str:
        if not self._containers:
            raise JobRefused(
                "Jobs in containers are turned off in this hub; see [sandbox] in its configuration."
            )
        if tools:
            raise JobRefused("A job in a container has the container's own tools; name no others.")
        try:
            return guard_of(self._pipeline.workspace).name(project)
        except ToolDenied as error:
            raise JobRefused(f"A job can't work on {quoted(project[:200])}: {error.reason}.") from error

    def _mode(self, mode: str, project: str | None) -> str:
        if mode == WORKER:
            return mode
        if project is None:
            raise JobRefused("An agent CLI works in a container only; start the job with sandbox.")
        if mode not in self._agents:
            known = ", ".join([WORKER, *self._agents])
            raise JobRefused(
                f"No job can work by {quoted(mode[:64])} here. The modes are: {known}; see [sandbox] agents"
                " in the configuration."
            )
        return mode

    def _image(self, image: str | None, project: str | None) -> str | None:
        if image is None:
            return None
        if project is None:
            raise JobRefused("Only a container has an image; start the job with sandbox.")
        if image not in self._images:
            raise JobRefused(
                f"No job can have the image {quoted(image[:255])} here. The images are:"
                f" {', '.join(self._images)}; see [sandbox] images in the configuration."
            )
        return image

    def again(self, owner: Principal, job: JobRow, *, key: str) -> NewJob:
        """Return a job that repeats one that has ended, and knows what became of it. Raises JobRefused."""
        # What an extension brought is there again only if it is still active.
        gone = {tool for tool in job.scope if is_of_server(tool)} - self._pipeline.workable(owner)
        named = set(job.scope) - set(self._pipeline.unattended(owner)) - gone
        tools = [tool for tool in job.scope if tool in named]
        order = JobOrder(job.task, tools, job.priority, job.project, job.mode, job.image)
        new = self.new(owner, order, key=key)
        before = "\n\n".join(filter(None, (job.reason, job.result or "")))[:_PREVIOUS_CHARS]
        told = fence_tool_output(f"job {job.short_id}", before)
        question = f"{job.task}\n\nAn earlier attempt at this ended as {job.state.value}:\n{told}"
        # The rest of the day on which it was first dispatched says nothing about today.
        budget = replace(job.budget, day_tokens=None, day_micro_usd=None)
        return replace(
            new, question=question, thread_id=job.thread_id, parent=job.id, budget=budget, name=job.title
        )

    def _require_permission(self, owner: Principal) -> None:
        policy = self._pipeline.effective_policy.policy()
        admin = policy.admin
        disabled = CREATE in admin.disabled or CREATE in admin.disabled_for.get(owner.user_id, ())
        allowed = policy.roles.access(owner.role, CREATE, Data.OWN) is Access.ALLOWED
        if owner.role is Role.GUEST or disabled or not allowed or admin.unreadable is not None:
            raise JobRefused("Jobs are not available to you here.")

    def _scope(self, owner: Principal, tools: Sequence[str]) -> tuple[str, ...]:
        refused = sorted(set(tools) - self._pipeline.workable(owner))
        if refused:
            names = ", ".join(quoted(name[:64]) for name in refused[:5])
            raise JobRefused(f"No job of yours can use {names}.")
        return tuple(dict.fromkeys([*self._pipeline.unattended(owner), *tools]))
