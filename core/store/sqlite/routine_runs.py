"""Runs of routines: `waiting → running → ok | attention | failed | interrupted`, or `skipped` unstarted.

How they are claimed is in routine_claims.py, how they are looked at in routine_views.py.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Sequence
from dataclasses import replace

from core.clock import SECOND_US
from core.routine_run import RunStatus
from core.store.codec import storable
from core.store.routines import BudgetDay, DayLeft, RoutineRunRow, RunEnd, StartedRun
from core.store.sqlite import run_journal
from core.store.sqlite.day_budgets import day_left, skip_for_budget, tell_of_budget
from core.store.sqlite.routines import ROUTINE, ROUTINE_COLUMNS, routine_of, skip_waiting
from core.store.sqlite.transaction import Row, Transaction

KEPT_RUNS = 500
KEPT_FOR_US = 24 * 3600 * SECOND_US
"""Of a routine's runs the newest are kept, and the last day's: their keys are what makes claims unique."""

RUN = (
    "r.id, r.routine_id, r.key, r.kind, r.input, r.state, r.due_at, r.not_before, r.attempts,"
    " r.started_at, r.ended_at, r.result, r.error, r.input_tokens, r.output_tokens,"
    " r.notice, r.notice_state, r.created_at, r.cost_micro_usd"
)


def run_of(row: Row) -> RoutineRunRow:
    """From the columns `RUN`."""
    id_, routine_id, key, kind, fired_by, state = row[:6]
    return RoutineRunRow(id_, routine_id, key, kind, fired_by, RunStatus(state), *row[6:])


def _started_of(row: Row) -> StartedRun:
    return StartedRun(run_of(row[ROUTINE_COLUMNS:]), routine_of(row[:ROUTINE_COLUMNS]))


def begin(tx: Transaction, most: int, lease_until: int, day: BudgetDay) -> tuple[StartedRun, ...]:
    """See Routines.begin_runs."""
    now = tx.clock.now()
    running: dict[str, int] = dict(
        tx.connection.execute(
            "SELECT routine_id, count(*) FROM routine_runs WHERE state = 'running' GROUP BY routine_id"
        ).fetchall()
    )
    room = most - sum(running.values())
    if room <= 0:
        return ()
    chosen: dict[str, DayLeft] = {}
    queued = tx.all(
        "SELECT r.id, r.routine_id, o.max_concurrent FROM routine_runs r"
        " JOIN routines o ON o.id = r.routine_id"
        " WHERE r.state = 'waiting' AND r.not_before <= ? ORDER BY r.not_before, r.due_at, r.id",
        now,
    )
    for run_id, routine_id, limit in queued:
        if len(chosen) == room:
            break
        if running.get(routine_id, 0) < limit:
            tx.changes.runs.add(routine_id)
            left = day_left(tx, routine_id, day.since)
            if isinstance(left, str):
                skip_for_budget(tx, run_id, left, day)
                continue
            running[routine_id] = running.get(routine_id, 0) + 1
            chosen[run_id] = left
            tx.run(
                "UPDATE routine_runs SET state = 'running', attempts = attempts + 1, lease_until = ?,"
                " started_at = ? WHERE id = ? AND state = 'waiting'",
                lease_until,
                now,
                run_id,
            )
    return tuple(
        replace(started, left=left)
        for run_id, left in chosen.items()
        for started in _started(tx, "r.id = ?", run_id)
    )


def _started(tx: Transaction, condition: str, *parameters: object) -> tuple[StartedRun, ...]:
    rows = tx.all(
        f"SELECT {ROUTINE}, {RUN} FROM routine_runs r JOIN routines o ON o.id = r.routine_id"
        f" WHERE r.state = 'running' AND {condition} ORDER BY r.started_at, r.id",
        *parameters,
    )
    return tuple(_started_of(row) for row in rows)


def extend_leases(tx: Transaction, run_ids: Sequence[str], until: int) -> None:
    """See Routines.extend_leases."""
    for run_id in run_ids:
        tx.run("UPDATE routine_runs SET lease_until = ? WHERE id = ? AND state = 'running'", until, run_id)


def lapsed(tx: Transaction, before: int | None) -> tuple[StartedRun, ...]:
    """See Routines.lapsed_runs."""
    return _started(tx, "(?1 IS NULL OR r.lease_until < ?1)", before)


def requeue(tx: Transaction, run_id: str) -> bool:
    """See Routines.requeue_run."""
    changed = tx.run(
        "UPDATE routine_runs SET state = 'waiting', lease_until = NULL, started_at = NULL"
        " WHERE id = ? AND state = 'running'",
        run_id,
    )
    if changed:
        run_journal.settle(tx, run_id, goes_on=True)
    return changed > 0


def finish(tx: Transaction, run_id: str, end: RunEnd) -> bool:
    """See Routines.finish_run."""
    now = tx.clock.now()
    found = tx.one("SELECT routine_id FROM routine_runs WHERE id = ? AND state = 'running'", run_id)
    if found is None:
        return False
    (routine_id,) = found
    run_journal.settle(tx, run_id, goes_on=False)
    paused = _count(tx, routine_id, end, now)
    notice = end.pause_notice if paused and end.pause_notice else end.notice
    if end.budget_since and not tell_of_budget(tx, run_id, end.budget_since):
        notice = None
    tx.run(
        "UPDATE routine_runs SET state = ?, lease_until = NULL, ended_at = ?, result = ?, error = ?,"
        " input_tokens = ?, output_tokens = ?, cost_micro_usd = ?, notice = ?, notice_state = ?,"
        " notice_at = ?, menu_id = ?, missing_grants = ? WHERE id = ?",
        end.state.value,
        now,
        None if end.result is None else storable(end.result),
        None if end.error is None else storable(end.error),
        end.input_tokens,
        end.output_tokens,
        end.cost_micro_usd,
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


def _count(tx: Transaction, routine_id: str, end: RunEnd, now: int) -> bool:
    """Count a run that ended; whether the routine was paused by it."""
    failed = end.state is RunStatus.FAILED and not end.budget_since
    tx.run(
        "UPDATE routines SET run_count = run_count + 1, last_ended_at = ?,"
        " failures = CASE WHEN ? THEN failures + 1 WHEN ? THEN 0 ELSE failures END,"
        " backoff_until = iif(?, ?, iif(?, 0, backoff_until)), state = coalesce(?, state),"
        " tested_as = coalesce(?, tested_as) WHERE id = ?",
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
    if not failed:
        return False
    tx.run(  # runs that were queued before it failed wait as well; those that a person asked for do not
        "UPDATE routine_runs SET not_before = max(not_before, ?)"
        " WHERE routine_id = ? AND state = 'waiting' AND kind <> 'manual'",
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
    tx.run(
        "DELETE FROM routine_runs WHERE routine_id = ?1 AND created_at < ?2 AND ended_at IS NOT NULL"
        " AND notice_state <> 'due' AND created_at <= (SELECT created_at FROM routine_runs"
        " WHERE routine_id = ?1 ORDER BY created_at DESC LIMIT 1 OFFSET ?3)",
        routine_id,
        now - KEPT_FOR_US,
        KEPT_RUNS,
    )
