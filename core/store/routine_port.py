"""The store's units for routines: part of core.store.port.Store, with the same promises."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from core.gates import ConsentSettings
from core.transcript import AssistantSaid, UserSaid

if TYPE_CHECKING:
    from core.events import ModelTrace
    from core.job import JobRow, NewJob
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
        RunSteps,
        StartedRun,
        StartedSubtask,
    )


# The store's side of runs: every step is recorded before the next, as in a turn.
#
# Part of core.store.port.Store, with the same promises. Units that write to a run raise StaleTurn
# if it no longer runs.


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
