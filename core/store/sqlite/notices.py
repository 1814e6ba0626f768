"""Notices: one message for each key, at the first place that takes it."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Sequence

from core.messages import Address, Message
from core.ports import OutboxRow
from core.store.codec import message_from_json
from core.store.notices import REACH_THREADS, Place, Reach
from core.store.rows import Draft
from core.store.sqlite import outbox, people
from core.store.sqlite.feed import put_messages
from core.store.sqlite.mapping import ACTIVE_TURN, THREAD, thread_of
from core.store.sqlite.onlooking import Onlooking
from core.store.sqlite.transaction import Transaction


class NoticeUnits(Onlooking):
    """Implements core.store.notices.NoticeUnits, and Outbox.fail_outbox."""

    async def reach(self, user_id: str) -> Reach:
        """See core.store.notices.NoticeUnits."""
        return await self._reader.run(lambda tx: reach(tx, user_id))

    async def add_notice(self, key: str, message: Message, places: Sequence[Place]) -> tuple[OutboxRow, ...]:
        """See core.store.notices.NoticeUnits."""
        return await self._writer.run(lambda tx: add(tx, key, message, places))

    async def fail_outbox(self, row_id: int, reason: str) -> tuple[OutboxRow, ...]:
        """See Outbox."""
        return await self._writer.run(lambda tx: fail(tx, row_id, reason))


def reach(tx: Transaction, user_id: str) -> Reach:
    """See core.store.notices.NoticeUnits."""
    accounts = tx.all("SELECT channel, platform_user_id FROM identities WHERE user_id = ?", user_id)
    found = (people.identity(tx, channel, platform_user_id) for channel, platform_user_id in accounts)
    # Keys are found by their person, threads are not: there may be very many of other people.
    mine = "SELECT k.thread_id FROM thread_keys k WHERE k.owner_id = ?"
    threads = tx.all(
        f"SELECT {THREAD} FROM threads t {ACTIVE_TURN} WHERE t.id IN ({mine})"
        " ORDER BY t.last_active_at DESC LIMIT ?",
        user_id,
        REACH_THREADS,
    )
    return Reach(
        tuple(identity for identity in found if identity is not None),
        tuple(thread_of(row) for row in threads),
    )


def add(tx: Transaction, key: str, message: Message, places: Sequence[Place]) -> tuple[OutboxRow, ...]:
    """See core.store.notices.NoticeUnits."""
    if tx.one("SELECT 1 FROM notices WHERE key = ?", key) is not None:
        return ()
    row = _queue(tx, message, places[0])
    tx.run(
        "INSERT INTO notices (key, outbox_id, elsewhere, created_at) VALUES (?, ?, ?, ?)",
        key,
        row.id,
        _places_to_json(places[1:]),
        tx.clock.now(),
    )
    return (row,)


def fail(tx: Transaction, row_id: int, reason: str) -> tuple[OutboxRow, ...]:
    """See Outbox.fail_outbox."""
    if not outbox.fail(tx, row_id, reason):
        return ()
    notice = tx.one(
        "SELECT n.key, n.elsewhere, o.message FROM notices n JOIN outbox o ON o.id = n.outbox_id"
        " WHERE n.outbox_id = ?",
        row_id,
    )
    if notice is None:
        return outbox.instead_of(tx, row_id)
    if not (places := _places_from_json(notice[1])):
        return ()
    row = _queue(tx, message_from_json(notice[2]), places[0])
    tx.run(
        "UPDATE notices SET outbox_id = ?, elsewhere = ? WHERE key = ?",
        row.id,
        _places_to_json(places[1:]),
        notice[0],
    )
    return (row,)


def _queue(tx: Transaction, message: Message, place: Place) -> OutboxRow:
    draft = Draft(place.channel, place.address, message, tx.ids.row_id(), _prompt_of(tx, message))
    (row,) = outbox.enqueue(tx, [draft], outbox.Cause())
    if place.thread_id is not None:
        put_messages(tx, place.thread_id, [row])
    return row


def _prompt_of(tx: Transaction, message: Message) -> str | None:
    """The prompt that the message is a card of; the buttons of other notices belong to no prompt."""
    if message.prompt_id is None:
        return None
    known = tx.one("SELECT 1 FROM prompts WHERE id = ?", message.prompt_id)
    return None if known is None else message.prompt_id


def _places_to_json(places: Sequence[Place]) -> str:
    return json.dumps([[place.channel, place.address, place.thread_id] for place in places])


def _places_from_json(text: str) -> list[Place]:
    return [Place(channel, Address(address), thread_id) for channel, address, thread_id in json.loads(text)]
