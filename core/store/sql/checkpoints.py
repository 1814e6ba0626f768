"""Undo, redo and clear: marks on a thread's entries. No entry is changed or removed by them.

Each of them takes a position of the thread. No turn's input can then follow directly on a transcript
that a hub has cached, so the next turn reads the journal again.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from itertools import takewhile

from core.lazy_dataclass import dataclass
from core.ports import OutboxRow
from core.store.checkpoints import UNDONE, Checkpoint, Checkpoints, LastingEffect
from core.store.rows import TurnState
from core.store.sql.feed import FOR_GOOD, cleared_to, position
from core.store.sql.mapping import ALL, ENTRY, LIVE, entry_of
from core.store.sql.outbox import mark
from core.store.sql.turns import MAX_CHECKPOINTS
from core.store.transaction import Transaction
from core.transcript import Note, UserSaid

PREVIEW_CHARS = 200
_IN_TURNS = f"e.thread_id = ? AND e.turn_id IS NOT NULL AND e.kind <> 'summary' AND {LIVE}"


@dataclass(frozen=True, slots=True)
class LiveTurn:
    """A turn that is part of its conversation. `first_seq`: the position of its first input."""

    turn_id: str
    first_seq: int


def newest_turns(tx: Transaction, thread_id: str, limit: int) -> list[LiveTurn]:
    """Return the thread's newest live turns, the newest first."""
    found: list[LiveTurn] = []
    after, before = cleared_to(tx, thread_id), ALL
    while len(found) < limit:
        row = tx.one(
            "SELECT tn.id, tn.first_seq FROM runs tn WHERE tn.id = (SELECT e.turn_id FROM entries e"
            f" WHERE {_IN_TURNS} AND e.seq > ? AND e.seq < ? ORDER BY e.seq DESC LIMIT 1)",
            thread_id,
            after,
            before,
        )
        if row is None:
            break
        found.append(LiveTurn(*row))
        before = row[1]
    return found


def view(tx: Transaction, thread_id: str, number: int) -> Checkpoints:
    """Return the thread's checkpoints, and the live turn of that number (0: none is named)."""
    row = tx.one("SELECT checkpoints FROM threads WHERE id = ?", thread_id)
    newest = tuple(_checkpoint(tx, turn) for turn in newest_turns(tx, thread_id, MAX_CHECKPOINTS))
    brought_back = redoable(tx, thread_id)
    return Checkpoints(
        newest,
        0 if row is None else row[0],
        0 if brought_back is None else len(brought_back[1]),
        _numbered(tx, thread_id, number) if number else None,
    )


def _numbered(tx: Transaction, thread_id: str, number: int) -> Checkpoint | None:
    row = tx.one(
        "SELECT tn.id, tn.first_seq FROM runs tn WHERE tn.thread_id = ? AND tn.number = ?"
        f" AND EXISTS (SELECT 1 FROM entries e WHERE {_IN_TURNS} AND e.turn_id = tn.id)",
        thread_id,
        number,
        thread_id,
    )
    return None if row is None else _checkpoint(tx, LiveTurn(*row))


def _checkpoint(tx: Transaction, turn: LiveTurn) -> Checkpoint:
    row = tx.one(
        "SELECT tn.number, tn.state, e.kind, e.text FROM runs tn JOIN entries e"
        " ON e.thread_id = tn.thread_id AND e.seq = tn.first_seq WHERE tn.id = ?",
        turn.turn_id,
    )
    assert row is not None  # noqa: S101 - a turn begins with its input
    number, state, kind, text = row
    ran = tx.all(
        "SELECT c.tool, coalesce(c.edited, e.text) FROM calls c"
        " JOIN entries e ON e.thread_id = c.thread_id AND e.seq = c.seq WHERE c.turn_id = ?"
        " AND c.effect <> 'none' AND c.status IN ('ok', 'error', 'unknown') ORDER BY c.seq",
        turn.turn_id,
    )
    effects = tuple(LastingEffect(tool, arguments) for tool, arguments in ran)
    said = text[:PREVIEW_CHARS] if kind == "user" else ""
    return Checkpoint(turn.turn_id, number, said, TurnState(state), effects)


@dataclass(frozen=True, slots=True)
class TurnInput:
    """The input of a turn, and when it was said (microseconds UTC)."""

    said: tuple[UserSaid | Note, ...]
    at: int


def newest_input(tx: Transaction, thread_id: str) -> TurnInput:
    """Return the input of the newest live turn: what people said, or the note with which it went on."""
    (newest,) = newest_turns(tx, thread_id, 1)
    rows = tx.all(
        f"SELECT {ENTRY} FROM entries e WHERE e.thread_id = ? AND e.turn_id = ? ORDER BY e.seq",
        thread_id,
        newest.turn_id,
    )
    entries = [entry_of(row) for row in rows]
    said = [entry.said for entry in takewhile(lambda entry: isinstance(entry.said, UserSaid), entries)]
    return TurnInput(
        tuple(one for one in said or [entries[0].said] if isinstance(one, UserSaid | Note)), entries[0].at
    )


def undo(tx: Transaction, thread_id: str, turns: int) -> tuple[OutboxRow, ...]:
    """Take back the newest live turns, and all that was said since the first of them. Return the marks on
    their messages."""
    found = newest_turns(tx, thread_id, turns)
    at = position(tx, thread_id)
    tx.run(
        "UPDATE entries SET undone = ? WHERE thread_id = ? AND seq >= ? AND undone IS NULL"
        " AND kind <> 'summary'",
        at,
        thread_id,
        found[-1].first_seq,
    )
    _move(tx, thread_id, -len(found))
    return mark(tx, [turn.turn_id for turn in found], UNDONE)


def redoable(tx: Transaction, thread_id: str) -> tuple[int, Sequence[str]] | None:
    """Return the position of the newest undo and the turns it took back. None if there is none,
    or if the conversation has gone on since."""
    row = tx.one("SELECT max(undone) FROM entries WHERE thread_id = ? AND undone > 0", thread_id)
    if row is None or row[0] is None:
        return None
    at: int = row[0]
    gone_on = (
        f"SELECT 1 FROM entries e WHERE e.thread_id = ? AND e.seq > ? AND e.kind <> 'summary' AND {LIVE}"
    )
    if tx.one(f"{gone_on} LIMIT 1", thread_id, at) is not None:
        return None
    taken = tx.all(
        "SELECT DISTINCT e.turn_id FROM entries e WHERE e.thread_id = ?1 AND e.turn_id IS NOT NULL"
        " AND e.seq IN (SELECT u.seq FROM entries u WHERE u.thread_id = ?1 AND u.undone = ?2)",
        thread_id,
        at,
    )
    return at, [turn_id for (turn_id,) in taken]


def redo(tx: Transaction, thread_id: str) -> tuple[OutboxRow, ...]:
    """Bring back what the newest undo took, if the conversation has not gone on since. Return the changes of
    its messages, which lose their marks."""
    found = redoable(tx, thread_id)
    if found is None:
        return ()
    at, turn_ids = found
    position(tx, thread_id)
    tx.run("UPDATE entries SET undone = NULL WHERE thread_id = ? AND undone = ?", thread_id, at)
    _move(tx, thread_id, len(turn_ids))
    return mark(tx, turn_ids, None)


def clear(tx: Transaction, thread_id: str) -> tuple[OutboxRow, ...]:
    """Take everything out of the conversation for good, with all checkpoints. Return the marks on messages of
    its newest turns."""
    newest = newest_turns(tx, thread_id, MAX_CHECKPOINTS)
    position(tx, thread_id)
    tx.run(
        "UPDATE entries SET undone = ? WHERE thread_id = ? AND (undone IS NULL OR undone > 0)",
        FOR_GOOD,
        thread_id,
    )
    tx.run("UPDATE threads SET checkpoints = 0 WHERE id = ?", thread_id)
    return mark(tx, [turn.turn_id for turn in newest], UNDONE)


def _move(tx: Transaction, thread_id: str, by: int) -> None:
    tx.run("UPDATE threads SET checkpoints = checkpoints + ? WHERE id = ?", by, thread_id)


def copy(tx: Transaction, thread_id: str, last_turn_id: str, new_thread_id: str) -> None:
    """Copy a thread's live entries up to the end of a turn into a new thread, where they are of no turn."""
    tx.run(
        "INSERT INTO entries (thread_id, seq, turn_id, at, kind, text, call_id, name, extra)"
        " SELECT ?, e.seq, NULL, e.at, e.kind, e.text, e.call_id, e.name, e.extra FROM entries e"
        f" WHERE e.thread_id = ? AND e.seq <= (SELECT tn.last_seq FROM runs tn WHERE tn.id = ?) AND {LIVE}",
        new_thread_id,
        thread_id,
        last_turn_id,
    )
    tx.run(
        "UPDATE threads SET origin_id = ?, origin_turn = (SELECT tn.number FROM runs tn WHERE tn.id = ?),"
        " last_seq = (SELECT tn.last_seq FROM runs tn WHERE tn.id = ?) WHERE id = ?",
        thread_id,
        last_turn_id,
        last_turn_id,
        new_thread_id,
    )
    tx.changes.threads.add(new_thread_id)
