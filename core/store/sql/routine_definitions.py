"""The definitions of routines. Their runs are in routine_runs.py."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence

from core.audit_chain import AuditKind
from core.store.codecs import storable
from core.store.effects import GrantToRoutine
from core.store.routine_rows import RoutineRow, RoutineStanding, RoutineText
from core.store.sql import job_changes, run_journal
from core.store.sql.audit import record
from core.store.sql.mapping import ALL, like, marks
from core.store.sql.routine_guardrails import MAX_WAITING, cools_until
from core.store.units import Facet, Row, Transaction, reads, writes

ROUTINE = (
    "o.id, o.owner_id, o.name, o.kind, o.definition, o.cooldown_us, o.max_concurrent,"
    " o.dedup_window_us, o.reruns, o.webhook_path, o.next_slot_at, o.daily_runs, o.daily_tokens,"
    " o.daily_micro_usd,"
    " o.enabled, o.paused_because, o.thread_id, o.backoff_until, o.last_claimed_at, o.last_ended_at,"
    " o.run_count, o.failures, o.skipped_slots, o.state, o.tested_as, o.version, o.created_at, o.updated_at,"
    " o.own_place, o.done_at"
)
ROUTINE_COLUMNS = 30
_TEXT = (
    "name = ?, kind = ?, definition = ?, cooldown_us = ?, max_concurrent = ?, dedup_window_us = ?,"
    " reruns = ?, webhook_path = ?,"
    " done_at = NULL, next_slot_at = CASE enabled WHEN 1 THEN ? END,"
    " daily_runs = ?, daily_tokens = ?, daily_micro_usd = ?"
)
PAUSED = "the routine was paused"
DELETED = "Its routine was deleted"


def routine_of(row: Row) -> RoutineRow:
    """Return a routine from the columns `ROUTINE`."""
    id_, owner_id, name, kind, definition, cooldown_us, most, window_us, reruns = row[:9]
    text = RoutineText(name, kind, definition, cooldown_us, most, window_us, bool(reruns), *row[9:14])
    claimed_at, ended_at = row[18:20]
    cools = cools_until(cooldown_us, claimed_at, ended_at)
    return RoutineRow(id_, owner_id, text, bool(row[14]), *row[15:], cools_until=cools)


def _is_taken(tx: Transaction, routine_id: str, owner_id: str, text: RoutineText) -> bool:
    """Return True if another routine has the name or the webhook path."""
    other = tx.one(
        "SELECT 1 FROM routines WHERE id <> ? AND (owner_id = ? AND name = ? OR webhook_path = ?) LIMIT 1",
        routine_id,
        owner_id,
        storable(text.name),
        text.webhook_path,
    )
    return other is not None


def switch(
    tx: Transaction, routine_id: str, *, enabled: bool, next_slot_at: int | None, because: str | None
) -> RoutineRow | None:
    tx.run(
        "UPDATE routines SET enabled = ?, next_slot_at = ?, paused_because = ?,"
        " failures = CASE WHEN ? THEN 0 ELSE failures END,"
        " backoff_until = CASE WHEN ? THEN 0 ELSE backoff_until END,"
        " done_at = CASE WHEN ? THEN NULL ELSE done_at END,"
        " version = version + 1, updated_at = ? WHERE id = ?",
        int(enabled),
        next_slot_at if enabled else None,
        because,
        enabled,
        enabled,
        enabled,
        tx.clock.now(),
        routine_id,
    )
    tx.changes.routines.add(routine_id)
    if not enabled:
        skip_waiting(tx, routine_id, because or PAUSED)
    return by_id(tx, routine_id)


def grant_to(tx: Transaction, effect: GrantToRoutine, by: str) -> None:
    """Add grants for a routine's later runs. A definition changed since is left as it is."""
    changed = tx.run(
        "UPDATE routines SET definition = ?, version = version + 1, updated_at = ?"
        " WHERE id = ? AND definition = ?",
        storable(effect.after),
        tx.clock.now(),
        effect.routine_id,
        effect.before,
    )
    if not changed:
        return
    tx.changes.routines.add(effect.routine_id)
    for grant in effect.grants:
        tool, _, pattern = grant.partition(" ")
        record(
            tx,
            AuditKind.GRANTED,
            effect.routine_id,
            actor=by,
            routine=effect.routine_id,
            tool=tool,
            pattern=storable(pattern),
        )


def skip_waiting(tx: Transaction, routine_id: str, why: str) -> None:
    """Skip the waiting runs of a routine."""
    tx.changes.runs.add(routine_id)
    tx.run(
        "UPDATE routine_runs SET state = 'skipped', ended_at = ?, error = ?"
        " WHERE routine_id = ? AND state = 'waiting'",
        tx.clock.now(),
        storable(why),
        routine_id,
    )


def delete(tx: Transaction, routine_id: str) -> bool:
    tx.changes.routines.add(routine_id)
    job_changes.cancel_of_routine(tx, routine_id, DELETED)
    run_journal.forget(tx, "SELECT id FROM routine_runs WHERE routine_id = ?", routine_id)
    run_journal.forget_threads(tx, routine_id)
    tx.run("DELETE FROM routine_runs WHERE routine_id = ?", routine_id)
    return tx.run("DELETE FROM routines WHERE id = ?", routine_id) > 0


def forget_done(tx: Transaction, before: int) -> int:
    done = tx.all(
        "SELECT id FROM routines o WHERE o.done_at < ?1 AND coalesce(o.last_ended_at, 0) < ?1"
        " AND NOT EXISTS (SELECT 1 FROM routine_runs r WHERE r.routine_id = o.id"
        " AND (r.ended_at IS NULL OR r.notice_state = 'due'))",
        before,
    )
    for (routine_id,) in done:
        delete(tx, routine_id)
    return len(done)


def by_id(tx: Transaction, routine_id: str) -> RoutineRow | None:
    row = tx.one(f"SELECT {ROUTINE} FROM routines o WHERE o.id = ?", routine_id)
    return None if row is None else routine_of(row)


def listed(
    tx: Transaction, owner_id: str | None, after: str, limit: int | None, containing: str
) -> tuple[RoutineRow, ...]:
    rows = tx.all(
        f"SELECT {ROUTINE} FROM routines o WHERE o.owner_id = coalesce(?, o.owner_id) AND o.name > ?"
        " AND lower(o.name) LIKE lower(?) ESCAPE '\\' ORDER BY o.name, o.owner_id LIMIT ?",
        owner_id,
        storable(after),
        like(storable(containing)),
        ALL if limit is None else limit,
    )
    return tuple(routine_of(row) for row in rows)


def by_name(tx: Transaction, owner_id: str, named: str) -> RoutineRow | None:
    row = tx.one(
        f"SELECT {ROUTINE} FROM routines o WHERE o.owner_id = ?1 AND (o.name = ?2 OR o.id = ?2)"
        " ORDER BY o.name = ?2 DESC LIMIT 1",
        owner_id,
        storable(named),
    )
    return None if row is None else routine_of(row)


def due(tx: Transaction, now: int) -> tuple[RoutineRow, ...]:
    rows = tx.all(
        f"SELECT {ROUTINE} FROM routines o WHERE o.enabled = 1 AND o.next_slot_at <= ?"
        " ORDER BY o.next_slot_at, o.id",
        now,
    )
    return tuple(routine_of(row) for row in rows)


def standing(tx: Transaction, routine_ids: tuple[str, ...]) -> tuple[RoutineStanding, ...]:
    """Return the state on which an event that matches these routines is judged."""
    now = tx.clock.now()
    rows = tx.all(
        "SELECT o.id, o.owner_id, o.name, o.enabled = 1"
        " AND (SELECT count(*) FROM routine_runs r WHERE r.routine_id = o.id AND r.state = 'waiting') < ?,"
        " o.cooldown_us, o.last_claimed_at, o.last_ended_at, u.role = 'owner'"
        " FROM routines o JOIN users u ON u.id = o.owner_id"
        f" WHERE o.id IN {marks(routine_ids)} ORDER BY o.name, o.id",
        MAX_WAITING,
        *routine_ids,
    )
    return tuple(
        RoutineStanding(id_, owner, name, bool(ready), cools_until(*cooldown) > now, bool(reads))
        for id_, owner, name, ready, *cooldown, reads in rows
    )


def _columns(text: RoutineText) -> tuple[object, ...]:
    return (
        storable(text.name),
        text.kind,
        storable(text.definition),
        text.cooldown_us,
        text.max_concurrent,
        text.dedup_window_us,
        int(text.reruns),
        text.webhook_path,
        text.next_slot_at,
        text.daily_runs,
        text.daily_tokens,
        text.daily_micro_usd,
    )


class RoutineUnits(Facet):
    """The units of Routines."""

    @writes
    def save_routine(
        self, tx: Transaction, routine_id: str, owner_id: str, text: "RoutineText", thread_id: str | None
    ) -> "RoutineRow | None":
        if _is_taken(tx, routine_id, owner_id, text):
            return None
        now = tx.clock.now()
        tx.run(
            "INSERT INTO routines (id, owner_id, name, kind, definition, cooldown_us, max_concurrent,"
            " dedup_window_us, reruns, webhook_path, next_slot_at, daily_runs, daily_tokens, daily_micro_usd,"
            " enabled, thread_id, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1,"
            " (SELECT id FROM threads WHERE id = ?), ?, ?)",
            routine_id,
            owner_id,
            *_columns(text),
            thread_id,
            now,
            now,
        )
        tx.changes.routines.add(routine_id)
        return by_id(tx, routine_id)

    @writes
    def rewrite_routine(
        self, tx: Transaction, routine_id: str, text: "RoutineText", *, version: int
    ) -> "RoutineRow | None":
        routine = by_id(tx, routine_id)
        if routine is None or _is_taken(tx, routine_id, routine.owner_id, text):
            return None
        changed = tx.run(
            f"UPDATE routines SET {_TEXT}, version = version + 1, updated_at = ? WHERE id = ? AND"
            " version = ?",
            *_columns(text),
            tx.clock.now(),
            routine_id,
            version,
        )
        tx.changes.routines.add(routine_id)
        return by_id(tx, routine_id) if changed else None

    @writes
    def switch_routine(
        self,
        tx: Transaction,
        routine_id: str,
        *,
        enabled: bool,
        next_slot_at: int | None,
        because: str | None = None,
    ) -> RoutineRow | None:
        return switch(tx, routine_id, enabled=enabled, next_slot_at=next_slot_at, because=because)

    @writes
    def delete_routine(self, tx: Transaction, routine_id: str) -> bool:
        return delete(tx, routine_id)

    @writes
    def forget_done_routines(self, tx: Transaction, before: int) -> int:
        return forget_done(tx, before)

    @reads
    def has_routines(self, tx: Transaction) -> bool:
        return tx.one("SELECT 1 FROM routines LIMIT 1") is not None

    @reads
    def routine(self, tx: Transaction, routine_id: str) -> "RoutineRow | None":
        return by_id(tx, routine_id)

    @reads
    def routines(
        self,
        tx: Transaction,
        owner_id: str | None = None,
        *,
        after: str = "",
        limit: int | None = None,
        containing: str = "",
    ) -> "Sequence[RoutineRow]":
        return listed(tx, owner_id, after, limit, containing)

    @reads
    def routine_named(self, tx: Transaction, owner_id: str, named: str) -> "RoutineRow | None":
        return by_name(tx, owner_id, named)

    @reads
    def count_routines(self, tx: Transaction, owner_id: str) -> int:
        row = tx.one("SELECT count(*) FROM routines WHERE owner_id = ?", owner_id)
        return 0 if row is None else row[0]

    @reads
    def routines_due_first(self, tx: Transaction, owner_id: str, limit: int) -> "Sequence[RoutineRow]":
        rows = tx.all(
            f"SELECT {ROUTINE} FROM routines o WHERE o.owner_id = ? AND o.enabled = 1"
            " AND o.next_slot_at IS NOT NULL ORDER BY o.next_slot_at, o.name LIMIT ?",
            owner_id,
            limit,
        )
        return tuple(routine_of(row) for row in rows)

    @reads
    def listening_routines(self, tx: Transaction, after: str, limit: int) -> "Sequence[RoutineRow]":
        rows = tx.all(
            f"SELECT {ROUTINE} FROM routines o WHERE o.id > ?"
            " AND (o.kind = 'webhook' OR o.kind = 'event' AND o.enabled = 1) ORDER BY o.id LIMIT ?",
            after,
            limit,
        )
        return tuple(routine_of(row) for row in rows)

    @reads
    def event_routines(self, tx: Transaction, owner_id: str) -> "Sequence[RoutineRow]":
        rows = tx.all(
            f"SELECT {ROUTINE} FROM routines o WHERE o.owner_id = ? AND o.kind = 'system_event' AND"
            " o.enabled = 1"
            " ORDER BY o.name",
            owner_id,
        )
        return tuple(routine_of(row) for row in rows)
