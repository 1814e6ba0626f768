"""Messages and sessions for hooks to judge, and the verdicts."""

from collections.abc import Sequence

from core.messages import Address, Message
from core.ports import OutboxRow
from core.store.accept import WITHHELD
from core.store.codecs import message_from_json, message_to_json, storable
from core.store.facets import HELD, HeldInput, SessionChange
from core.store.rows import Draft
from core.store.sql.feed import put_messages
from core.store.sql.outbox import Cause, enqueue
from core.store.units import Facet, Transaction, reads, writes

# --- inbound ------------------------------------------------------------------------------------------


def let_go(tx: Transaction) -> None:
    """Release the messages that wait for hooks, since no hook is configured any more."""
    tx.run("UPDATE inbox SET wait_until = 0 WHERE outcome = 'waiting' AND wait_until = ?", HELD)


# --- outbound -----------------------------------------------------------------------------------------


# --- sessions -------------------------------------------------------------------------------------------


def _begin_session(tx: Transaction, user_id: str, since: int) -> None:
    """Begin a session with the first activity since then, which may precede this look."""
    tx.run(
        "INSERT INTO hooked_sessions (user_id, began_at, ended_at)"
        " SELECT owner_id, min(last_active_at), NULL FROM threads WHERE owner_id = ? AND last_active_at >= ?"
        " AND kind = 'chat' GROUP BY owner_id"
        " ON CONFLICT (user_id) DO UPDATE SET began_at = excluded.began_at, ended_at = NULL",
        user_id,
        since,
    )


def _is_busy(tx: Transaction, user_id: str) -> bool:
    """Return True if a turn in one of the person's threads runs or waits."""
    active = tx.one(
        "SELECT 1 FROM threads t JOIN runs tn ON tn.thread_id = t.id AND tn.state IN ('running', 'waiting')"
        " WHERE t.owner_id = ? AND t.kind = 'chat' LIMIT 1",
        user_id,
    )
    return active is not None


def _active_since(tx: Transaction, user_id: str, since: int) -> tuple[str, ...]:
    rows = tx.all(
        "SELECT id FROM threads WHERE owner_id = ? AND last_active_at >= ? AND kind = 'chat'"
        " ORDER BY last_active_at, id",
        user_id,
        since,
    )
    return tuple(thread_id for (thread_id,) in rows)


class HeldInputUnits(Facet):
    """The units of HeldInputs."""

    @reads
    def held_inputs(self, tx: Transaction, limit: int) -> Sequence[HeldInput]:
        rows = tx.all(
            "SELECT id, coalesce(text, ''), user_id, thread_id, channel FROM inbox"
            " WHERE outcome = 'waiting' AND thread_id IS NOT NULL AND wait_until = ? ORDER BY id LIMIT ?",
            HELD,
            limit,
        )
        return tuple(HeldInput(*row) for row in rows)

    @writes
    def release_input(self, tx: Transaction, held: HeldInput, text: str, *, album_wait_us: int) -> int | None:
        now = tx.clock.now()
        row = tx.one(
            "UPDATE inbox SET text = ?, wait_until = CASE WHEN album IS NULL THEN 0 ELSE ? END"
            " WHERE id = ? AND outcome = 'waiting' AND wait_until = ? AND coalesce(text, '') = ?"
            " RETURNING wait_until",
            storable(text),
            now + album_wait_us,
            held.id,
            HELD,
            held.text,
        )
        return None if row is None else row[0] or now

    @writes
    def refuse_input(
        self, tx: Transaction, held: HeldInput, outcome: str, told: Message
    ) -> tuple[OutboxRow, ...]:
        row = tx.one(
            "UPDATE inbox SET outcome = ?, text = ?, wait_until = 0"
            " WHERE id = ? AND outcome = 'waiting' AND wait_until = ? AND coalesce(text, '') = ?"
            " RETURNING address",
            storable(outcome),
            WITHHELD,
            held.id,
            HELD,
            held.text,
        )
        if row is None:
            return ()
        draft = Draft(held.channel, Address(row[0]), told, tx.ids.row_id())
        rows = enqueue(tx, [draft], Cause(event_id=held.id))
        put_messages(tx, held.thread_id, rows)
        return rows

    @reads
    def outbound_judged(self, tx: Transaction, row_id: int) -> Message | None:
        row = tx.one(
            "SELECT o.message FROM outbox o JOIN outbound_judged j ON j.outbox_id = o.id WHERE o.id = ?",
            row_id,
        )
        return None if row is None else message_from_json(row[0])

    @writes
    def judge_outbound(self, tx: Transaction, row_id: int, message: Message) -> None:
        tx.run("UPDATE outbox SET message = ? WHERE id = ? AND settled = 0", message_to_json(message), row_id)
        tx.run(
            "INSERT INTO outbound_judged (outbox_id, at) VALUES (?, ?) ON CONFLICT DO NOTHING",
            row_id,
            tx.clock.now(),
        )

    @writes
    def session_changes(self, tx: Transaction, idle_us: int) -> Sequence[SessionChange]:
        now = tx.clock.now()
        seen = tx.all(
            "SELECT k.owner_id, max(t.last_active_at), max(s.began_at), max(s.ended_at)"
            " FROM thread_keys k JOIN threads t ON t.id = k.thread_id"
            " LEFT JOIN hooked_sessions s ON s.user_id = k.owner_id GROUP BY k.owner_id ORDER BY k.owner_id"
        )
        changes: list[SessionChange] = []
        for user_id, last_active_at, began_at, ended_at in seen:
            over = last_active_at + idle_us <= now
            begun = began_at is not None and ended_at is None
            if not begun and not over:
                _begin_session(tx, user_id, max(ended_at or 0, now - idle_us + 1))
                changes.append(SessionChange(user_id, began=True))
            elif begun and over and not _is_busy(tx, user_id):
                tx.run("UPDATE hooked_sessions SET ended_at = ? WHERE user_id = ?", now, user_id)
                # A session always has the thread that was active last.
                threads = _active_since(tx, user_id, min(began_at, last_active_at))
                changes.append(SessionChange(user_id, began=False, thread_ids=threads))
        return tuple(changes)
