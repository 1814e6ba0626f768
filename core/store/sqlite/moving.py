"""A conversation goes on under another address: its threads, and what is still to be sent, go along."""

from core.messages import Moved
from core.store.accept import Accepted
from core.store.sqlite.inbox import NewEvent, record
from core.store.sqlite.transaction import Transaction
from core.thread_key import scope_of

BEFORE_ALL_OTHERS = "-"
"""Put before an order key, it sorts before every key of the new place: those begin anew."""


def move(tx: Transaction, event: Moved) -> Accepted:
    """Lead the keys of the old place to the same threads at the new one, unless they lead somewhere there
    already; answers and waiting input move too. Done twice it does no more."""
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
    # What was shown stays where it is; what was never requested goes out at the new place.
    tx.run(
        "UPDATE outbox SET address = ? WHERE settled = 0 AND state = 'queued' AND edit_of IS NULL"
        " AND refs = '[]' AND channel = ? AND address = ?",
        *place,
    )
    outcome = "moved: nothing was said there"
    if keys:
        outcome = "moved: 1 conversation goes on" if keys == 1 else f"moved: {keys} conversations go on"
    record(tx, NewEvent(event, outcome))
    return Accepted(outcome, None, duplicate=False)
