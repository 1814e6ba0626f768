"""The store's side for routines: part of core.store.port.Store, with the same promises."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from core.gates import ConsentSettings
from core.store.rows import NewCall, RunCheck
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Note, Said, ToolResult

if TYPE_CHECKING:
    from core.routine import Spent
    from core.store.routines import (
        BudgetDay,
        Claim,
        DueNotice,
        NewRun,
        NextDue,
        RoutineRow,
        RoutineRunRow,
        RoutineText,
        RunEnd,
        RunSteps,
        StartedRun,
    )


class Routines(Protocol):
    """What is kept of routines, and how their runs are claimed: each slot, event and delivery once."""

    # --- what they are ---------------------------------------------------------------------------------
    async def save_routine(
        self, routine_id: str, owner_id: str, text: "RoutineText", thread_id: str | None
    ) -> "RoutineRow | None":
        """Keep a new routine, enabled. None: the owner has one of that name, or the path is taken."""
        ...

    async def rewrite_routine(
        self, routine_id: str, text: "RoutineText", *, version: int
    ) -> "RoutineRow | None":
        """Change what a routine says and nothing of what its runs did. None: it was changed since that
        version, or deleted; or the name or path is taken."""
        ...

    async def switch_routine(
        self, routine_id: str, *, enabled: bool, next_slot_at: int | None, because: str | None = None
    ) -> "RoutineRow | None":
        """Pause it or let it go on; None if there is none. What waits of a paused one is skipped; failures
        are forgotten when it goes on."""
        ...

    async def delete_routine(self, routine_id: str) -> bool:
        """Forget it and its runs; False if there is none."""
        ...

    async def has_routines(self) -> bool:
        """Whether there is any."""
        ...

    async def routine(self, routine_id: str) -> "RoutineRow | None":
        """One by id."""
        ...

    async def routines(
        self, owner_id: str | None = None, *, after: str = "", limit: int | None = None, containing: str = ""
    ) -> "Sequence[RoutineRow]":
        """Of one owner, or (None) of all, in order of name: those behind the name `after` whose names contain
        a text, without regard to the case of ASCII letters; at most `limit`."""
        ...

    async def routine_named(self, owner_id: str, named: str) -> "RoutineRow | None":
        """One of an owner's by its name, or by its id."""
        ...

    async def count_routines(self, owner_id: str) -> int:
        """How many an owner has."""
        ...

    async def routines_due_first(self, owner_id: str, limit: int) -> "Sequence[RoutineRow]":
        """An owner's enabled cron routines, the one with the next slot first."""
        ...

    async def listening_routines(self, after: str, limit: int) -> "Sequence[RoutineRow]":
        """What waits for something from outside: enabled event routines and all webhooks, of all owners, in
        order of id, those behind the id `after`."""
        ...

    async def event_routines(self, owner_id: str) -> "Sequence[RoutineRow]":
        """The owner's enabled routines that system events fire, in order of name."""
        ...

    # --- firing ----------------------------------------------------------------------------------------
    async def claim_run(self, new: "NewRun") -> "Claim":
        """Queue a run, unless its key was claimed before or the routine's guardrails stand against it."""
        ...

    async def due_routines(self, now: int) -> "Sequence[RoutineRow]":
        """Enabled ones whose next slot has come, the longest due first."""
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
        """Queue runs for the slots that have come and go on to `next_slot_at`, in one transaction; nothing if
        the routine no longer waits for `slot_at`. Of slots that would wait together only the newest does,
        the others are recorded as skipped; `skipped` more are counted."""
        ...

    async def begin_runs(self, *, most: int, lease_until: int, day: "BudgetDay") -> "Sequence[StartedRun]":
        """Start queued runs whose time has come, the longest due first: never more than `most` run at once,
        nor more of one routine than it allows. One beyond its routine's budget of the day is skipped."""
        ...

    async def extend_leases(self, run_ids: Sequence[str], until: int) -> None:
        """These runs are still carried out."""
        ...

    async def finish_run(self, run_id: str, end: "RunEnd") -> bool:
        """End a run and count it, in one transaction with the notice; False if it no longer ran."""
        ...

    async def lapsed_runs(self, before: int | None) -> "Sequence[StartedRun]":
        """Runs whose leases lapsed before then; None: all, for a starting hub has none of its own."""
        ...

    async def requeue_run(self, run_id: str) -> bool:
        """A run that was cut off goes on after its last step; False if it does not run. The outcome of a call
        that was running is unknown, and stays so."""
        ...

    async def next_due(self) -> "NextDue":
        """When there is something to do next."""
        ...

    # --- telling ---------------------------------------------------------------------------------------
    async def due_notices(self, now: int) -> "Sequence[DueNotice]":
        """What owners are to be told now."""
        ...

    async def keep_own_place(self, routine_id: str, place: str) -> None:
        """Remember a routine's own thread: JSON of a channel, the address it was opened at, and its own one
        (null: there are no threads there)."""
        ...

    async def settle_notice(self, run_id: str, *, sent: bool) -> None:
        """It was handed over, or nobody is told: at this time."""
        ...

    async def notices_sent(self, routine_id: str, since: int) -> int:
        """How many notices of its runs were handed over after that time."""
        ...

    async def routine_runs(self, routine_id: str, limit: int) -> "Sequence[RoutineRunRow]":
        """The newest runs, newest first."""
        ...


# The store's side of runs that use tools: every step is kept before the next, as in a turn.
#
# Part of core.store.port.Store, with the same promises. Units that write to a run raise StaleTurn when it
# no longer runs.


class RunJournal(Protocol):
    """The journal of such runs."""

    async def run_steps(self, run_id: str) -> "RunSteps":
        """Everything kept of a run's steps."""
        ...

    async def run_standing(self, owner_id: str, thread_id: str | None) -> ConsentSettings:
        """What a routine's owner has said once and for all that holds for its runs now."""
        ...

    async def open_run_journal(self, run_id: str, scope: str, asked: Said) -> None:
        """What the run may do, fixed from here on, and what it is asked."""
        ...

    async def record_run_reply(
        self,
        run_id: str,
        reply: AssistantSaid,
        calls: Sequence[NewCall],
        spent: "Spent",
        *,
        refused: Sequence[ToolResult] = (),
    ) -> None:
        """Keep a reply with the calls it asks for, and what the run has used up to now. `refused`: the
        outcome of those that go no further."""
        ...

    async def record_run_note(self, run_id: str, note: Note) -> None:
        """Keep something the hub tells the model."""
        ...

    async def mark_run_call(
        self, run_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        """As Store.mark_running: before an effect of a run, judged once more on what holds now, also that
        tools are not paused. Returns the refusal, and then writes nothing."""
        ...

    async def record_run_process(self, call_id: str, process: ProcessInfo) -> None:
        """Remember the child of a running call, so that a later hub can end it."""
        ...

    async def finish_run_call(self, run_id: str, result: ToolResult) -> None:
        """Keep the outcome of a call; each gets exactly one, a second one raises StaleTurn."""
        ...
