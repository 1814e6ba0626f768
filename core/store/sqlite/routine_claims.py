"""Claiming runs of routines: each slot, event and delivery once, and none against the guardrails."""

from collections.abc import Sequence

from core.store.codec import storable
from core.store.routines import Claim, ClaimRefusal, NewRun, RoutineRow
from core.store.sqlite.routines import MOST_WAITING, by_id
from core.store.sqlite.transaction import Transaction

COALESCED = "a later slot took its place while it waited"


def claim(tx: Transaction, new: NewRun) -> Claim:
    """See Routines.claim_run."""
    known = tx.one("SELECT id FROM routine_runs WHERE routine_id = ? AND key = ?", new.routine_id, new.key)
    if known is not None:
        return Claim(known[0], repeated=True)
    routine = by_id(tx, new.routine_id)
    if routine is None:
        return Claim(None, ClaimRefusal.GONE)
    refusal = _refusal(tx, routine, new)
    if refusal is not None:
        rests_us = _cools_until(routine) - tx.clock.now()
        return Claim(None, refusal, rests_us=max(0, rests_us))
    not_before = max(new.due_at, routine.backoff_until if new.heeds_guardrails else 0)
    _insert(tx, new, not_before, rests_from=tx.clock.now())
    return Claim(new.id)


def _refusal(tx: Transaction, routine: RoutineRow, new: NewRun) -> ClaimRefusal | None:
    now = tx.clock.now()
    waiting = tx.one(
        "SELECT count(*) FROM routine_runs WHERE routine_id = ? AND state = 'waiting'", routine.id
    )
    if waiting is not None and waiting[0] >= MOST_WAITING:
        return ClaimRefusal.QUEUE_FULL
    if not routine.enabled:
        return ClaimRefusal.PAUSED
    if not new.heeds_guardrails:
        return None
    if now < _cools_until(routine):
        return ClaimRefusal.COOLING_DOWN
    if new.content_hash is not None and routine.text.dedup_window_us and _repeats(tx, routine, new, now):
        return ClaimRefusal.REPEATED
    return None


def _cools_until(routine: RoutineRow) -> int:
    last = routine.last_claimed_at
    return 0 if last is None else last + routine.text.cooldown_us


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


def claim_slots(
    tx: Transaction,
    routine_id: str,
    slot_at: int,
    runs: Sequence[NewRun],
    next_slot_at: int | None,
    skipped: int,
) -> tuple[Claim, ...]:
    """See Routines.claim_slots. A slot within the cooldown waits for its end: it is late, not lost.

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


def _claim_slot(tx: Transaction, routine: RoutineRow, new: NewRun) -> Claim:
    known = tx.one("SELECT id FROM routine_runs WHERE routine_id = ? AND key = ?", new.routine_id, new.key)
    if known is not None:
        return Claim(known[0], repeated=True)
    now = tx.clock.now()
    late_until = _late_until(tx, routine.id)
    cools_until = _cools_until(routine) if late_until is None else late_until
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
    _insert(tx, new, not_before, rests_from=max(now, not_before))
    return Claim(new.id)


def _late_until(tx: Transaction, routine_id: str) -> int | None:
    """Return until when a slot of the routine waits that came while it rested; None if none does."""
    row = tx.one(
        "SELECT max(not_before) FROM routine_runs"
        " WHERE routine_id = ? AND state = 'waiting' AND kind = 'cron' AND not_before > due_at",
        routine_id,
    )
    return None if row is None else row[0]


def _runs(tx: Transaction, routine_id: str) -> bool:
    sql = "SELECT 1 FROM routine_runs WHERE routine_id = ? AND state = 'running' LIMIT 1"
    return tx.one(sql, routine_id) is not None
