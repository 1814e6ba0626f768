"""The copies of a prompt's card: every one that was shown is changed to its outcome."""

from dataclasses import replace

from core.messages import Address, Message, MessageRef
from core.ports import OutboxRow, SendState
from core.store.codec import message_from_json, message_to_json, refs_from_json, refs_to_json
from core.store.sqlite.transaction import Transaction


def change_cards(
    tx: Transaction, prompt_id: str, card: Message | None, outcome_text: str
) -> tuple[OutboxRow, ...]:
    """Queue a change of every copy of a prompt's card: to `card`, or to itself with its outcome.

    A copy may not have gone out yet; its change waits behind it. Copies that failed are left alone.
    """
    copies = tx.all(
        "SELECT id, channel, address, message FROM outbox"
        " WHERE prompt_id = ? AND edit_of IS NULL AND state <> 'failed' ORDER BY id",
        prompt_id,
    )
    return tuple(
        _change_copy(
            tx,
            copy_id,
            channel,
            address,
            prompt_id,
            card or replace(message_from_json(message), choices=(), outcome=outcome_text),
        )
        for copy_id, channel, address, message in copies
    )


def _change_copy(
    tx: Transaction, copy_id: int, channel: str, address: str, prompt_id: str, changed: Message
) -> OutboxRow:
    nonce = tx.ids.row_id()
    row_id = tx.insert(
        "INSERT INTO outbox (channel, address, message, state, settled, nonce, edit_of, prompt_id,"
        " attempts, created_at) VALUES (?, ?, ?, 'queued', 0, ?, ?, ?, 0, ?)",
        channel,
        address,
        message_to_json(changed),
        nonce,
        copy_id,
        prompt_id,
        tx.clock.now(),
    )
    return OutboxRow(row_id, channel, Address(address), changed, SendState.QUEUED, nonce, edit_of=copy_id)


def learn_copy(
    tx: Transaction, prompt_id: str, channel: str, address: Address, ref: MessageRef, settled: str | None
) -> tuple[OutboxRow, ...]:
    """A card was pressed. If it is a copy whose sending was never answered, it is known from now on, and
    shown the outcome like the others: at once if the prompt is `settled` (its outcome in words)."""
    rows = tx.all(
        "SELECT message, refs FROM outbox WHERE prompt_id = ? AND edit_of IS NULL ORDER BY id", prompt_id
    )
    if not rows or any(ref in refs_from_json(refs) for _, refs in rows):
        return ()
    now = tx.clock.now()
    copy_id = tx.insert(
        "INSERT INTO outbox (channel, address, message, state, settled, nonce, refs, prompt_id, attempts,"
        " created_at, sent_at) VALUES (?, ?, ?, 'sent', 1, ?, ?, ?, 0, ?, ?)",
        channel,
        address,
        rows[0][0],
        tx.ids.row_id(),
        refs_to_json((ref,)),
        prompt_id,
        now,
        now,
    )
    if settled is None:
        return ()
    changed = replace(message_from_json(rows[0][0]), choices=(), outcome=settled)
    return (_change_copy(tx, copy_id, channel, address, prompt_id, changed),)
