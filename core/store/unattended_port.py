"""The store's units for routines, jobs and their runs: part of core.store.port.Store, with the same promises.

Every step of a run is recorded before the next, as in a turn. Units that write to a run raise StaleTurn if it
no longer runs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from core.events import NO_MODELS, ModelTrace
from core.gates import ConsentSettings
from core.job import JobEvent, JobLimits, JobPlan, JobRow, JobState, NewJob
from core.lazy import dataclass
from core.messages import File, Message
from core.ports import OutboxRow
from core.store.routine_rows import RunSteps, StartedJob
from core.store.rows import TurnState
from core.transcript import AssistantSaid, Note, UserSaid

if TYPE_CHECKING:
    from core.store.routine_rows import (
        BudgetDay,
        Claim,
        DueNotice,
        JobOfRun,
        NewRun,
        NextDue,
        RoutineRow,
        RoutineRunRow,
        RoutineText,
        RunEnd,
        StartedRun,
        StartedSubtask,
    )


class FiredRoutines(Protocol):
    """The routines that something outside, or their schedule, is about to fire."""

    async def routines_due_first(self, owner_id: str, limit: int) -> "Sequence[RoutineRow]":
        """Return an owner's enabled cron routines, earliest next slot first."""
        ...

    async def listening_routines(self, after: str, limit: int) -> "Sequence[RoutineRow]":
        """Return all owners' routines with external triggers: enabled event routines and all webhooks.

        They are ordered by id and start after the id `after`."""
        ...

    async def event_routines(self, owner_id: str) -> "Sequence[RoutineRow]":
        """Return the owner's enabled routines that system events fire, ordered by name."""
        ...


class Routines(FiredRoutines, Protocol):
    """The units for the definitions of routines."""

    async def save_routine(
        self, routine_id: str, owner_id: str, text: "RoutineText", thread_id: str | None
    ) -> "RoutineRow | None":
        """Store a new routine, enabled. Return None if the owner has one of that name, or the path is
        taken."""
        ...

    async def rewrite_routine(
        self, routine_id: str, text: "RoutineText", *, version: int
    ) -> "RoutineRow | None":
        """Change a routine's definition, and nothing that its runs recorded.

        Return None if it was changed since that version or deleted, or the name or path is taken."""
        ...

    async def switch_routine(
        self, routine_id: str, *, enabled: bool, next_slot_at: int | None, because: str | None = None
    ) -> "RoutineRow | None":
        """Pause or unpause a routine. Return None if there is none.

        Pausing skips its waiting runs. Unpausing clears its failures."""
        ...

    async def delete_routine(self, routine_id: str) -> bool:
        """Delete a routine and its runs. Return False if there is none."""
        ...

    async def forget_done_routines(self, before: int) -> int:
        """Delete the routines whose only slot, and whose last run, were before that time. Return their
        number."""
        ...

    async def has_routines(self) -> bool:
        """Return True if there are any routines."""
        ...

    async def routine(self, routine_id: str) -> "RoutineRow | None":
        """Return a routine by id."""
        ...

    async def routines(
        self, owner_id: str | None = None, *, after: str = "", limit: int | None = None, containing: str = ""
    ) -> "Sequence[RoutineRow]":
        """Return routines of one owner, or (None) of all, ordered by name.

        `after`: only names after this one.
        `containing`: only names that contain this text, ignoring the case of ASCII letters.
        `limit`: at most this many."""
        ...

    async def routine_named(self, owner_id: str, named: str) -> "RoutineRow | None":
        """Return an owner's routine by its name or id."""
        ...

    async def count_routines(self, owner_id: str) -> int:
        """Return the number of an owner's routines."""
        ...


class RoutineRuns(Protocol):
    """The units for claiming runs of routines: each slot, event and delivery once."""

    async def claim_run(self, new: "NewRun") -> "Claim":
        """Queue a run, unless its key was claimed before or the routine's guardrails forbid it."""
        ...

    async def due_routines(self, now: int) -> "Sequence[RoutineRow]":
        """Return the enabled routines whose next slot is due, longest due first."""
        ...

    async def claim_slots(
        self,
        routine_id: str,
        slot_at: int,
        runs: "Sequence[NewRun]",
        *,
        next_slot_at: int | None,
        skipped: int = 0,
    ) -> "Sequence[Claim]":
        """Queue runs for the slots that are due and advance to `next_slot_at`, in one transaction. Do
        nothing if the routine no longer waits for `slot_at`.

        If several slots would wait, only the newest does; the others are recorded as skipped.
        `skipped`: the number of further slots to count as skipped."""
        ...

    async def begin_runs(self, *, most: int, day: "BudgetDay") -> "Sequence[StartedRun]":
        """Start queued runs that are due, longest due first. Never more than `most` run at once, nor more
        of one routine than it allows.

        A run beyond its routine's budget of the day is skipped."""
        ...

    async def finish_run(self, run_id: str, end: "RunEnd") -> bool:
        """End a run and count it, in one transaction with the notice. Return False if this hub no longer
        has it in hand."""
        ...

    async def dispatch_job(self, run_id: str, new: "NewJob") -> "JobRow":
        """Store the job that does a run's work. In the same transaction the run leaves this hub's hand: it is
        running until the job is over, and is ended by `finish_run` then.

        Raises StaleTurn if this hub does not have the run in hand, and JobRefused as `Jobs.save_job`."""
        ...

    async def ended_jobs(self) -> "Sequence[JobOfRun]":
        """Return the running runs whose jobs are over, the earliest first."""
        ...

    async def started_run(self, run_id: str) -> "StartedRun | None":
        """Return a running run."""
        ...

    async def resume_run(self, run_id: str, *, day: "BudgetDay") -> "StartedRun | None":
        """Start an interrupted run again, after its last step. Return None if this hub does not have it in
        hand, or the budget of the day is used up: then it is skipped.

        The outcome of a call that was running becomes unknown and stays so."""
        ...


class RunViews(Protocol):
    """The units that list runs and settle their notices."""

    async def next_due(self) -> "NextDue":
        """Return the times of the next slot, run and notice."""
        ...

    async def routine_runs(self, routine_id: str, limit: int) -> "Sequence[RoutineRunRow]":
        """Return the newest runs, newest first."""
        ...

    async def due_notices(self, now: int) -> "Sequence[DueNotice]":
        """Return the notices due now."""
        ...

    async def keep_own_place(self, routine_id: str, place: str) -> None:
        """Record a routine's own thread: JSON of a channel, the address it was opened at, and its own
        address (null: the channel has no threads there)."""
        ...

    async def settle_notice(self, run_id: str, *, sent: bool) -> None:
        """Mark a run's due notice as sent or dropped, at the current time."""
        ...

    async def notices_sent(self, routine_id: str, since: int) -> int:
        """Return the number of notices of its runs sent after that time."""
        ...


class RunJournal(Protocol):
    """The journal of runs, with tools or without."""

    async def run_steps(self, run_id: str) -> "RunSteps":
        """Return all stored steps of a run."""
        ...

    async def run_standing(self, run_id: str, owner_id: str, thread_id: str | None) -> ConsentSettings:
        """Return the owner's grants and settings, and the run's own grants, that are in force for the run."""
        ...

    async def open_run_journal(self, run_id: str, scope: str, asked: UserSaid) -> None:
        """Record the run's scope, which is fixed from here on, and its question."""
        ...

    async def begin_subtask(self, call_id: str, asked: UserSaid) -> "StartedSubtask":
        """Begin the subtask of a call, which is a run with the call's id, or return it as far as it has got.
        Raises StaleTurn if the call's run doesn't run any more, or was stopped.

        The outcome of a call of it that was running becomes unknown and stays so."""
        ...

    async def end_subtask(self, call_id: str, answer: AssistantSaid, models: "ModelTrace") -> None:
        """Record a subtask's result. Raises StaleTurn if it doesn't run any more.

        One without a result ends with the outcome of its call."""
        ...

    async def keep_models(self, run_id: str, models: "ModelTrace") -> None:
        """Record the models that a run of any kind has called so far. Raises StaleTurn also if a person
        stopped it."""
        ...


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
