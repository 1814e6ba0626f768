"""Changes of whole threads: which one a key leads to, its name, closed, open and deleted."""

# ruff: noqa: S608 - statements are constants, values are always bound

from core.audit_chain import AuditKind
from core.errors import IllegalChange
from core.messages import THREAD_FILE, Moved
from core.store.accept import Accepted
from core.store.codecs import message_to_json, storable, strings_to_json
from core.store.rows import ThreadChange, ThreadRow
from core.store.sql import audit, people, thread_files
from core.store.sql.inbox import NewEvent, lead_to, record
from core.store.sql.outbox import NOTHING
from core.store.sql.search import forget_said
from core.store.sql.turns import thread
from core.store.states import ThreadState, require_change
from core.store.transaction import Transaction
from core.users import ThreadKey, scope_of


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
    thread_files.note(tx, on.id)
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
