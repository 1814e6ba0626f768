"""Previews: the outbox row of a running turn, whose text is never stored.

    streaming ──(the turn stops running, in that transaction)──▶ replaced

A preview is durable before its first request is sent, and so is its ref before it is shown
again. A replaced preview without a ref stays unsettled: a starting hub then has to find where
it is shown, unless its replacement is settled.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from dataclasses import replace

from core.messages import Address
from core.ports import OutboxRow, Posted, SendState
from core.store.codecs import message_to_json, refs_from_json, refs_to_json
from core.store.sql.mapping import OUTBOX, outbox_of
from core.store.sql.outbox import NEWEST_EVENT, NOTHING
from core.store.transaction import Transaction

# --- units for senders --------------------------------------------------------------------------------


def begin(tx: Transaction, turn_id: str, channel: str, address: Address) -> OutboxRow | None:
    turn = tx.one("SELECT reply_to FROM runs WHERE id = ? AND state = 'running'", turn_id)
    if turn is None:
        return None
    row = tx.one(
        "UPDATE outbox SET attempts = attempts + 1, fence = ? WHERE turn_id = ? AND state = 'streaming'"
        f" RETURNING {OUTBOX}",
        tx.lease.fence,
        turn_id,
    )
    if row is not None:
        return outbox_of(row)
    now, nonce, message = tx.clock.now(), tx.ids.row_id(), replace(NOTHING, reply_to=turn[0])
    row_id = tx.insert(
        "INSERT INTO outbox (channel, address, message, state, settled, nonce, turn_id, attempts, created_at,"
        f" asked_at, fence, asked_after) VALUES (?, ?, ?, 'streaming', 0, ?, ?, 1, ?, ?, ?, {NEWEST_EVENT})",
        channel,
        address,
        message_to_json(message),
        nonce,
        turn_id,
        now,
        now,
        tx.lease.fence,
    )
    return OutboxRow(row_id, channel, address, message, SendState.STREAMING, nonce, attempts=1)


def record(tx: Transaction, row_id: int, posted: Posted | None) -> None:
    tx.run(
        "UPDATE outbox SET refs = ?, order_key = ?, sent_at = ?, asked_by = NULL,"
        " settled = CASE state WHEN 'replaced' THEN 1 ELSE 0 END,"
        " attempts = CASE WHEN ? THEN attempts ELSE 0 END"
        " WHERE id = ? AND state IN ('streaming', 'replaced')",
        refs_to_json(() if posted is None else (posted.ref,)),
        None if posted is None else posted.order_key,
        None if posted is None else tx.clock.now(),
        posted is not None,
        row_id,
    )


def shown(tx: Transaction, row_id: int) -> Posted | None:
    row = tx.one("SELECT refs, order_key FROM outbox WHERE id = ?", row_id)
    refs = () if row is None else refs_from_json(row[0])
    return None if row is None or not refs else Posted(refs[-1], row[1])


# --- recovery -----------------------------------------------------------------------------------------


def settle_replaced(tx: Transaction) -> None:
    """Settle previews whose replacement is settled. They must not be searched for: the message found
    could be the replacement."""
    tx.run(
        "UPDATE outbox SET settled = 1 WHERE settled = 0 AND state = 'replaced' AND"
        " (EXISTS (SELECT 1 FROM outbox n WHERE n.replaces = outbox.id AND n.settled = 1)"
        " OR EXISTS (SELECT 1 FROM outbox n WHERE n.edit_of = outbox.id AND n.settled = 1))"
    )
