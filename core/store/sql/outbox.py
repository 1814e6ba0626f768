"""Outgoing messages: `queued → sending → sent | failed | ambiguous` (previews: see previews.py).

A row is `settled` once no further action is due: sent, failed, or ambiguous after its one repeat.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from dataclasses import replace

from core.errors import StoreError
from core.lazy import dataclass
from core.messages import Address, Message, MessageRef, plain
from core.ports import KnownMessage, OutboxRow, PostContext, Posted, SendState, Uncertain
from core.store.codecs import message_from_json, message_to_json, refs_from_json, refs_to_json, storable
from core.store.rows import Draft
from core.store.sql.mapping import OUTBOX, marks, not_held, outbox_of
from core.store.units import Row, Transaction

NEWEST_EVENT = "(SELECT max(id) FROM inbox)"
NOTHING = Message(())
"""The stored message of a preview, which has no text and only names the message it replies to. As
a change of the preview, it removes it."""
REPEATS_LIMIT = 1
"""Maximum number of repeats of an unanswered request; then its outcome stays ambiguous."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The reason a row was written, for later explanation."""

    turn_id: str | None = None
    event_id: int | None = None


def enqueue(
    tx: Transaction,
    drafts: Sequence[Draft],
    cause: Cause,
    *,
    send_now: bool = False,
    replaces: int | None = None,
) -> tuple[OutboxRow, ...]:
    """Put messages into the outbox, in order. The first replaces the preview `replaces`.

    With `send_now`, each is `sending` at once if it is the only unsettled one of its address."""
    rows: list[OutboxRow] = []
    now = tx.clock.now()
    for draft in drafts:
        sending = send_now and not _unsettled(tx, draft.channel, draft.address)
        state = SendState.SENDING if sending else SendState.QUEUED
        row_id = tx.insert(
            "INSERT INTO outbox (channel, address, message, state, settled, nonce, replaces, gate_id,"
            " menu_id, turn_id, event_id, attempts, created_at, asked_at, fence, job_id, paced, asked_after)"
            f" VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {NEWEST_EVENT})",
            draft.channel,
            draft.address,
            message_to_json(draft.message),
            state.value,
            draft.nonce,
            replaces,
            draft.gate_id,
            draft.message.gate_id if draft.message.speaks else None,
            cause.turn_id,
            cause.event_id,
            int(sending),
            now,
            now if sending else None,
            tx.lease.fence if sending else None,
            draft.job_id,
            int(draft.paced),
        )
        row = OutboxRow(
            row_id,
            draft.channel,
            draft.address,
            draft.message,
            state,
            draft.nonce,
            attempts=int(sending),
            replaces=replaces,
            paced=draft.paced,
        )
        rows.append(row)
        replaces = None
    return tuple(rows)


def enqueue_instead(
    tx: Transaction, turn_id: str, drafts: Sequence[Draft], *, send_now: bool
) -> tuple[OutboxRow, ...]:
    """Queue a turn's last messages. The first replaces its preview if that is in the same
    conversation; without messages the preview is removed."""
    preview = _replace(tx, turn_id)
    cause = Cause(turn_id=turn_id)
    if preview is None:
        return enqueue(tx, drafts, cause, send_now=send_now)
    row_id, channel, address = preview
    if drafts and (drafts[0].channel, drafts[0].address) == (channel, address):
        return enqueue(tx, drafts, cause, send_now=send_now, replaces=row_id)
    return (_take_away(tx, preview), *enqueue(tx, drafts, cause))


def withdraw(tx: Transaction, turn_id: str) -> tuple[OutboxRow, ...]:
    """Remove the preview, if any, of a turn that stops running without an answer."""
    preview = _replace(tx, turn_id)
    return () if preview is None else (_take_away(tx, preview),)


def _replace(tx: Transaction, turn_id: str) -> Row | None:
    return tx.one(
        "UPDATE outbox SET state = 'replaced', settled = (refs <> '[]')"
        " WHERE turn_id = ? AND state = 'streaming' RETURNING id, channel, address",
        turn_id,
    )


def _take_away(tx: Transaction, preview: Row) -> OutboxRow:
    target, channel, address = preview
    nonce = tx.ids.row_id()
    row_id = tx.insert(
        "INSERT INTO outbox (channel, address, message, state, settled, nonce, edit_of, attempts, created_at)"
        " VALUES (?, ?, ?, 'queued', 0, ?, ?, 0, ?)",
        channel,
        address,
        message_to_json(NOTHING),
        nonce,
        target,
        tx.clock.now(),
    )
    return OutboxRow(row_id, channel, Address(address), NOTHING, SendState.QUEUED, nonce, edit_of=target)


def take_away_received(
    tx: Transaction, channel: str, address: Address, ref: MessageRef, hint: str
) -> OutboxRow:
    """Queue the removal of a person's message, as of one of the hub's own. If the platform refuses for
    good, `hint` is sent; see `instead_of`."""
    now = tx.clock.now()
    shown_id = tx.insert(
        "INSERT INTO outbox (channel, address, message, state, settled, nonce, refs, attempts, created_at,"
        " sent_at) VALUES (?, ?, ?, 'sent', 1, ?, ?, 0, ?, ?)",
        channel,
        address,
        message_to_json(Message(())),
        tx.ids.row_id(),
        refs_to_json((ref,)),
        now,
        now,
    )
    nothing = Message((), outcome=hint)
    nonce = tx.ids.row_id()
    row_id = tx.insert(
        "INSERT INTO outbox (channel, address, message, state, settled, nonce, edit_of, attempts, created_at)"
        " VALUES (?, ?, ?, 'queued', 0, ?, ?, 0, ?)",
        channel,
        address,
        message_to_json(nothing),
        nonce,
        shown_id,
        now,
    )
    return OutboxRow(row_id, channel, address, nothing, SendState.QUEUED, nonce, edit_of=shown_id)


def instead_of(tx: Transaction, row_id: int) -> tuple[OutboxRow, ...]:
    """Queue the hint to send if a message could not be removed."""
    row = tx.one("SELECT channel, address, message FROM outbox WHERE id = ? AND edit_of IS NOT NULL", row_id)
    message = None if row is None else message_from_json(row[2])
    if row is None or message is None or message.blocks or message.outcome is None:
        return ()
    draft = Draft(row[0], Address(row[1]), plain(message.outcome), tx.ids.row_id())
    return enqueue(tx, [draft], Cause())


def mark(tx: Transaction, turn_ids: Sequence[str], said: str | None) -> tuple[OutboxRow, ...]:
    """Queue a mark on every message that these turns sent, the newest first; None takes the marks away. A
    mark that was not sent yet is not sent any more."""
    shown = tx.all(
        f"SELECT id, channel, address, turn_id, message FROM outbox WHERE turn_id IN {marks(turn_ids)}"
        " AND edit_of IS NULL AND gate_id IS NULL AND state NOT IN ('failed', 'streaming', 'replaced')"
        " ORDER BY id DESC",
        *turn_ids,
    )
    written = message_to_json(Message((), outcome=said))
    rows: list[OutboxRow] = []
    for target, channel, address, turn_id, message in shown:
        if not message_from_json(message).blocks:
            continue
        tx.run(
            "UPDATE outbox SET state = 'replaced', settled = 1"
            " WHERE edit_of = ? AND marks = 1 AND state = 'queued'",
            target,
        )
        nonce = tx.ids.row_id()
        row_id = tx.insert(
            "INSERT INTO outbox (channel, address, message, state, settled, nonce, edit_of, turn_id,"
            " attempts, created_at, marks, paced) VALUES (?, ?, ?, 'queued', 0, ?, ?, ?, 0, ?, 1, 1)",
            channel,
            address,
            written,
            nonce,
            target,
            turn_id,
            tx.clock.now(),
        )
        row = OutboxRow(row_id, channel, Address(address), Message((), outcome=said), SendState.QUEUED, nonce)
        rows.append(replace(row, edit_of=target, marks=True, paced=True))
    return tuple(rows)


def _unsettled(tx: Transaction, channel: str, address: Address) -> bool:
    sql = (
        "SELECT 1 FROM outbox WHERE channel = ? AND address = ? AND settled = 0"
        " AND state NOT IN ('streaming', 'replaced') AND paced = 0 LIMIT 1"
    )
    return tx.one(sql, channel, address) is not None


# --- units for senders --------------------------------------------------------------------------------


def pending(tx: Transaction, channel: str) -> tuple[OutboxRow, ...]:
    rows = tx.all(
        f"SELECT {OUTBOX} FROM outbox WHERE channel = ? AND settled = 0"
        f" AND (state IN ('queued', 'ambiguous') OR fence = ? OR {not_held('outbox')}) ORDER BY id",
        channel,
        tx.lease.fence,
    )
    return tuple(outbox_of(row) for row in rows)


def claim(tx: Transaction, row_id: int) -> OutboxRow:
    known = _row(tx, row_id)
    row = tx.one(
        "UPDATE outbox SET state = 'sending', attempts = attempts + 1,"
        " repeats = CASE state WHEN 'ambiguous' THEN repeats + 1 ELSE repeats END,"
        " repeated_part = CASE state WHEN 'ambiguous' THEN ? ELSE repeated_part END,"
        f" asked_at = ?, fence = ?, asked_after = {NEWEST_EVENT}"
        f" WHERE id = ? AND settled = 0 AND state IN ('queued', 'ambiguous') RETURNING {OUTBOX}",
        len(known.refs),
        tx.clock.now(),
        tx.lease.fence,
        row_id,
    )
    if row is None:
        return known
    claimed = outbox_of(row)
    return _marked(tx, claimed) if claimed.marks else claimed


def _marked(tx: Transaction, row: OutboxRow) -> OutboxRow:
    """Return a mark with the content of its message as it is shown now."""
    shown = tx.one(
        "SELECT message FROM outbox WHERE (id = ? OR edit_of = ?) AND marks = 0 AND state <> 'failed'"
        " ORDER BY id DESC LIMIT 1",
        row.edit_of,
        row.edit_of,
    )
    message = NOTHING if shown is None else message_from_json(shown[0])
    return replace(row, message=replace(message, mark=row.message.outcome))


def sent_refs(tx: Transaction, row_id: int) -> tuple[MessageRef, ...]:
    row = tx.one(
        "SELECT refs FROM outbox WHERE id = ? AND state IN ('sent', 'ambiguous', 'replaced')", row_id
    )
    return () if row is None else refs_from_json(row[0])


def record_part_sent(tx: Transaction, row_id: int, posted: Posted, *, last: bool) -> None:
    row = tx.one("SELECT state, refs FROM outbox WHERE id = ?", row_id)
    if row is None:
        raise StoreError(f"there is no outbox row {row_id}")
    state, sent = row
    if state in {SendState.SENT, SendState.FAILED}:
        raise StoreError(f"outbox row {row_id} is {state}: no part of it can go out any more")
    now = tx.clock.now()
    tx.run(
        "UPDATE outbox SET refs = ?, order_key = ?, state = ?, settled = ?, sent_at = ?, error = NULL"
        " WHERE id = ?",
        refs_to_json((*refs_from_json(sent), posted.ref)),
        posted.order_key,
        (SendState.SENT if last else SendState.SENDING).value,
        int(last),
        now if last else None,
        row_id,
    )
    if not last:  # the next part is requested at once
        tx.run(f"UPDATE outbox SET asked_at = ?, asked_after = {NEWEST_EVENT} WHERE id = ?", now, row_id)


def record_sent(tx: Transaction, row_id: int) -> None:
    tx.run(
        "UPDATE outbox SET state = 'sent', settled = 1, sent_at = ?, error = NULL"
        " WHERE id = ? AND state <> 'failed'",
        tx.clock.now(),
        row_id,
    )


def retry(tx: Transaction, row_id: int, not_before: int, reason: str) -> None:
    tx.run(
        "UPDATE outbox SET state = 'queued', not_before = ?, error = ? WHERE id = ? AND settled = 0",
        not_before,
        storable(reason),
        row_id,
    )


def mark_ambiguous(tx: Transaction, row_id: int, reason: str, asked_by: int | None) -> OutboxRow:
    row = tx.one(
        "UPDATE outbox SET state = 'ambiguous', settled = CASE WHEN repeats >= ? THEN 1 ELSE 0 END,"
        " error = ?, asked_by = ?"
        f" WHERE id = ? AND settled = 0 RETURNING {OUTBOX}",
        REPEATS_LIMIT,
        storable(reason),
        tx.clock.now() if asked_by is None else asked_by,
        row_id,
    )
    return outbox_of(row) if row is not None else _row(tx, row_id)


def fail(tx: Transaction, row_id: int, reason: str) -> bool:
    """Mark a row as failed for good. Return False if it was settled already."""
    changed = tx.run(
        "UPDATE outbox SET state = 'failed', settled = 1, error = ? WHERE id = ? AND settled = 0",
        storable(reason),
        row_id,
    )
    return changed > 0


def give_back_sending(tx: Transaction) -> tuple[OutboxRow, ...]:
    """Recover the rows that ended hubs were sending.

    Repeating a change of a shown message changes nothing, so such changes are queued again, as are
    messages that were about to replace a preview. Another message may have been sent, so its row
    becomes ambiguous, finally so if its repeat was the one interrupted. Return the previews of which
    nobody knows where they are shown.
    """
    tx.run(
        f"UPDATE outbox SET state = 'queued' WHERE settled = 0 AND state = 'sending' AND {not_held('outbox')}"
        " AND (edit_of IS NOT NULL OR refs = '[]' AND EXISTS"
        " (SELECT 1 FROM outbox p WHERE p.id = outbox.replaces AND p.refs <> '[]'))"
    )
    now = tx.clock.now()
    tx.run(
        "UPDATE outbox SET state = 'ambiguous', settled = CASE WHEN repeats >= ? THEN 1 ELSE 0 END,"
        " asked_by = ?,"
        " error = 'the hub ended while the request was under way'"
        f" WHERE settled = 0 AND state = 'sending' AND {not_held('outbox')}",
        REPEATS_LIMIT,
        now,
    )
    lost = tx.all(
        "UPDATE outbox SET asked_by = ?"
        f" WHERE settled = 0 AND state IN ('streaming', 'replaced') AND refs = '[]' AND {not_held('outbox')}"
        f" RETURNING {OUTBOX}",
        now,
    )
    return tuple(outbox_of(row) for row in lost)


def _row(tx: Transaction, row_id: int) -> OutboxRow:
    row = tx.one(f"SELECT {OUTBOX} FROM outbox WHERE id = ?", row_id)
    if row is None:
        raise StoreError(f"there is no outbox row {row_id}")
    return outbox_of(row)


# The store's knowledge of the time around an unanswered request, used to find its message.

NEWEST_LIMIT = 500
"""Maximum number of the newest inbound and outbound messages to search."""

_UNDER_WAY = frozenset({SendState.SENDING, SendState.AMBIGUOUS, SendState.STREAMING, SendState.REPLACED})
_NEWEST = "id > (SELECT max(id) FROM outbox) - ? AND channel = ?"


def post_context(tx: Transaction, row_id: int) -> PostContext:
    row = tx.one(
        f"SELECT {OUTBOX}, coalesce(asked_at, created_at), coalesce(asked_after, event_id, 0), asked_by"
        " FROM outbox WHERE id = ?",
        row_id,
    )
    if row is None:
        raise StoreError(f"there is no outbox row {row_id}")
    asked_at, asked_after, asked_by = row[-3:]
    asked = outbox_of(row[:-3])
    channel = asked.channel
    received = _received(tx, channel, asked_after)
    sent = tx.all(
        "SELECT address, order_key, coalesce(asked_at, created_at), id = ? OR sent_at <= ?, refs FROM outbox"
        f" WHERE {_NEWEST} AND refs <> '[]'",
        row_id,
        asked_at,
        NEWEST_LIMIT,
        channel,
    )
    known = [*received, *((_known(*one[:3]), bool(one[3])) for one in sent if one[1])]
    return PostContext(
        asked,
        tx.clock.now() if asked_by is None else asked_by,
        tuple(message for message, is_earlier in known if is_earlier),
        tuple(message for message, is_earlier in known if not is_earlier),
        frozenset(ref for one in sent for ref in refs_from_json(one[4])),
        _uncertain(tx, channel, row_id),
    )


def _known(address: str, order_key: str, taken_at: int) -> KnownMessage:
    return KnownMessage(Address(address), order_key, taken_at)


def _received(tx: Transaction, channel: str, asked_after: int) -> list[tuple[KnownMessage, bool]]:
    """Return the newest messages up to that event, and the oldest after it."""
    select = "SELECT address, order_key, sent_at FROM inbox WHERE"
    is_message = "channel = ? AND kind = 'message' AND order_key <> ''"
    before = tx.all(
        f"{select} id BETWEEN ? AND ? AND {is_message}", asked_after - NEWEST_LIMIT, asked_after, channel
    )
    after = tx.all(
        f"{select} id BETWEEN ? AND ? AND {is_message}", asked_after + 1, asked_after + NEWEST_LIMIT, channel
    )
    return [*((_known(*one), True) for one in before), *((_known(*one), False) for one in after)]


def _uncertain(tx: Transaction, channel: str, row_id: int) -> tuple[Uncertain, ...]:
    """Return rows with an unanswered request, and rows that were sent again after one."""
    rows = tx.all(
        f"SELECT {OUTBOX}, coalesce(asked_by, asked_at, created_at),"
        " settled = 0 AND state <> 'sending' AND asked_by IS NOT NULL, repeated_part FROM outbox"
        f" WHERE {_NEWEST} AND id <> ? AND edit_of IS NULL AND (state IN ('sending', 'ambiguous')"
        " OR repeats > 0 OR state IN ('streaming', 'replaced') AND settled = 0 AND refs = '[]') ORDER BY id",
        NEWEST_LIMIT,
        channel,
        row_id,
    )
    return tuple(
        Uncertain(outbox_of(row[:-3]), row[-3], bool(row[-2]), _unknown_parts(outbox_of(row[:-3]), row[-1]))
        for row in rows
    )


def _unknown_parts(row: OutboxRow, repeated: int | None) -> tuple[int, ...]:
    """Return the part that was sent again, and the part whose outcome is unknown."""
    under_way = (len(row.refs),) if row.state in _UNDER_WAY else ()
    return under_way if repeated is None else tuple({repeated, *under_way})
