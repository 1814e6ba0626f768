"""Runs of routines: `waiting → running → ok | attention | failed | interrupted`, or `skipped` unstarted.

A running one is a row of `runs` too, as every run that a hub has in hand. What becomes a run is decided in
routine_guardrails.py.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Sequence
from dataclasses import replace

from core.audit_chain import AuditKind
from core.clock import SECOND_US
from core.errors import StaleTurn
from core.job import JobRow, NewJob
from core.messages import File
from core.routine import RunStatus
from core.store.codecs import message_from_json, storable
from core.store.routine_rows import (
    BudgetDay,
    Claim,
    DayLeft,
    DueNotice,
    JobOfRun,
    MenuView,
    NewRun,
    NextDue,
    RoutineRow,
    RoutineRunRow,
    RunEnd,
    StartedRun,
)
from core.store.rows import TurnState
from core.store.sql import jobs, routine_definitions, run_journal
from core.store.sql.audit import record
from core.store.sql.job_changes import job_row
from core.store.sql.job_views import JOB, job_of
from core.store.sql.recovery import resume
from core.store.sql.routine_definitions import ROUTINE, ROUTINE_COLUMNS, by_id, routine_of, skip_waiting
from core.store.sql.routine_guardrails import (
    claim,
    claim_slot,
    day_left,
    hold_slots,
    skip_for_budget,
    tell_of_budget,
)
from core.store.sql.run_journal import with_subtasks
from core.store.sql.turns import models_of
from core.store.sql.usage import not_made, used_by_run
from core.store.units import Facet, Row, Transaction, reads, writes
from core.usage import Reservation

KEPT_RUNS = 500
KEPT_FOR_US = 24 * 3600 * SECOND_US
"""The age up to which runs are kept; the newest are kept at any age. Their keys make claims
unique."""

RUN = (
    "r.id, r.routine_id, r.key, r.kind, r.input, r.state, r.due_at, r.not_before, r.attempts,"
    " r.started_at, r.ended_at, r.result, r.error,"
    f" {used_by_run('input_tokens')}, {used_by_run('output_tokens')},"
    f" r.notice, r.notice_state, r.created_at, {used_by_run('micro_usd')},"
    " (SELECT w.id FROM jobs w WHERE w.run_id = r.id), r.missing_grants"
)


_JOB_OVER = "r.state = 'running' AND j.state NOT IN ('pending', 'in_progress', 'stuck')"


def run_of(row: Row) -> RoutineRunRow:
    """Return a run from the columns `RUN`."""
    id_, routine_id, key, kind, fired_by, state = row[:6]
    missing = grants_of(row[-1])
    return RoutineRunRow(
        id_, routine_id, key, kind, fired_by, RunStatus(state), *row[6:-1], missing_grants=missing
    )


def grants_of(stored: str | None) -> tuple[str, ...]:
    """Return grants from the column `missing_grants`."""
    return () if stored is None else tuple(json.loads(stored))


def _started(tx: Transaction, run_id: str) -> StartedRun | None:
    row = tx.one(
        f"SELECT {ROUTINE}, {RUN} FROM routine_runs r JOIN routines o ON o.id = r.routine_id"
        " WHERE r.id = ? AND r.state = 'running'",
        run_id,
    )
    if row is None:
        return None
    run, routine = run_of(row[ROUTINE_COLUMNS:]), routine_of(row[:ROUTINE_COLUMNS])
    return StartedRun(run, routine, models=models_of(tx, run_id))


def _start(tx: Transaction, run_id: str, routine_id: str, day: BudgetDay) -> DayLeft | None:
    """Start a run, unless the day's budget is used up: then it is skipped. Return what is left of the
    budget."""
    tx.changes.runs.add(routine_id)
    left = day_left(tx, routine_id, day.since)
    if isinstance(left, str):
        skip_for_budget(tx, run_id, left, day)
        return None
    tx.run(
        "UPDATE routine_runs SET state = 'running', attempts = attempts + 1, started_at = ? WHERE id = ?",
        tx.clock.now(),
        run_id,
    )
    return left


def _may_end(tx: Transaction, run_id: str) -> str | None:
    """Return the routine of a run that this hub can end: it has it in hand, or the run's job is over."""
    row = tx.one(
        "SELECT r.routine_id FROM routine_runs r JOIN jobs j ON j.run_id = r.id"
        f" WHERE {_JOB_OVER} AND r.id = ?",
        run_id,
    )
    return _in_hand(tx, run_id) if row is None else row[0]


def _in_hand(tx: Transaction, run_id: str) -> str | None:
    """Return the routine of a run that this hub has in hand."""
    row = tx.one(
        "SELECT r.routine_id FROM routine_runs r JOIN runs j ON j.id = r.id"
        " WHERE r.id = ? AND j.state = 'running' AND j.fence = ?",
        run_id,
        tx.lease.fence,
    )
    return None if row is None else row[0]


def _count(tx: Transaction, routine_id: str, end: RunEnd, now: int) -> bool:
    """Count an ended run. Return True if it paused the routine."""
    failed = end.state is RunStatus.FAILED and not end.budget_since
    tx.run(
        "UPDATE routines SET run_count = run_count + 1, last_ended_at = ?,"
        " failures = CASE WHEN ? THEN failures + 1 WHEN ? THEN 0 ELSE failures END,"
        " backoff_until = CASE WHEN ? THEN ? WHEN ? THEN 0 ELSE backoff_until END,"
        " state = coalesce(?, state), tested_as = coalesce(?, tested_as) WHERE id = ?",
        now,
        failed,
        end.state in {RunStatus.OK, RunStatus.ATTENTION},
        failed,
        now + end.backoff_us,
        end.state in {RunStatus.OK, RunStatus.ATTENTION},
        None if end.document is None else storable(end.document),
        end.tested_as,
        routine_id,
    )
    hold_slots(tx, routine_id, ended_at=now)
    if not failed:
        return False
    tx.run(  # runs queued before the failure wait too, except runs that a person asked for
        "UPDATE routine_runs SET not_before = ?1"
        " WHERE routine_id = ?2 AND state = 'waiting' AND kind <> 'manual' AND not_before < ?1",
        now + end.backoff_us,
        routine_id,
    )
    if not end.pause_after:
        return False
    paused = tx.run(
        "UPDATE routines SET enabled = 0, paused_because = ?, next_slot_at = NULL"
        " WHERE id = ? AND enabled = 1 AND failures >= ?",
        storable(end.pause_reason),
        routine_id,
        end.pause_after,
    )
    if paused:
        skip_waiting(tx, routine_id, end.pause_reason)
    return paused > 0


def _forget_old(tx: Transaction, routine_id: str, now: int) -> None:
    old = (
        "FROM routine_runs WHERE routine_id = ?1 AND created_at < ?2 AND ended_at IS NOT NULL"
        " AND notice_state <> 'due' AND created_at <= (SELECT created_at FROM routine_runs"
        " WHERE routine_id = ?1 ORDER BY created_at DESC LIMIT 1 OFFSET ?3)"
    )
    which = (routine_id, now - KEPT_FOR_US, KEPT_RUNS)
    run_journal.forget(tx, f"SELECT id {old}", *which)
    tx.run(f"DELETE {old}", *which)


class RunUnits(Facet):
    """The units of RoutineRuns."""

    @writes
    def claim_run(self, tx: Transaction, new: "NewRun") -> "Claim":
        return claim(tx, by_id(tx, new.routine_id), new)

    @reads
    def due_routines(self, tx: Transaction, now: int) -> "Sequence[RoutineRow]":
        return routine_definitions.due(tx, now)

    @writes
    def claim_slots(
        self,
        tx: Transaction,
        routine_id: str,
        slot_at: int,
        runs: "Sequence[NewRun]",
        *,
        next_slot_at: int | None,
        skipped: int = 0,
    ) -> "Sequence[Claim]":
        # A slot within the cooldown waits for its end: it is late, not lost. The next one takes its
        # place and its time, or slots closer together than the cooldown would never run.
        routine = by_id(tx, routine_id)
        moved = tx.run(
            "UPDATE routines SET next_slot_at = ?1, skipped_slots = skipped_slots + ?2,"
            " done_at = CASE WHEN ?1 IS NULL THEN ?3 END"
            " WHERE id = ?4 AND enabled = 1 AND next_slot_at = ?5",
            next_slot_at,
            skipped,
            tx.clock.now(),
            routine_id,
            slot_at,
        )
        if routine is None or not moved:
            return ()
        return tuple(claim_slot(tx, routine, new) for new in runs)

    @writes
    def begin_runs(self, tx: Transaction, *, most: int, day: "BudgetDay") -> "Sequence[StartedRun]":
        now = tx.clock.now()
        counted = tx.all(
            "SELECT routine_id, count(*) FROM routine_runs WHERE state = 'running' GROUP BY routine_id"
        )
        running: dict[str, int] = {routine_id: count for routine_id, count in counted}
        room = most - sum(running.values())
        if room <= 0:
            return ()
        chosen: dict[str, tuple[DayLeft, Reservation | None]] = {}
        queued = tx.all(
            "SELECT r.id, r.routine_id, o.max_concurrent FROM routine_runs r"
            " JOIN routines o ON o.id = r.routine_id"
            " WHERE r.state = 'waiting' AND r.not_before <= ? ORDER BY r.not_before, r.due_at, r.id",
            now,
        )
        for run_id, routine_id, limit in queued:
            if len(chosen) == room:
                break
            if running.get(routine_id, 0) >= limit:
                continue
            left = _start(tx, run_id, routine_id, day)
            if left is not None:
                running[routine_id] = running.get(routine_id, 0) + 1
                chosen[run_id] = left, run_journal.begin(tx, run_id)
        started = ((_started(tx, run_id), *found) for run_id, found in chosen.items())
        return tuple(
            replace(run, left=left, reserved=reserved) for run, left, reserved in started if run is not None
        )

    @writes
    def resume_run(self, tx: Transaction, run_id: str, *, day: "BudgetDay") -> "StartedRun | None":
        routine_id = _in_hand(tx, run_id)
        if routine_id is None:
            return None
        run_journal.settle(tx, run_id, goes_on=True)
        # It is one of the day's runs already.
        tx.run("UPDATE routine_runs SET started_at = NULL WHERE id = ?", run_id)
        left = _start(tx, run_id, routine_id, day)
        if left is None:
            return None
        resume(tx, run_id)
        started = _started(tx, run_id)
        return None if started is None else replace(started, left=left)

    @writes
    def dispatch_job(self, tx: Transaction, run_id: str, new: "NewJob") -> "JobRow":
        routine_id = _in_hand(tx, run_id)
        if routine_id is None:
            raise StaleTurn(f"run {run_id} is not running, or another hub's")
        job = jobs.save(tx, new)
        not_made(tx, run_id)  # the job's own calls are reserved as they are made
        run_journal.close_run(tx, run_id, TurnState.DONE)
        tx.changes.runs.add(routine_id)
        return job

    @reads
    def ended_jobs(self, tx: Transaction) -> "Sequence[JobOfRun]":
        rows = tx.all(
            f"SELECT r.id, {JOB} FROM routine_runs r JOIN jobs j ON j.run_id = r.id WHERE {_JOB_OVER}"
            " ORDER BY j.ended_at, j.id"
        )
        found = ((_started(tx, row[0]), job_of(row[1:])) for row in rows)
        return tuple(
            JobOfRun(started, job, with_subtasks(tx, job.id)) for started, job in found if started is not None
        )

    @reads
    def started_run(self, tx: Transaction, run_id: str) -> "StartedRun | None":
        return _started(tx, run_id)

    @writes
    def finish_run(self, tx: Transaction, run_id: str, end: "RunEnd") -> bool:
        now = tx.clock.now()
        routine_id = _may_end(tx, run_id)
        if routine_id is None:
            return False
        run_journal.close(tx, run_id, end.state, end.answer, end.models)
        paused = _count(tx, routine_id, end, now)
        notice = end.pause_notice if paused and end.pause_notice else end.notice
        if end.budget_since and not tell_of_budget(tx, run_id, end.budget_since):
            notice = None
        tx.run(
            "UPDATE routine_runs SET state = ?, ended_at = ?, result = ?, error = ?,"
            " notice = ?, notice_state = ?, notice_at = ?, menu_id = ?, missing_grants = ? WHERE id = ?",
            end.state.value,
            now,
            None if end.result is None else storable(end.result),
            None if end.error is None else storable(end.error),
            None if notice is None else storable(notice),
            "none" if notice is None else "due",
            None if notice is None else end.notice_at or now,
            None if notice is None else end.menu_id,
            storable(json.dumps(end.missing_grants)) if end.missing_grants else None,
            run_id,
        )
        _forget_old(tx, routine_id, now)
        tx.changes.runs.add(routine_id)
        return True


_CHANGED_BY = (
    "SELECT j.id FROM jobs j JOIN job_containers s ON s.job_id = j.id"
    " WHERE j.run_id = r.id AND s.digest IS NOT NULL"
)


def _files_of(held: str | None) -> tuple[File, ...]:
    """Return the files that a run's job hands over, from the message held back for it."""
    return () if held is None else message_from_json(held).files


def _record_answer(tx: Transaction, run_id: str) -> None:
    """Close the audit chain of a run, from its trigger over its calls to its notice. A run without
    calls has no records."""
    row = tx.one(
        "SELECT r.state, r.key, n.outbox_id FROM routine_runs r"
        " LEFT JOIN notices n ON n.key = 'routine:' || r.id"
        " WHERE r.id = ? AND EXISTS (SELECT 1 FROM calls c WHERE c.turn_id = r.id)",
        run_id,
    )
    if row is not None:
        state, trigger, outbox_id = row
        outbox = [] if outbox_id is None else [outbox_id]
        record(tx, AuditKind.ANSWERED, run_id, state=state, trigger=trigger, outbox=outbox)


def menu(tx: Transaction, menu_id: str) -> MenuView | None:
    """Return the run whose notice has buttons with this id."""
    row = tx.one(
        "SELECT r.id, o.id, o.owner_id, o.name, o.enabled, r.state, r.kind, r.started_at, r.ended_at,"
        f" r.input, r.result, r.error, {used_by_run('input_tokens')}, {used_by_run('output_tokens')},"
        " o.definition, EXISTS (SELECT 1 FROM routine_runs a WHERE a.routine_id = o.id"
        " AND a.key = 'manual:snooze:' || r.id),"
        f" ({_CHANGED_BY}), r.missing_grants"
        " FROM routine_runs r JOIN routines o ON o.id = r.routine_id WHERE r.menu_id = ?",
        menu_id,
    )
    if row is None:
        return None
    run_id, routine_id, owner_id, name, enabled, state = row[:6]
    return MenuView(
        run_id,
        routine_id,
        owner_id,
        name,
        bool(enabled),
        RunStatus(state),
        *row[6:-3],
        snoozed=bool(row[-3]),
        changed_by=None if row[-2] is None else job_row(tx, row[-2]),
        missing_grants=grants_of(row[-1]),
    )


class RunViewUnits(Facet):
    """The units of RunViews."""

    @reads
    def next_due(self, tx: Transaction) -> NextDue:
        row = tx.one(
            "SELECT (SELECT min(next_slot_at) FROM routines WHERE enabled = 1),"
            " (SELECT min(not_before) FROM routine_runs WHERE state = 'waiting'),"
            " (SELECT min(notice_at) FROM routine_runs WHERE notice_state = 'due')"
        )
        return NextDue(None, None, None) if row is None else NextDue(*row)

    @reads
    def routine_runs(self, tx: Transaction, routine_id: str, limit: int) -> Sequence[RoutineRunRow]:
        rows = tx.all(
            f"SELECT {RUN} FROM routine_runs r WHERE r.routine_id = ? ORDER BY r.created_at DESC, r.id DESC"
            " LIMIT ?",
            routine_id,
            limit,
        )
        return tuple(run_of(row) for row in rows)

    @reads
    def due_notices(self, tx: Transaction, now: int) -> "Sequence[DueNotice]":
        rows = tx.all(
            "SELECT r.id, o.id, o.owner_id, o.name, o.definition, o.thread_id, r.notice, r.menu_id,"
            " o.own_place,"
            f" r.missing_grants, ({_CHANGED_BY}),"
            " (SELECT j.notice FROM jobs j WHERE j.run_id = r.id)"
            " FROM routine_runs r JOIN routines o ON o.id = r.routine_id"
            " WHERE r.notice_state = 'due' AND r.notice_at <= ? ORDER BY r.notice_at, r.id",
            now,
        )
        return tuple(
            DueNotice(
                *row[:-3],
                missing_grants=grants_of(row[-3]),
                files=_files_of(row[-1]),
                changes=row[-2] is not None,
            )
            for row in rows
        )

    @writes
    def keep_own_place(self, tx: Transaction, routine_id: str, place: str) -> None:
        tx.run("UPDATE routines SET own_place = ? WHERE id = ?", place, routine_id)

    @writes
    def settle_notice(self, tx: Transaction, run_id: str, *, sent: bool) -> None:
        changed = tx.run(
            "UPDATE routine_runs SET notice_state = ?, notice_at = ? WHERE id = ? AND notice_state = 'due'",
            "sent" if sent else "dropped",
            tx.clock.now(),
            run_id,
        )
        if changed:
            _record_answer(tx, run_id)

    @reads
    def notices_sent(self, tx: Transaction, routine_id: str, since: int) -> int:
        row = tx.one(
            "SELECT count(*) FROM routine_runs WHERE routine_id = ? AND notice_state = 'sent' AND"
            " notice_at > ?",
            routine_id,
            since,
        )
        return 0 if row is None else int(row[0])
