"""The guardrails of routines: the cooldown, backoff, repetition, the queue's length, the daily budget.

A slot, event or delivery is claimed once: it becomes a run that waits, or is refused with the reason.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from core.routine import RunStatus
from core.store.codecs import storable
from core.store.routine_rows import (
    RESTING,
    BudgetDay,
    Claim,
    ClaimRefusal,
    DayLeft,
    NewRun,
    RoutineRow,
    resting,
)
from core.store.sql import run_journal
from core.store.sql.usage import used_by_routine
from core.store.units import Transaction

MAX_WAITING = 1000
"""Maximum number of waiting runs of one routine."""
RESTING_KEPT = 20
"""Number of messages that found a routine resting which are kept: a busy group fills no list of runs."""
COALESCED = "replaced by a later scheduled run while it waited"
MICRO_USD = 1_000_000
_ITS = "WHERE id = (SELECT routine_id FROM routine_runs WHERE id = ?1)"


def cools_until(cooldown_us: int, last_claimed_at: int | None, last_ended_at: int | None) -> int:
    """Return the end of a routine's cooldown, in microseconds UTC: counted from the end of the last run, and
    from its claim until it has ended. 0 if it never ran."""
    last = max(last_claimed_at or 0, last_ended_at or 0)
    return last + cooldown_us if last else 0


def hold_slots(tx: Transaction, routine_id: str, ended_at: int) -> None:
    """Let slots that came while a run went on wait until the cooldown that begins with its end is over."""
    tx.run(
        "UPDATE routine_runs SET not_before = ?1 + (SELECT cooldown_us FROM routines WHERE id = ?2)"
        " WHERE routine_id = ?2 AND state = 'waiting' AND kind = 'cron'"
        " AND not_before < ?1 + (SELECT cooldown_us FROM routines WHERE id = ?2)",
        ended_at,
        routine_id,
    )


def claim(tx: Transaction, routine: RoutineRow | None, new: NewRun) -> Claim:
    known = tx.one("SELECT id FROM routine_runs WHERE routine_id = ? AND key = ?", new.routine_id, new.key)
    if known is not None:
        return Claim(known[0], repeated=True)
    if routine is None:
        return Claim(None, ClaimRefusal.GONE)
    refusal = _refusal(tx, routine, new)
    if refusal is not None:
        rests_us = routine.cools_until - tx.clock.now()
        if refusal is ClaimRefusal.COOLING_DOWN and new.kind == "event":
            _record_resting(tx, new, routine.cools_until)
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


def _record_resting(tx: Transaction, new: NewRun, until: int) -> None:
    """Record a message that fired nothing because of the cooldown, as a run that was skipped."""
    now = tx.clock.now()
    tx.run(
        "INSERT INTO routine_runs (id, routine_id, key, kind, input, state, due_at, not_before, created_at,"
        " ended_at, error) VALUES (?1, ?2, ?3, ?4, ?5, 'skipped', ?6, ?6, ?6, ?6, ?7)",
        new.id,
        new.routine_id,
        new.key,
        new.kind,
        storable(new.input),
        now,
        resting(until),
    )
    rested = f"routine_id = ?1 AND state = 'skipped' AND substr(error, 1, {len(RESTING)}) = '{RESTING}'"
    tx.run(
        f"DELETE FROM routine_runs WHERE {rested} AND created_at <= (SELECT created_at FROM routine_runs"
        f" WHERE {rested} ORDER BY created_at DESC LIMIT 1 OFFSET ?2)",
        new.routine_id,
        RESTING_KEPT,
    )
    tx.changes.runs.add(new.routine_id)


def claim_slot(tx: Transaction, routine: RoutineRow, new: NewRun) -> Claim:
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


# The daily budget, checked before each run starts.


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
    counted = "SELECT count(*) FROM routine_runs WHERE routine_id = ? AND started_at >= ?"
    row = tx.one(counted, routine_id, since)
    return (0 if row is None else row[0], *used_by_routine(tx, routine_id, since))
