"""Changes of whole threads: which one a key leads to, its name, closed, open and deleted; undo, redo, clear.

The transaction that deletes a thread notes its files, so that a hub which dies before it removed them finds
them at its next start. Undo, redo and clear mark a thread's entries: none is changed or removed. Each takes a
position of the thread, so that the next turn reads the journal again.
"""

# ruff: noqa: S608 - statements are constants, values are always bound

import re
import uuid
from collections.abc import Sequence
from itertools import takewhile

from core.audit_chain import AuditKind
from core.errors import IllegalChange
from core.lazy import dataclass
from core.messages import THREAD_FILE, Moved
from core.ports import OutboxRow
from core.store.accept import Accepted
from core.store.codecs import (
    event_extra_from_json,
    message_to_json,
    said_from_columns,
    storable,
    strings_to_json,
)
from core.store.conversations import (
    UNDONE,
    Checkpoint,
    Checkpoints,
    LastingEffect,
    ThreadState,
    require_change,
)
from core.store.feed import ARCHIVES, DeletedFile, FileKind
from core.store.rows import ThreadChange, ThreadRow, TurnState
from core.store.sql import audit, people
from core.store.sql.feed import FOR_GOOD, cleared_to, position
from core.store.sql.inbox import NewEvent, lead_to, record
from core.store.sql.mapping import ALL, ENTRY, LIVE, entry_of
from core.store.sql.memory import forget_said
from core.store.sql.outbox import NOTHING, mark
from core.store.sql.turns import MAX_CHECKPOINTS, thread
from core.store.units import Row, Transaction
from core.transcript import Note, UserSaid
from core.users import ThreadKey, scope_of

_ARCHIVE = re.compile(rf"{ARCHIVES}/([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})")

NOTED = (
    "SELECT f.kind, f.name, CASE f.kind WHEN 'upload' THEN"
    " EXISTS (SELECT 1 FROM entries e WHERE e.kind = 'user'"
    " AND lower(e.extra) LIKE lower('%' || f.name || '%'))"
    " OR EXISTS (SELECT 1 FROM inbox i WHERE lower(i.extra) LIKE lower('%' || f.name || '%'))"
    " WHEN 'outputs' THEN 0"
    " ELSE EXISTS (SELECT 1 FROM threads t WHERE t.id = f.name)"
    " OR EXISTS (SELECT 1 FROM entries e WHERE e.kind = 'summary'"
    f" AND lower(e.text) LIKE lower('%{ARCHIVES}/' || f.name || '%'))"
    " END FROM deleted_files f ORDER BY f.kind, f.name LIMIT ?"
)
"""Reads the notes. Those of uploads are looked for in all messages: threads are seldom deleted."""
KNOWN_CALLS = (
    "SELECT id FROM calls WHERE id IN ",
    "SELECT call_id FROM entries WHERE kind = 'result' AND call_id IN ",  # a branch has no more of a call
)
"""Read which calls are known; the second reads all messages, for the calls that the first doesn't find."""


def note(tx: Transaction, thread_id: str) -> None:
    """Note the files of a thread that is about to be deleted."""
    said = tx.all(
        "SELECT kind, text, call_id, name, extra FROM entries"
        " WHERE thread_id = ? AND kind = 'user' AND extra IS NOT NULL",
        thread_id,
    )
    files = [
        file
        for row in said
        if isinstance(one := said_from_columns(*row), UserSaid)
        for file in one.attachments
    ]
    came = tx.all("SELECT extra FROM inbox WHERE thread_id = ? AND extra IS NOT NULL", thread_id)
    files += [file for (extra,) in came for file in event_extra_from_json(extra).attachments]
    noted = {(FileKind.UPLOAD, file.handle) for file in files if _is_id(file.handle)}
    summaries = tx.all("SELECT text FROM entries WHERE thread_id = ? AND kind = 'summary'", thread_id)
    archives = {thread_id, *(found for (text,) in summaries for found in _ARCHIVE.findall(text))}
    noted |= {(FileKind.ARCHIVE, name) for name in archives} | {(FileKind.OUTPUTS, thread_id)}
    for kind, name in sorted(noted):
        tx.run(
            "INSERT INTO deleted_files (kind, name) VALUES (?, ?) ON CONFLICT (kind, name) DO NOTHING",
            kind.value,
            name,
        )


def noted(rows: Sequence[Row]) -> Sequence[DeletedFile]:
    """Return what `NOTED` reads."""
    return [DeletedFile(FileKind(kind), name, bool(wanted)) for kind, name, wanted in rows]


def forget(tx: Transaction, files: Sequence[DeletedFile]) -> None:
    """Drop the notes of these files."""
    for file in files:
        tx.run("DELETE FROM deleted_files WHERE kind = ? AND name = ?", file.kind.value, file.name)


def _is_id(handle: str) -> bool:
    """Return whether a file's handle may be an upload's. Platforms name their files otherwise."""
    try:
        return str(uuid.UUID(handle)) == handle
    except ValueError:
        return False


def switch(tx: Transaction, key: ThreadKey, thread_id: str) -> ThreadRow:
    """Let the key lead to another thread, which is open from now on and its person's active one."""
    reopen(tx, thread(tx, thread_id))
    lead_to(tx, key, thread_id)
    people.set_active_thread(tx, key.user_id, thread_id)
    return thread(tx, thread_id)


def close(tx: Transaction, on: ThreadRow) -> None:
    """Close a thread. Raises IllegalChange while it is at work, and if it is closed."""
    require_change(on, ThreadState.COMPLETED)
    tx.run("UPDATE threads SET closed_at = ? WHERE id = ?", tx.clock.now(), on.id)
    tx.changes.threads.add(on.id)


def reopen(tx: Transaction, on: ThreadRow) -> None:
    """Open a closed thread again; an open one stays as it is."""
    if on.closed_at is None:
        return
    require_change(on, ThreadState.IDLE)
    tx.run("UPDATE threads SET closed_at = NULL WHERE id = ?", on.id)
    tx.changes.threads.add(on.id)


def change(tx: Transaction, thread_id: str, wanted: ThreadChange) -> None:
    """Change what people see of a thread."""
    on = thread(tx, thread_id)
    if wanted.title is not None:
        rename(tx, thread_id, storable(wanted.title))
    if wanted.tags is not None:
        tags = strings_to_json(tuple(dict.fromkeys(wanted.tags)))
        tx.run("UPDATE threads SET tags = ? WHERE id = ?", tags, thread_id)
    if wanted.archived is not None:
        at = tx.clock.now() if wanted.archived else None
        tx.run("UPDATE threads SET archived_at = ? WHERE id = ?", at, thread_id)
    if wanted.closed is False:
        reopen(tx, on)
    elif wanted.closed and on.closed_at is None:
        close(tx, on)
    tx.changes.threads.add(thread_id)


def rename(tx: Transaction, thread_id: str, title: str) -> None:
    """Give a thread a title."""
    tx.run("UPDATE threads SET title = ? WHERE id = ?", title, thread_id)
    tx.changes.threads.add(thread_id)


# A deleted thread: nothing that was said in it is kept. Its events stay known by their keys, so that none of
# them is accepted again, and so do the messages it sent by their ids on the platforms. Audit records and the
# rows of model calls stay.

_SENT = (
    "SELECT o.id FROM outbox o WHERE o.event_id IN (SELECT i.id FROM inbox i WHERE i.thread_id = ?)"
    " OR o.turn_id IN (SELECT r.id FROM runs r WHERE r.thread_id = ?)"
    " OR o.gate_id IN (SELECT g.id FROM gates g WHERE g.thread_id = ?)"
    " OR o.id IN (SELECT f.outbox_id FROM feed f WHERE f.thread_id = ?)"
)
_OUTBOX = f"(id IN ({_SENT}) OR edit_of IN ({_SENT}))"
_OF_THREAD = (
    "DELETE FROM feed WHERE thread_id = ?",
    "DELETE FROM votes WHERE gate_id IN (SELECT g.id FROM gates g WHERE g.thread_id = ?)",
    "DELETE FROM gates WHERE thread_id = ?",
    "DELETE FROM calls WHERE thread_id = ?",
    "DELETE FROM entries WHERE thread_id = ?",
    "UPDATE inbox SET text = NULL, extra = NULL, answer = NULL, thread_id = NULL, turn_id = NULL"
    " WHERE thread_id = ?",
    "DELETE FROM runs WHERE thread_id = ?",
    "DELETE FROM menus WHERE thread_id = ?",
    "DELETE FROM grants WHERE thread_id = ?",
    "DELETE FROM thread_keys WHERE thread_id = ?",
    "DELETE FROM sessions WHERE active_thread = ?",
    "UPDATE jobs SET thread_id = NULL, notice = NULL, notice_at = NULL WHERE thread_id = ?",
    "UPDATE routines SET thread_id = NULL WHERE thread_id = ?",
    "DELETE FROM threads WHERE id = ?",
)


def is_sending(tx: Transaction, thread_id: str) -> bool:
    """Return whether a message of the thread is on its way to a platform, or its export is still to be
    sent."""
    under_way = "settled = 0 AND (state NOT IN ('queued', 'ambiguous') OR message LIKE ?)"
    sql = f"SELECT 1 FROM outbox WHERE {under_way} AND {_OUTBOX} LIMIT 1"
    return tx.one(sql, f'%"{THREAD_FILE}{thread_id}"%', *[thread_id] * 8) is not None


def delete(tx: Transaction, on: ThreadRow, by: str) -> None:
    """Delete a thread and what was said in it. Messages that are still to be sent, or sent again, stay
    unsent. Raises IllegalChange while something runs, waits or is being sent in it."""
    waiting = tx.one("SELECT 1 FROM inbox WHERE thread_id = ? AND outcome = 'waiting' LIMIT 1", on.id)
    if on.active_turn_id is not None or waiting is not None or is_sending(tx, on.id):
        raise IllegalChange(f"thread {on.id} is at work, so it can't be deleted")
    audit.record(tx, AuditKind.THREAD_DELETED, on.id, actor=by, thread_id=on.id)
    note(tx, on.id)
    forget_said(tx, on.id)
    tx.run(
        "UPDATE outbox SET message = ?, turn_id = NULL, gate_id = NULL, menu_id = NULL, settled = 1,"
        " state = CASE WHEN state IN ('queued', 'replaced') THEN 'failed' ELSE state END,"
        " error = CASE WHEN settled = 0 THEN 'its conversation was deleted' ELSE error END"
        f" WHERE {_OUTBOX}",
        message_to_json(NOTHING),
        *[on.id] * 8,
    )
    for statement in _OF_THREAD:
        tx.run(statement, on.id)
    tx.changes.threads.add(on.id)


# A conversation that moved to another address: its threads and unsent messages move with it.

BEFORE_ALL_OTHERS = "-"
"""A prefix for old order keys, which makes them sort before every key of the new conversation."""


def move(tx: Transaction, event: Moved) -> Accepted:
    """Move the old conversation's keys, answers and waiting input to the new one. Repeating it has no
    further effect.

    A key that already leads to a thread at the new conversation stays as it is."""
    old, new = scope_of(event.old_scope), scope_of(event.scope)
    keys = tx.run(
        "INSERT INTO thread_keys (owner_id, channel, scope, thread_id)"
        " SELECT owner_id, channel, ?, thread_id FROM thread_keys WHERE channel = ? AND scope = ?"
        " ON CONFLICT (owner_id, channel, scope) DO NOTHING",
        new,
        event.channel,
        old,
    )
    place = (event.address, event.channel, event.old_address)
    tx.run("UPDATE threads SET scope = ?, address = ? WHERE channel = ? AND address = ?", new, *place)
    tx.run(
        "UPDATE inbox SET address = ?, order_key = ? || order_key"
        " WHERE outcome = 'waiting' AND channel = ? AND address = ?",
        event.address,
        BEFORE_ALL_OTHERS,
        event.channel,
        event.old_address,
    )
    # Shown messages stay at the old address; messages never attempted are sent to the new one.
    tx.run(
        "UPDATE outbox SET address = ? WHERE settled = 0 AND state = 'queued' AND edit_of IS NULL"
        " AND refs = '[]' AND channel = ? AND address = ?",
        *place,
    )
    outcome = "moved: no conversations there"
    if keys:
        outcome = "moved: 1 conversation continues" if keys == 1 else f"moved: {keys} conversations continue"
    record(tx, NewEvent(event, outcome))
    return Accepted(outcome, None, duplicate=False)


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
