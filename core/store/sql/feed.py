"""Feed positions of items outside a thread's transcript, and reads of both in one order.

Units that add items here take positions from the same counter as the transcript. A position is
therefore visible only once all earlier ones are.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from core.ports import OutboxRow
from core.store.codecs import event_extra_from_json, message_from_json, refs_from_json, said_from_columns
from core.store.feed import CallShown, CardSettled, CardShown, FeedItem, HubSaid, PersonSaid, Shown
from core.store.rows import CallState
from core.store.sql.mapping import ALL, ENTRY, GATE, LIVE, entry_of, gate_of
from core.store.units import Row, Transaction
from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    OperatorSaid,
    Said,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
    begins_turn,
)
from core.users import Role

# --- writing --------------------------------------------------------------------------------------------


def position(tx: Transaction, thread_id: str) -> int:
    """Take the thread's next position."""
    tx.changes.threads.add(thread_id)
    row = tx.one("UPDATE threads SET last_seq = last_seq + 1 WHERE id = ? RETURNING last_seq", thread_id)
    assert row is not None  # noqa: S101 - the caller has just read the thread
    seq: int = row[0]
    return seq


def put_event(tx: Transaction, thread_id: str, seq: int, event_id: int) -> None:
    """Show a command or an answer in words at a position taken before its effects."""
    _put(tx, thread_id, seq, "event", None, event_id=event_id)


def put_messages(
    tx: Transaction, thread_id: str, rows: Sequence[OutboxRow], turn_id: str | None = None
) -> None:
    """Show messages of the hub itself. Changes of earlier messages are left out."""
    for row in rows:
        if row.edit_of is None:
            _put(tx, thread_id, position(tx, thread_id), "message", turn_id, outbox_id=row.id)


def put_card(tx: Transaction, thread_id: str, turn_id: str, gate_id: str) -> None:
    """Show a gate where it was opened."""
    _put(tx, thread_id, position(tx, thread_id), "card", turn_id, gate_id=gate_id)


def put_outcome(tx: Transaction, thread_id: str, turn_id: str, gate_id: str) -> None:
    """Show a gate's outcome."""
    _put(tx, thread_id, position(tx, thread_id), "outcome", turn_id, gate_id=gate_id)


def _put(
    tx: Transaction,
    thread_id: str,
    seq: int,
    kind: str,
    turn_id: str | None,
    *,
    event_id: int | None = None,
    outbox_id: int | None = None,
    gate_id: str | None = None,
) -> None:
    tx.run(
        "INSERT INTO feed (thread_id, seq, at, kind, turn_id, event_id, outbox_id, gate_id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        thread_id,
        seq,
        tx.clock.now(),
        kind,
        turn_id,
        event_id,
        outbox_id,
        gate_id,
    )


# --- reading --------------------------------------------------------------------------------------------


_ENTRIES = (
    "SELECT e.seq, e.at, e.turn_id, e.kind, e.text, e.call_id, e.name, e.extra, u.name, u.role, t.channel,"
    f" c.state, c.edited, {LIVE} FROM entries e JOIN threads t ON t.id = e.thread_id"
    " LEFT JOIN runs tn ON tn.id = e.turn_id LEFT JOIN users u ON u.id = tn.principal_id"
    " LEFT JOIN calls c ON e.kind = 'call' AND c.id = e.call_id"
    " WHERE e.thread_id = ? AND e.kind <> 'note' AND (e.text <> '' OR e.kind <> 'assistant')"
)
_OTHERS = (
    "SELECT f.seq, f.at, f.turn_id, f.kind, i.text, i.extra, i.sender, i.channel, u.role,"
    " coalesce((SELECT c.message FROM outbox c WHERE c.edit_of = o.id AND c.job_id = o.job_id), o.message),"
    " cb.name,"
    " NOT EXISTS (SELECT 1 FROM entries e WHERE e.turn_id = f.turn_id AND e.undone IS NOT NULL),"
    f" o.refs, {GATE} FROM feed f LEFT JOIN inbox i ON i.id = f.event_id"
    " LEFT JOIN users u ON u.id = i.user_id LEFT JOIN outbox o ON o.id = f.outbox_id"
    " LEFT JOIN gates g ON g.id = f.gate_id"
    " LEFT JOIN users cb ON cb.id = g.closed_by WHERE f.thread_id = ?"
)


def after(tx: Transaction, thread_id: str, seq: int, limit: int) -> tuple[FeedItem, ...]:
    entries = tx.all(f"{_ENTRIES} AND e.seq > ? ORDER BY e.seq LIMIT ?", thread_id, seq, limit)
    others = tx.all(f"{_OTHERS} AND f.seq > ? ORDER BY f.seq LIMIT ?", thread_id, seq, limit)
    return _merged(entries, others)[:limit]


def before(tx: Transaction, thread_id: str, seq: int | None, limit: int) -> tuple[FeedItem, ...]:
    last = ALL if seq is None else seq
    entries = tx.all(f"{_ENTRIES} AND e.seq < ? ORDER BY e.seq DESC LIMIT ?", thread_id, last, limit)
    others = tx.all(f"{_OTHERS} AND f.seq < ? ORDER BY f.seq DESC LIMIT ?", thread_id, last, limit)
    return _merged(entries, others)[-limit:]


def of_job(tx: Transaction, thread_id: str, job_id: str) -> FeedItem | None:
    found = tx.all(f"{_OTHERS} AND o.job_id = ? AND o.edit_of IS NULL", thread_id, job_id)
    return next(iter(_merged((), found)), None)


def waiting(tx: Transaction, thread_id: str, limit: int) -> tuple[PersonSaid, ...]:
    rows = tx.all(
        "SELECT i.text, i.extra, i.sender, i.channel, u.role FROM inbox i"
        " LEFT JOIN users u ON u.id = i.user_id WHERE i.thread_id = ? AND i.outcome = 'waiting'"
        " ORDER BY i.order_key, i.id LIMIT ?",
        thread_id,
        limit,
    )
    return tuple(_person(*row) for row in rows)


def _merged(entries: Sequence[Row], others: Sequence[Row]) -> tuple[FeedItem, ...]:
    items = [FeedItem(row[0], row[1], row[2], _of_entry(row), not row[13]) for row in entries]
    items += [FeedItem(row[0], row[1], row[2], _of_other(row), not row[11]) for row in others]
    return tuple(sorted(items, key=lambda item: item.seq))


def _of_entry(row: Row) -> Shown:
    said: Said = said_from_columns(*row[3:8])
    match said:
        case UserSaid(text, sender, attachments):
            # The file lines at its end are for the model.
            lines = text.split("\n")
            text = "\n".join(lines[: len(lines) - len(attachments)])
            role = None if row[9] is None else Role(row[9])
            return PersonSaid(text, sender or row[8] or "", role, attachments, row[10])
        case ToolCalled():
            state = CallState.ENDED if row[11] is None else CallState(row[11])
            if row[12] is None:
                return CallShown(said, state)
            return CallShown(replace(said, arguments=row[12]), state, asked=said.arguments)
        case AssistantSaid() | OperatorSaid() | ToolResult() | Summary():
            return said
        case Note():
            raise ValueError("notes are for the model alone")
        case _:
            assert_never(said)


def _of_other(row: Row) -> Shown:
    match row[3]:
        case "event":
            return _person(*row[4:9])
        case "message":
            return HubSaid(message_from_json(row[9]), refs_from_json(row[12]))
        case "card":
            return CardShown(gate_of(row[13:]))
        case _:
            return CardSettled(gate_of(row[13:]), row[10])


def _person(text: str | None, extra: str, sender: str | None, channel: str, role: str | None) -> PersonSaid:
    files = event_extra_from_json(extra).attachments
    return PersonSaid(text or "", sender or "", None if role is None else Role(role), files, channel)


# --- the history, as turns go on from it ---------------------------------------------------------------

FOR_GOOD = 0
"""The mark of entries that `/clear` took out: no redo brings them back."""
PAGE_ENTRIES = 200
"""Entries of a long thread that one statement reads."""


def history(tx: Transaction, thread_id: str) -> tuple[Entry, ...]:
    """Return the thread's live entries in order, starting with the newest live summary if there is one.

    Whole past turns are left out once the later ones exceed the policy's `history_limit_chars`: no
    model could be shown them.
    """
    after = cleared_to(tx, thread_id)
    summary = tx.one(
        f"SELECT {ENTRY} FROM entries e WHERE e.thread_id = ? AND e.seq > ? AND e.kind = 'summary'"
        f" AND {LIVE} ORDER BY e.seq DESC LIMIT 1",
        thread_id,
        after,
    )
    if summary is not None:
        after = int(summary[7])
    entries: list[Entry] = []
    size_chars, limit_chars = 0, tx.policy.history_limit_chars
    for row in _newest_first(tx, thread_id, after):
        entry = entry_of(row)
        if size_chars > limit_chars and begins_turn(entry, entries[-1]):
            break
        size_chars += entry.size_chars
        entries.append(entry)
    if summary is not None:
        entries.append(entry_of(summary))
    entries.reverse()
    return tuple(entries)


def cleared_to(tx: Transaction, thread_id: str) -> int:
    """Return the position up to which nothing of a thread is live, because it was cleared."""
    row = tx.one("SELECT max(seq) FROM entries WHERE thread_id = ? AND undone = ?", thread_id, FOR_GOOD)
    return 0 if row is None or row[0] is None else int(row[0])


def _newest_first(tx: Transaction, thread_id: str, after: int) -> Iterator[Row]:
    """Return the thread's live entries after a position, the newest first, read as far as they are needed."""
    before = ALL
    while page := tx.all(
        f"SELECT {ENTRY} FROM entries e WHERE e.thread_id = ? AND e.seq > ? AND e.seq < ?"
        f" AND e.kind <> 'summary' AND {LIVE} ORDER BY e.seq DESC LIMIT ?",
        thread_id,
        after,
        before,
        PAGE_ENTRIES,
    ):
        yield from page
        before = page[-1][0]
        if len(page) < PAGE_ENTRIES:
            return
