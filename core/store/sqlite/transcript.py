"""The journal: appending entries, and reading back what a turn needs of them."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence

from core.store.said_codec import said_to_columns
from core.store.sqlite.mapping import ENTRY, entry_of
from core.store.sqlite.transaction import Transaction
from core.transcript import Entry, Said


def append(tx: Transaction, thread_id: str, turn_id: str | None, said: Sequence[Said]) -> int:
    """Journal what was said, in order, as part of a turn (None: of none). Returns the position of the first
    entry."""
    row = tx.one(
        "UPDATE threads SET last_seq = last_seq + ?1 WHERE id = ?2 RETURNING last_seq - ?1 + 1",
        len(said),
        thread_id,
    )
    assert row is not None  # noqa: S101 - a turn's thread is never removed before its turns
    first_seq: int = row[0]
    write(tx, thread_id, turn_id, first_seq, said)
    if turn_id is not None:
        tx.run("UPDATE turns SET last_seq = ? WHERE id = ?", first_seq + len(said) - 1, turn_id)
    return first_seq


def write(
    tx: Transaction, thread_id: str, turn_id: str | None, first_seq: int, said: Sequence[Said]
) -> tuple[Entry, ...]:
    """Write entries at positions that were already taken for them."""
    tx.changes.threads.add(thread_id)
    now = tx.clock.now()
    entries = tuple(Entry(seq, turn_id, now, one) for seq, one in enumerate(said, start=first_seq))
    for entry in entries:
        tx.connection.execute(
            "INSERT INTO entries (thread_id, seq, turn_id, at, kind, text, call_id, name, extra)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (thread_id, entry.seq, turn_id, now, *said_to_columns(entry.said)),
        )
    return entries


def history(tx: Transaction, thread_id: str) -> tuple[Entry, ...]:
    """The thread's entries in order, from the newest summary on (which then comes first).

    Whole turns of the past are left out once the later ones hold more than the policy's
    `history_limit_chars`: no model could be shown them.
    """
    summary = tx.one(
        f"SELECT {ENTRY} FROM entries WHERE thread_id = ? AND kind = 'summary' ORDER BY seq DESC LIMIT 1",
        thread_id,
    )
    covered = int(summary[7]) if summary is not None else 0
    newest_first = tx.connection.execute(
        f"SELECT {ENTRY} FROM entries WHERE thread_id = ? AND seq > ? AND kind <> 'summary'"
        " ORDER BY seq DESC",
        (thread_id, covered),
    )
    entries: list[Entry] = []
    size_chars, limit_chars = 0, tx.policy.history_limit_chars
    for row in newest_first:
        if size_chars > limit_chars and row[1] != entries[-1].turn_id:
            break
        size_chars += len(row[4])
        entries.append(entry_of(row))
    newest_first.close()
    if summary is not None:
        entries.append(entry_of(summary))
    entries.reverse()
    return tuple(entries)
