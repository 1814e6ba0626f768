"""A person's jobs, for the tools, the API and the commands that use it.

Another person's job is none: it is refused in the same words as one that does not exist.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.consent.rules import DELEGATE
from core.ids import Ids
from core.job import (
    MAX_TASK_CHARS,
    PREVIEW_CHARS,
    WORKING,
    JobEvent,
    JobEventKind,
    JobOrder,
    JobRefused,
    JobRow,
    JobState,
    NoSuchJob,
)
from core.jobs import notices
from core.jobs.service import JobDispatcher
from core.messages import Address
from core.safety.fencing import sanitise, unfence
from core.safety.leaks import LeakDetector
from core.store.container_port import ContainerRecords, ContainerUse, StoredChanges
from core.store.rows import CallRow, CallState
from core.store.unattended_port import JobMonitors, JobParts, Jobs, SubtaskRow
from core.tool import Effect
from core.users import Principal

PAGE = 200


class JobRegistry:
    """The operations on jobs. Their errors say what the caller can do. `dispatcher` None: no new jobs."""

    def __init__(
        self,
        jobs: Jobs,
        monitors: JobMonitors,
        dispatcher: JobDispatcher | None,
        ids: Ids,
        shown: Callable[[CallRow], str],
        leaks: LeakDetector,
        records: ContainerRecords,
    ) -> None:
        """Keep the parts. `shown`: a call's arguments as people see them."""
        self._jobs = jobs
        self._monitors = monitors
        self._dispatcher = dispatcher
        self._ids = ids
        self._shown = shown
        self._leaks = leaks
        self._records = records

    async def create(
        self,
        by: Principal,
        order: JobOrder,
        *,
        key: str = "",
        thread_id: str | None = None,
        told_in: tuple[str, Address] | None = None,
    ) -> JobRow:
        """Dispatch a job. A repeated `key` returns the job that has it. `told_in`: see NewJob. Raises
        JobRefused."""
        key = key or self._ids.row_id()
        new = self._maker().new(by, order, key=key, thread_id=thread_id, told_in=told_in)
        return await self._jobs.save_job(new)

    async def listed(self, by: Principal, limit: int = PAGE, *, working: bool = False) -> Sequence[JobRow]:
        """Return the person's newest jobs, after jobs that wait for their decision; `working`: only waiting
        or running ones."""
        return await self._jobs.jobs(by.user_id, limit, working=working)

    async def find(self, by: Principal, named: str) -> JobRow:
        """Return a job by its short id or id. Raises NoSuchJob."""
        return self._known(await self._jobs.job(by.user_id, named), named)

    async def events(
        self, by: Principal, named: str, *, after: int = 0, limit: int = PAGE
    ) -> Sequence[JobEvent]:
        """Return a job's events after that position, each as a short preview without credentials. Raises
        NoSuchJob."""
        job = await self.find(by, named)
        return [self._preview(event) for event in await self._jobs.job_events(job.id, after, limit)]

    async def parts(self, by: Principal, named: str) -> JobParts:
        """Return a job's subtasks, whose arguments are shown as people see them, and the files of its result.
        Raises NoSuchJob."""
        job = await self.find(by, named)
        parts = await self._monitors.job_parts(job.id)
        return replace(parts, subtasks=tuple(map(self._subtask, parts.subtasks)))

    def _subtask(self, row: SubtaskRow) -> SubtaskRow:
        use = JobEvent(0, 0, JobEventKind.TOOL_USE, DELEGATE, row.arguments)
        return replace(row, arguments=self._preview(use).text)

    def _preview(self, event: JobEvent) -> JobEvent:
        text = event.text
        if event.kind is JobEventKind.TOOL_USE:
            text = self._shown(CallRow("", "", 0, event.name, text, CallState.INTENT, Effect.NONE))
        elif event.kind is JobEventKind.TOOL_RESULT:
            text = unfence(text)
        text = self._leaks.redacted(sanitise(text))
        return replace(event, text=text if len(text) <= PREVIEW_CHARS else f"{text[: PREVIEW_CHARS - 1]}…")

    async def prompt(self, by: Principal, named: str, text: str, *, key: str = "") -> JobRow:
        """Give a job a message. Raises NoSuchJob, and JobRefused if it has ended."""
        if not text.strip() or len(text) > MAX_TASK_CHARS:
            raise JobRefused(f"a message to a job has 1 to {MAX_TASK_CHARS} characters")
        told = await self._jobs.tell_job(by.user_id, named, key or self._ids.row_id(), text.strip())
        return self._known(told, named)

    async def cancel(self, by: Principal, named: str) -> JobRow:
        """Cancel a job. Raises NoSuchJob, and JobRefused if it has ended."""
        job = await self.find(by, named)
        if job.state not in WORKING:
            raise JobRefused(notices.over(job))
        changed = await self._jobs.change_job(
            by.user_id, job.id, JobState.CANCELLED, f"Cancelled by {by.name}", actor=by.user_id
        )
        return self._known(changed, named)

    async def accept(self, by: Principal, named: str, digest: str | None = None) -> JobRow:
        """Accept the result of a job that was submitted. `digest`: of the changes that the person saw. Raises
        NoSuchJob, IllegalChange, JobRefused."""
        job = await self.find(by, named)
        if digest is not None and digest != job.digest:
            raise JobRefused(f"Job {job.short_id} has other changes than these.")
        changed = await self._jobs.change_job(
            by.user_id, named, JobState.ACCEPTED, f"Accepted by {by.name}", actor=by.user_id
        )
        return self._known(changed, named)

    async def changes(self, by: Principal, named: str) -> StoredChanges:
        """Return the changes of a job in a container. Raises NoSuchJob, and JobRefused if it has none."""
        job = await self.find(by, named)
        found = await self._records.changes_of(job.id)
        if found is None:
            raise JobRefused(f"Job {job.short_id} has changed no files of a project.")
        return replace(found, diff=self._leaks.redacted(found.diff))

    async def container(self, by: Principal, named: str) -> ContainerUse:
        """Return what the container of a job used. Raises NoSuchJob, and JobRefused if there was none."""
        job = await self.find(by, named)
        found = await self._records.use_of(job.id)
        if found is None:
            raise JobRefused(f"Job {job.short_id} has had no container.")
        reached = (replace(one, target=self._leaks.redacted(one.target)) for one in found.connections)
        return replace(found, connections=tuple(reached))

    async def reject(self, by: Principal, named: str, reason: str = "") -> JobRow:
        """Reject the result of a job that was submitted. Raises NoSuchJob, JobRefused."""
        job = await self.find(by, named)
        if job.state is not JobState.SUBMITTED:
            raise JobRefused(f"Job {job.short_id} is {job.state.value}; it was not submitted.")
        told = f"Rejected by {by.name}" + (f": {reason.strip()}" if reason.strip() else "")
        changed = await self._jobs.change_job(by.user_id, job.id, JobState.FAILED, told, actor=by.user_id)
        return self._known(changed, named)

    async def restart(self, by: Principal, named: str) -> JobRow:
        """Dispatch a job that repeats one that has ended, and knows why it ended. Raises NoSuchJob,
        JobRefused."""
        job = await self.find(by, named)
        if job.state in WORKING:
            raise JobRefused(f"Job {job.short_id} is {job.state.value}; cancel it first.")
        return await self._jobs.save_job(self._maker().again(by, job, key=self._ids.row_id()))

    def _maker(self) -> JobDispatcher:
        if self._dispatcher is None:
            raise JobRefused("Jobs are turned off in this hub.")
        return self._dispatcher

    def _known(self, job: JobRow | None, named: str) -> JobRow:
        if job is None:
            raise NoSuchJob(notices.unknown(named))
        return job


# The same for the chat assistant, in words.

TOLD_EVENTS = 50


class JobsInWords:
    """Implementation of core.tools.builtin.routine_and_job_tools.JobOperations."""

    def __init__(self, registry: JobRegistry) -> None:
        self._registry = registry

    async def create(self, by: Principal, thread_id: str, order: JobOrder, key: str) -> str:
        return notices.created(await self._registry.create(by, order, key=key, thread_id=thread_id))

    async def listed(self, by: Principal, *, working: bool) -> str:
        return notices.listing(await self._registry.listed(by, working=working))

    async def status(self, by: Principal, named: str) -> str:
        return notices.status(await self._registry.find(by, named))

    async def events(self, by: Principal, named: str, after: int) -> str:
        found = await self._registry.events(by, named, after=after, limit=TOLD_EVENTS)
        return "\n".join(map(_line, found)) or "There are no events after that."

    async def prompt(self, by: Principal, named: str, text: str, key: str) -> str:
        return notices.told(await self._registry.prompt(by, named, text, key=key))

    async def cancel(self, by: Principal, named: str) -> str:
        return notices.cancelled(await self._registry.cancel(by, named))


def _line(event: JobEvent) -> str:
    about = f"{event.name} ({event.detail})" if event.detail else event.name
    return f"{event.seq} {event.kind.value} {about}: {event.text}"
