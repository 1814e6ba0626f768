"""Runs of routines: `waiting → running → ok | attention | failed | interrupted`, or `skipped`
unstarted.

Claims are below, listings and notices in routine_views.py.
"""

# ruff: noqa: S608 - only a constant of this module, values are always bound
# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Sequence
from dataclasses import replace

from core.clock import SECOND_US
from core.routine import RunStatus
from core.store.codecs import storable
from core.store.engine import Facet, reads, writes
from core.store.routines import (
    BudgetDay,
    Claim,
    ClaimRefusal,
    DayLeft,
    NewRun,
    RoutineRow,
    RoutineRunRow,
    RunEnd,
    StartedRun,
)
from core.store.sql import routines, run_journal
from core.store.sql.leases import not_held
from core.store.sql.routines import MAX_WAITING, ROUTINE, ROUTINE_COLUMNS, by_id, routine_of, skip_waiting
from core.store.transaction import Row, Transaction

# The daily budget of a routine's runs, checked before each of them starts.

MICRO_USD = 1_000_000
_ITS = "WHERE id = (SELECT routine_id FROM routine_runs WHERE id = ?1)"


def day_left(tx: Transaction, routine_id: str, since: int) -> DayLeft | str:
    """Return the remaining budget of the day that began then, or the reason none is left."""
    row = tx.one("SELECT daily_runs, daily_tokens, daily_micro_usd FROM routines WHERE id = ?", routine_id)
    if row is None or row == (None, None, None):
        return DayLeft()
    most_runs, most_tokens, most_micro_usd = row
    runs, tokens, micro_usd = _used(tx, routine_id, since)
    if most_runs is not None and runs >= most_runs:
        return f"it has run {runs} times today, its daily limit"
    if most_tokens is not None and tokens >= most_tokens:
        return f"it has used {tokens} tokens today; its daily limit is {most_tokens}"
    if most_micro_usd is not None and micro_usd >= most_micro_usd:
        spent, most = micro_usd / MICRO_USD, most_micro_usd / MICRO_USD
        return f"it has cost {spent:.2f} USD today; its daily limit is {most:.2f} USD"
    return DayLeft(
        None if most_tokens is None else most_tokens - tokens,
        None if most_micro_usd is None else most_micro_usd - micro_usd,
    )


def skip_for_budget(tx: Transaction, run_id: str, why: str, day: BudgetDay) -> None:
    """Skip a run that is beyond the budget. Its owner is notified once a day, and for every run a
    person asked for."""
    tx.run(
        "UPDATE routine_runs SET state = 'skipped', ended_at = ?, error = ? WHERE id = ?",
        tx.clock.now(),
        why,
        run_id,
    )
    run_journal.close(tx, run_id, RunStatus.SKIPPED)
    if not tell_of_budget(tx, run_id, day.since):
        return
    definition, timezone = tx.one(
        "SELECT o.definition, u.timezone FROM routine_runs r JOIN routines o ON o.id = r.routine_id"
        " JOIN users u ON u.id = o.owner_id WHERE r.id = ?",
        run_id,
    ) or ("", None)
    notice, notice_at = day.told(definition, why, timezone)
    tx.run(
        "UPDATE routine_runs SET notice = ?, notice_state = 'due', notice_at = ? WHERE id = ?",
        storable(notice),
        notice_at,
        run_id,
    )


def tell_of_budget(tx: Transaction, run_id: str, since: int) -> bool:
    """Return True if the owner has not been notified on the day that began then, or a person asked for
    the run. Records them as notified."""
    told = tx.run(
        f"UPDATE routines SET budget_notice_at = ?2 {_ITS} AND (coalesce(budget_notice_at, 0) < ?3"
        " OR (SELECT kind FROM routine_runs WHERE id = ?1) = 'manual')",
        run_id,
        tx.clock.now(),
        since,
    )
    return told > 0


def _used(tx: Transaction, routine_id: str, since: int) -> tuple[int, int, int]:
    """Return the runs, tokens and micro-USD used since then."""
    row = tx.one(
        "SELECT count(*), coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(cost_micro_usd), 0)"
        " FROM routine_runs WHERE routine_id = ? AND started_at >= ?",
        routine_id,
        since,
    )
    return (0, 0, 0) if row is None else (row[0], row[1], row[2])


KEPT_RUNS = 500
KEPT_FOR_US = 24 * 3600 * SECOND_US
"""The age up to which runs are kept; the newest are kept at any age. Their keys make claims
unique."""

RUN = (
    "r.id, r.routine_id, r.key, r.kind, r.input, r.state, r.due_at, r.not_before, r.attempts,"
    " r.started_at, r.ended_at, r.result, r.error, r.input_tokens, r.output_tokens,"
    " r.notice, r.notice_state, r.created_at, r.cost_micro_usd"
)


def run_of(row: Row) -> RoutineRunRow:
    """Return a run from the columns `RUN`."""
    id_, routine_id, key, kind, fired_by, state = row[:6]
    return RoutineRunRow(id_, routine_id, key, kind, fired_by, RunStatus(state), *row[6:])


def _started_of(row: Row) -> StartedRun:
    return StartedRun(run_of(row[ROUTINE_COLUMNS:]), routine_of(row[:ROUTINE_COLUMNS]))


def _started(tx: Transaction, condition: str, *parameters: object) -> tuple[StartedRun, ...]:
    rows = tx.all(
        f"SELECT {ROUTINE}, {RUN} FROM routine_runs r JOIN routines o ON o.id = r.routine_id"
        f" WHERE r.state = 'running' AND {condition} ORDER BY r.started_at, r.id",
        *parameters,
    )
    return tuple(_started_of(row) for row in rows)


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
    tx.run(  # a slot that came while it ran waits until the cooldown that begins now is over
        "UPDATE routine_runs SET not_before = ?1 + (SELECT cooldown_us FROM routines WHERE id = ?2)"
        " WHERE routine_id = ?2 AND state = 'waiting' AND kind = 'cron'"
        " AND not_before < ?1 + (SELECT cooldown_us FROM routines WHERE id = ?2)",
        now,
        routine_id,
    )
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


# Claims of routine runs: each slot, event and delivery once, and none against the guardrails.

COALESCED = "replaced by a later scheduled run while it waited"


def claim(tx: Transaction, new: NewRun) -> Claim:
    known = tx.one("SELECT id FROM routine_runs WHERE routine_id = ? AND key = ?", new.routine_id, new.key)
    if known is not None:
        return Claim(known[0], repeated=True)
    routine = by_id(tx, new.routine_id)
    if routine is None:
        return Claim(None, ClaimRefusal.GONE)
    refusal = _refusal(tx, routine, new)
    if refusal is not None:
        rests_us = routine.cools_until - tx.clock.now()
        return Claim(None, refusal, rests_us=max(0, rests_us))
    not_before = max(new.due_at, routine.backoff_until if new.heeds_guardrails else 0)
    _insert(tx, new, not_before, rests_from=tx.clock.now())
    return Claim(new.id)


def _refusal(tx: Transaction, routine: RoutineRow, new: NewRun) -> ClaimRefusal | None:
    now = tx.clock.now()
    waiting = tx.one(
        "SELECT count(*) FROM routine_runs WHERE routine_id = ? AND state = 'waiting'", routine.id
    )
    if waiting is not None and waiting[0] >= MAX_WAITING:
        return ClaimRefusal.QUEUE_FULL
    if not routine.enabled:
        return ClaimRefusal.PAUSED
    if not new.heeds_guardrails:
        return None
    if now < routine.cools_until:
        return ClaimRefusal.COOLING_DOWN
    if new.content_hash is not None and routine.text.dedup_window_us and _repeats(tx, routine, new, now):
        return ClaimRefusal.REPEATED
    return None


def _repeats(tx: Transaction, routine: RoutineRow, new: NewRun, now: int) -> bool:
    found = tx.one(
        "SELECT 1 FROM routine_runs WHERE routine_id = ? AND content_hash = ? AND created_at > ? LIMIT 1",
        routine.id,
        new.content_hash,
        now - routine.text.dedup_window_us,
    )
    return found is not None


def _insert(tx: Transaction, new: NewRun, not_before: int, *, rests_from: int) -> None:
    """Queue the run. `rests_from`: when the cooldown begins."""
    now = tx.clock.now()
    tx.run(
        "INSERT INTO routine_runs (id, routine_id, key, kind, input, content_hash, state, due_at, not_before,"
        " created_at) VALUES (?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?)",
        new.id,
        new.routine_id,
        new.key,
        new.kind,
        storable(new.input),
        new.content_hash,
        new.due_at,
        not_before,
        now,
    )
    tx.run("UPDATE routines SET last_claimed_at = ? WHERE id = ?", rests_from, new.routine_id)
    tx.changes.runs.add(new.routine_id)


def _claim_slot(tx: Transaction, routine: RoutineRow, new: NewRun) -> Claim:
    known = tx.one("SELECT id FROM routine_runs WHERE routine_id = ? AND key = ?", new.routine_id, new.key)
    if known is not None:
        return Claim(known[0], repeated=True)
    now = tx.clock.now()
    late_until = _late_until(tx, routine.id)
    cools_until = routine.cools_until if late_until is None else late_until
    not_before = max(new.due_at, cools_until if new.heeds_guardrails else 0, routine.backoff_until)
    late = not_before > now or late_until is not None
    if new.heeds_guardrails and (late or _runs(tx, routine.id)):
        tx.run(
            "UPDATE routine_runs SET state = 'skipped', ended_at = ?, error = ?"
            " WHERE routine_id = ? AND state = 'waiting' AND kind = 'cron'",
            now,
            COALESCED,
            routine.id,
        )
        run_journal.close_skipped(tx, routine.id)
    _insert(tx, new, not_before, rests_from=max(now, not_before))
    return Claim(new.id)


def _late_until(tx: Transaction, routine_id: str) -> int | None:
    """Return when a slot delayed past its time may run, or None if no slot is delayed."""
    row = tx.one(
        "SELECT max(not_before) FROM routine_runs"
        " WHERE routine_id = ? AND state = 'waiting' AND kind = 'cron' AND not_before > due_at",
        routine_id,
    )
    return None if row is None else row[0]


def _runs(tx: Transaction, routine_id: str) -> bool:
    sql = "SELECT 1 FROM routine_runs WHERE routine_id = ? AND state = 'running' LIMIT 1"
    return tx.one(sql, routine_id) is not None


class RunUnits(Facet):
    """The units of RoutineRuns."""

    @writes
    def claim_run(self, tx: Transaction, new: "NewRun") -> "Claim":
        return claim(tx, new)

    @reads
    def due_routines(self, tx: Transaction, now: int) -> "Sequence[RoutineRow]":
        return routines.due(tx, now)

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
        """A slot within the cooldown waits for its end: it is late, not lost.

        The next one takes its place and its time, or slots closer together than the cooldown would never run.
        """
        routine = by_id(tx, routine_id)
        moved = tx.run(
            "UPDATE routines SET next_slot_at = ?, skipped_slots = skipped_slots + ?"
            " WHERE id = ? AND enabled = 1 AND next_slot_at = ?",
            next_slot_at,
            skipped,
            routine_id,
            slot_at,
        )
        if routine is None or not moved:
            return ()
        return tuple(_claim_slot(tx, routine, new) for new in runs)

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
                    "UPDATE routine_runs SET state = 'running', attempts = attempts + 1, fence = ?,"
                    " started_at = ? WHERE id = ? AND state = 'waiting'",
                    tx.lease.fence,
                    now,
                    run_id,
                )
                run_journal.go_on(tx, run_id)
        return tuple(
            replace(started, left=left)
            for run_id, left in chosen.items()
            for started in _started(tx, "r.id = ?", run_id)
        )

    @writes
    def finish_run(self, tx: Transaction, run_id: str, end: "RunEnd") -> bool:
        now = tx.clock.now()
        found = tx.one("SELECT routine_id FROM routine_runs WHERE id = ? AND state = 'running'", run_id)
        if found is None:
            return False
        (routine_id,) = found
        run_journal.close(tx, run_id, end.state)
        paused = _count(tx, routine_id, end, now)
        notice = end.pause_notice if paused and end.pause_notice else end.notice
        if end.budget_since and not tell_of_budget(tx, run_id, end.budget_since):
            notice = None
        tx.run(
            "UPDATE routine_runs SET state = ?, fence = NULL, ended_at = ?, result = ?, error = ?,"
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

    @reads
    def lapsed_runs(self, tx: Transaction) -> "Sequence[StartedRun]":
        return _started(tx, not_held("r"))

    @writes
    def requeue_run(self, tx: Transaction, run_id: str) -> bool:
        changed = tx.run(
            "UPDATE routine_runs SET state = 'waiting', fence = NULL, started_at = NULL"
            " WHERE id = ? AND state = 'running'",
            run_id,
        )
        if changed:
            run_journal.suspend(tx, run_id)
        return changed > 0
