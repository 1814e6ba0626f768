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
    shown the outcome like the others: at once if the prompt is `settled` (its outcome in words). A row that
    is still to be found out is found by that."""
    rows = tx.all(
        "SELECT message, refs FROM outbox WHERE prompt_id = ? AND edit_of IS NULL ORDER BY id", prompt_id
    )
    if not rows or any(ref in refs_from_json(refs) for _, refs in rows):
        return ()
    now = tx.clock.now()
    lost = tx.one(
        "SELECT id, refs FROM outbox WHERE prompt_id = ? AND edit_of IS NULL AND channel = ? AND address = ?"
        " AND state = 'ambiguous' AND settled = 0 ORDER BY id LIMIT 1",
        prompt_id,
        channel,
        address,
    )
    if lost is not None:  # the buttons stand on the last part
        _show_at(tx, lost[0], (*refs_from_json(lost[1]), ref))
        return ()
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


def find_pressed(tx: Transaction) -> None:
    """For a starting hub: a card that was being sent, and is pressed already, is where it was pressed."""
    found = tx.all(
        "SELECT o.id, o.refs, c.refs FROM outbox o JOIN outbox c ON c.prompt_id = o.prompt_id"
        " WHERE o.settled = 0 AND o.state = 'sending' AND o.edit_of IS NULL AND c.edit_of IS NULL"
        " AND c.state = 'sent' AND c.id > o.id AND c.channel = o.channel AND c.address = o.address"
    )
    for row_id, refs, pressed in found:
        _show_at(tx, row_id, (*refs_from_json(refs), *refs_from_json(pressed)[-1:]))


def _show_at(tx: Transaction, row_id: int, refs: tuple[MessageRef, ...]) -> None:
    """The row's last part is known to be shown."""
    tx.run(
        "UPDATE outbox SET refs = ?, state = 'sent', settled = 1, sent_at = ?, error = NULL"
        " WHERE id = ? AND settled = 0",
        refs_to_json(refs),
        tx.clock.now(),
        row_id,
    )
