"""What the store knows around a request that went unanswered, so that its message can be looked for."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from core.errors import StoreError
from core.messages import Address
from core.ports import KnownMessage, OutboxRow, SendState, Surroundings, Uncertain
from core.store.codec import refs_from_json
from core.store.sqlite.mapping import OUTBOX, outbox_of
from core.store.sqlite.transaction import Transaction

NEWEST_LIMIT = 500
"""So many of the newest messages in and out are looked at."""

_UNDER_WAY = frozenset({SendState.SENDING, SendState.AMBIGUOUS, SendState.STREAMING, SendState.REPLACED})
_NEWEST = "id > (SELECT max(id) FROM outbox) - ? AND channel = ?"


def surroundings(tx: Transaction, row_id: int) -> Surroundings:
    """See core.ports.Outbox."""
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
    return Surroundings(
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
    """The newest messages up to that event, and the oldest after it."""
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
    """Rows with a request that nobody knows the end of, and those that were sent once more after one."""
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
    """The part that was sent once more, and the one whose end is not known."""
    under_way = (len(row.refs),) if row.state in _UNDER_WAY else ()
    return under_way if repeated is None else tuple({repeated, *under_way})
