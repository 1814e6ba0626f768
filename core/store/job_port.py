"""The store's units for jobs: part of core.store.port.Store, with the same promises."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from core.events import NO_MODELS, ModelTrace
from core.gates import ConsentSettings
from core.job import JobEvent, JobLimits, JobPlan, JobRow, JobState, NewJob
from core.lazy import dataclass
from core.messages import File, Message
from core.ports import OutboxRow
from core.store.routine_rows import RunSteps
from core.store.rows import TurnState
from core.transcript import AssistantSaid, Note, UserSaid
from core.usage import Reservation
from core.users import Principal


@dataclass(frozen=True, slots=True)
class StartedJob:
    """A job that this hub carries out. `spent_us`, `used_tokens`, `used_micro_usd`: by its earlier starts.

    `models`: the ones called by earlier starts.
    `reserved`: the reservation of its first model call, if one was made."""

    job: JobRow
    owner: Principal
    standing: ConsentSettings
    steps: RunSteps
    spent_us: int
    used_tokens: int
    used_micro_usd: int
    models: ModelTrace = NO_MODELS
    reserved: Reservation | None = None

    @property
    def consent_thread(self) -> str:
        """The thread whose grants hold for it, or a name for it."""
        return self.job.thread_id or self.job.id


def task_of(started: StartedJob) -> str:
    """Return what the job is to do, as its journal begins."""
    return next((one.text for one in started.steps.said if isinstance(one, UserSaid)), "")


@dataclass(frozen=True, slots=True)
class JobEnd:
    """The end of a job's run.

    `path`: the states it goes through, each with the reason.
    `told`: makes the message to its thread with the menu of that id, and the note for the model there.
    `answer`: the model's last reply, for the journal. `result`: as people and models read it.
    `files`: sent with the message.
    `missing_grants`: see JobRow.
    `told_at`: returns when the message is sent, given the time zone that the owner chose; None for at once.
    `hears`: a message that the model has not heard yet keeps the job running."""

    path: tuple[tuple[JobState, str], ...]
    told: Callable[[JobRow, RunSteps, str], tuple[Message, str]]
    models: ModelTrace = NO_MODELS
    answer: AssistantSaid | None = None
    result: str | None = None
    hears: bool = False
    files: tuple[File, ...] = ()
    told_at: Callable[[str | None], int] | None = None
    missing_grants: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobEnded:
    """The outcome of `end_job`. `heard`: messages keep it running; nothing of the end was recorded."""

    outbox: tuple[OutboxRow, ...] = ()
    heard: bool = False


@dataclass(frozen=True, slots=True)
class JobRepaired:
    """The outcome of `repair_job`. `again`: the job to go on with; None if it has ended."""

    again: StartedJob | None = None
    outbox: tuple[OutboxRow, ...] = ()


class JobViews(Protocol):
    """The units that list jobs."""

    async def job(self, owner_id: str, named: str) -> JobRow | None:
        """Return a job."""
        ...

    async def jobs(self, owner_id: str | None, limit: int, *, working: bool = False) -> Sequence[JobRow]:
        """Return the newest jobs of one person or (None) of all, after jobs that wait for a decision.
        `working`: only waiting or running ones."""
        ...

    async def job_events(self, job_id: str, after: int, limit: int) -> Sequence[JobEvent]:
        """Return the events after that position, in order."""
        ...

    async def stopped_jobs(self, job_ids: Sequence[str]) -> Sequence[str]:
        """Return those of the jobs that were asked to stop."""
        ...

    async def job_counts(self) -> Mapping[JobState, int]:
        """Return how many jobs are in each state."""
        ...

    async def has_waiting_jobs(self) -> bool:
        """Return True if a job waits for a slot, its message for a change, or its result to be told."""
        ...


class Jobs(JobViews, Protocol):
    """The units of jobs. `named`: a job's short id, or its id; another person's job is none."""

    async def save_job(self, new: NewJob) -> JobRow:
        """Store a job that is pending. Repeating its key returns the job that has it.

        Raises JobRefused if too many wait, or its owner is none of the hub's people."""
        ...

    async def begin_jobs(self, limits: JobLimits) -> Sequence[StartedJob]:
        """Start pending jobs while there are slots, each with its journal. People take turns; of one person's
        jobs the one with the highest priority starts first, then the oldest."""
        ...

    async def resume_job(self, job_id: str) -> StartedJob | None:
        """Start an interrupted job again, after its last step. Return None if this hub does not have it in
        hand, or it was cancelled: then its journal is closed.

        The outcome of a call that was running becomes unknown and stays so."""
        ...

    async def join_job_messages(self, job_id: str) -> Sequence[UserSaid]:
        """Journal the messages that wait, in order, and return them. They end the plan that was running.
        Raises StaleTurn."""
        ...

    async def begin_plan(self, job_id: str, plan: JobPlan, said: AssistantSaid, models: ModelTrace) -> None:
        """Store the plan of a job, which runs from here on, and journal it as `said`. Raises StaleTurn."""
        ...

    async def end_plan(self, job_id: str, status: str, models: ModelTrace, note: Note | None = None) -> None:
        """End the plan of a job, or record that it has none. `status`: shown among its events; `note`: for
        the model. Raises StaleTurn."""
        ...

    async def end_job(self, job_id: str, end: JobEnd) -> JobEnded:
        """End a job's run, in one transaction with its message and its conversation's note.

        A cancelled one only has its journal closed."""
        ...

    async def repair_job(self, job_id: str, end: JobEnd, most: int) -> JobRepaired:
        """Take up a stuck job again after its last step, in one transaction; what it has used stays counted.
        The outcome of a call that was running becomes unknown and stays so.

        A job that was taken up `most` times ends as `end` has it. One that is not in progress any more, or
        not in this hub's hand, only has its journal closed."""
        ...

    async def change_job(
        self, owner_id: str, named: str, to: JobState, reason: str, *, actor: str | None
    ) -> JobRow | None:
        """Change a job's state for a person; None if there is none. Raises IllegalChange.

        One that runs is asked to stop, and keeps its slot until it has."""
        ...

    async def tell_job(self, owner_id: str, named: str, key: str, text: str) -> JobRow | None:
        """Store a message for a job, once for each key; None if there is none.

        Raises JobRefused if its work is done."""
        ...


@dataclass(frozen=True, slots=True)
class SubtaskRow:
    """A subtask of a job. `arguments`: of the call that it carries out, as JSON. `state`: of its run."""

    id: str
    arguments: str
    state: TurnState
    created_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class JobParts:
    """The subtasks of a job in order, and the files that it handed over.

    `thread_id`, `seq`: the conversation and the position in it of the message with the files; empty and 0 if
    they were not sent to one."""

    subtasks: tuple[SubtaskRow, ...] = ()
    files: tuple[File, ...] = ()
    thread_id: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True)
class JobsShown:
    """The outcome of `show_jobs`. `later`: the jobs whose last change is being sent, so that they are to be
    shown again; `over`: those that have ended."""

    outbox: tuple[OutboxRow, ...]
    later: frozenset[str]
    over: frozenset[str]


class JobMonitors(Protocol):
    """The units of the messages that show jobs: those as they run and about ends that quiet hours hold back,
    subtasks, and files."""

    async def show_jobs(self, job_ids: Sequence[str], said: Callable[[JobRow], Message]) -> JobsShown:
        """Queue a change of each job's message, or the message itself, if it is not what `said` makes of the
        job now. A job that has ended gets no message for itself."""
        ...

    async def jobs_to_show(self) -> Sequence[str]:
        """Return the jobs that work, or whose message is out of date."""
        ...

    async def next_job_notice(self) -> int | None:
        """Return when the next message that quiet hours hold back is due; None if there is none."""
        ...

    async def send_job_notices(self, now: int) -> Sequence[OutboxRow]:
        """Queue the messages held back that are due, each once, without buttons that no longer apply."""
        ...

    async def job_parts(self, job_id: str) -> JobParts:
        """Return the subtasks of a job and the files sent with its result."""
        ...
