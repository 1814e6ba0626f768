"""Inputs on their way into a turn: what waits, parts of one album as one, and texts that were edited."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from core.inputs import as_told
from core.messages import Address, Attachment, InboundMessage, MessageRef
from core.store.accept import ASKED_FOR, WITHHELD, Accepted
from core.store.codec import storable
from core.store.hooking import HELD
from core.store.rows import REJOIN_US
from core.store.said_codec import event_extra_from_json, event_extra_to_json
from core.store.sqlite.inbox import NewEvent, record
from core.store.sqlite.transaction import Row, Transaction
from core.thread_key import scope_of
from core.transcript import UserSaid

EDITED_IN_TIME = "edited: it was still waiting"
EDITED_TOO_LATE = "ignored: edited after it was answered"

_COLUMNS = "id, user_id, text, sender, direct, channel, address, extra, album, wait_until, key"


@dataclass(frozen=True, slots=True)
class Taken:
    """Waiting inputs of one person that become a turn; it answers to where the last of them came from."""

    ids: tuple[int, ...]
    keys: tuple[str, ...]
    user_id: str
    said: tuple[UserSaid, ...]
    channel: str
    address: Address
    reply_to: MessageRef | None


def input_of(
    texts: Sequence[str], attachments: Sequence[Attachment], sender: str, *, direct: bool
) -> UserSaid:
    """An input as the transcript has it; who speaks is said only where several people may."""
    return UserSaid(as_told(texts, attachments), "" if direct else sender, tuple(attachments))


# --- what waits -----------------------------------------------------------------------------------------


def take_waiting(tx: Transaction, thread_id: str) -> Taken | None:
    """The oldest waiting input of a thread, and those of the same person right after it as far as the policy
    merges them. Nothing from an album on that still waits for the rest of it."""
    messages = _messages(tx, thread_id)
    user_id = messages[0][0][1] if messages else None
    now = tx.clock.now()
    taken = list(
        takewhile(
            lambda parts: parts[0][1] == user_id and all(part[9] <= now for part in parts),
            messages[: tx.policy.merge_inputs],
        )
    )
    if not taken:
        return None
    last = taken[-1][-1]
    direct = bool(last[4])
    return Taken(
        tuple(part[0] for parts in taken for part in parts),
        tuple(part[10] for parts in taken for part in parts),
        last[1],
        tuple(map(_said, taken)),
        last[5],
        Address(last[6]),
        None if direct else event_extra_from_json(last[7]).ref,
    )


def _messages(tx: Transaction, thread_id: str) -> list[list[Row]]:
    """Waiting messages in order, each with its parts."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM inbox WHERE thread_id = ? AND outcome = 'waiting'"  # noqa: S608 - a constant
        " ORDER BY order_key, id LIMIT ?",
        thread_id,
        tx.policy.merge_inputs,
    )
    albums = {row[8] for row in rows} - {None}
    known = {row[0] for row in rows}
    for album in albums:
        rows.extend(row for row in _parts(tx, thread_id, album) if row[0] not in known)
    messages: dict[str | int, list[Row]] = {}
    for row in rows:
        messages.setdefault(row[8] or row[0], []).append(row)
    return list(messages.values())


def _parts(tx: Transaction, thread_id: str, album: str) -> list[Row]:
    return tx.all(
        f"SELECT {_COLUMNS} FROM inbox WHERE album = ? AND thread_id = ?"  # noqa: S608 - a constant
        " AND outcome = 'waiting' ORDER BY order_key, id",
        album,
        thread_id,
    )


def _said(parts: Sequence[Row]) -> UserSaid:
    attachments = [file for part in parts for file in event_extra_from_json(part[7]).attachments]
    texts = [part[2] or "" for part in parts]
    return input_of(texts, attachments, parts[0][3], direct=bool(parts[0][4]))


def rejoin_albums(tx: Transaction) -> None:
    """A hub starts: what waits of albums waits for the rest of them, which may be delivered only now."""
    tx.run(
        "UPDATE inbox SET wait_until = ? WHERE outcome = 'waiting' AND album IS NOT NULL AND wait_until < ?",
        tx.clock.now() + REJOIN_US,
        HELD,
    )


def goes_on(tx: Transaction, event: InboundMessage) -> bool:
    """Whether a message that does not name the bot belongs to what its sender was heard to say before."""
    return _is_part_of_known(tx, event) or (event.continues and _has_spoken_here(tx, event))


def _has_spoken_here(tx: Transaction, event: InboundMessage) -> bool:
    return None is not tx.one(
        "SELECT 1 FROM identities i JOIN thread_keys k ON k.owner_id = i.user_id"
        " WHERE i.channel = ? AND i.platform_user_id = ? AND k.channel = ? AND k.scope = ?",
        event.channel,
        event.sender.platform_user_id,
        event.channel,
        scope_of(event.scope),
    )


def _is_part_of_known(tx: Transaction, event: InboundMessage) -> bool:
    """Whether another part of the message's album was taken from the same person."""
    return event.album is not None and None is not tx.one(
        "SELECT 1 FROM inbox WHERE album = ? AND channel = ? AND platform_user_id = ?"
        " AND user_id IS NOT NULL",
        event.album,
        event.channel,
        event.sender.platform_user_id,
    )


# --- edits ----------------------------------------------------------------------------------------------


def edit(tx: Transaction, event: InboundMessage) -> Accepted | None:
    """Take an edit of a message that was recorded: while that waits, it says the new text. None: nothing is
    known of the message."""
    row = tx.one(
        "SELECT id, outcome, user_id, thread_id FROM inbox"
        " WHERE key = ? AND channel = ? AND platform_user_id = ?",
        event.edits,
        event.channel,
        event.sender.platform_user_id,
    )
    if row is None:
        return None
    row_id, outcome, user_id, thread_id = row
    if outcome.startswith(ASKED_FOR):
        event = replace(event, text=WITHHELD)  # what is corrected is the credential
    waiting = outcome == "waiting" and user_id is not None
    if waiting:
        extra = event_extra_to_json(event)
        tx.run("UPDATE inbox SET text = ?, extra = ? WHERE id = ?", storable(event.text), extra, row_id)
        if tx.policy.holds_inputs:
            tx.run("UPDATE inbox SET wait_until = ? WHERE id = ?", HELD, row_id)
    held = HELD if waiting and tx.policy.holds_inputs else None
    became = EDITED_IN_TIME if waiting else EDITED_TOO_LATE
    record(tx, NewEvent(event, became, user_id=user_id, thread_id=thread_id))
    return Accepted(became, None, duplicate=False, thread_id=thread_id, wait_until=held)
