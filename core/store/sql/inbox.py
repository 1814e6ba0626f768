"""The record of inbound events: each platform object once, with its outcome (P11)."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import assert_never

from core.lazy import dataclass
from core.messages import (
    Address,
    Attachment,
    ChoiceAnswer,
    InboundEvent,
    InboundMessage,
    MessageRef,
    Moved,
    Unreadable,
    as_told,
)
from core.store.accept import ASKED_FOR, WITHHELD, Accepted, QueuedInput
from core.store.codecs import event_extra_from_json, event_extra_to_json, storable
from core.store.facets import HELD, NoticeAddress
from core.store.rows import REJOIN_US, Draft, ThreadRow
from core.store.sql import people
from core.store.units import Row, Transaction
from core.transcript import UserSaid
from core.users import ModelChoice, ThreadKey, ThreadSettings, scope_of

_INSERT = (
    "INSERT INTO inbox (key, kind, channel, address, scope, user_id, platform_user_id, sender, direct,"
    " order_key, text, extra, thread_id, turn_id, outcome, answer, sent_at, received_at, counted, album,"
    " wait_until, steers) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to record. `user_id`: None if the sender is not allowed.

    `counted`: it counts against its sender's limit.
    `wait_until`: when to stop waiting for the rest of its album.
    `steers`: it may join a running turn."""

    event: InboundEvent
    outcome: str
    answer: str | None = None
    user_id: str | None = None
    thread_id: str | None = None
    turn_id: str | None = None
    counted: bool = False
    wait_until: int = 0
    steers: bool = False


def record(tx: Transaction, new: NewEvent) -> int:
    """Record an event under its key. Return its number."""
    event = new.event
    now = tx.clock.now()
    kept = (new.thread_id, new.turn_id, new.outcome, new.answer, event.sent_at, now, int(new.counted))
    album = event.album if isinstance(event, InboundMessage) and event.edits is None else None
    kept = (*kept, album, new.wait_until, int(new.steers))
    return tx.insert(_INSERT, *_who_and_where(event, new.user_id), *_what(new), *kept)


def _who_and_where(event: InboundEvent, user_id: str | None) -> tuple[str | int | None, ...]:
    """Return the columns from `key` to `direct`."""
    if isinstance(event, Unreadable):
        return (event.key, "unreadable", event.channel, None, None, None, None, None, None)
    if isinstance(event, Moved):
        scope = scope_of(event.scope)
        return (event.key, "message", event.channel, event.address, scope, None, None, None, None)
    message = isinstance(event, InboundMessage)
    return (
        event.key,
        "message" if message else "choice",
        event.channel,
        event.address,
        scope_of(event.scope) if message else None,
        user_id,
        event.sender.platform_user_id,
        storable(event.sender.name),
        int(event.direct),
    )


def _what(new: NewEvent) -> tuple[str, str | None, str | None]:
    """Return `order_key`, `text` and `extra`. The text of a refused person is not stored."""
    event = new.event
    match event:
        case InboundMessage():
            if new.user_id is None:
                return event.order_key, None, None
            return event.order_key, storable(event.text), event_extra_to_json(event)
        case ChoiceAnswer():
            return "", storable(f"{event.gate_id}:{event.choice}"), None
        case Moved():
            return "", storable(f"{event.old_address} is now {event.address}"), None
        case Unreadable():
            return "", storable(event.summary), None
        case _:
            assert_never(event)


# Inputs before a turn takes them: waiting messages, albums joined from their parts, and edited
# texts.

EDITED_IN_TIME = "edited: the message was still queued"
EDITED_TOO_LATE = "ignored: edited when no longer queued"

BEGINNING_CHARS = 40
"""The length of a waiting input's beginning, by which its writer recognizes it."""

_COLUMNS = "id, user_id, text, sender, direct, channel, address, extra, album, wait_until, key"


@dataclass(frozen=True, slots=True)
class Taken:
    """Waiting inputs of one person that become a turn. It answers to the address of the last one."""

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
    """Return an input as the transcript has it. The sender is named only in group conversations."""
    return UserSaid(as_told(texts, attachments), "" if direct else sender, tuple(attachments))


# --- waiting input ------------------------------------------------------------------------------------


def take_waiting(tx: Transaction, thread_id: str) -> Taken | None:
    """Return a thread's oldest waiting input and the following ones of the same person, as far as the
    policy merges them.

    Stops before an album that still waits for its other parts."""
    messages = _messages(tx, thread_id)
    user_id = messages[0][0][1] if messages else None
    return _taken(tx, takewhile(lambda parts: parts[0][1] == user_id, messages))


def take_steering(tx: Transaction, thread_id: str, user_id: str, place: tuple[str, Address]) -> Taken | None:
    """Return the oldest inputs that wait to join that person's running turn, as far as the policy merges
    them. Those from another channel or address wait for a turn that answers there.

    Stops before an album that still waits for its other parts."""
    return _taken(tx, _messages(tx, thread_id, _STEERING, user_id, *place))


def _taken(tx: Transaction, messages: Iterable[list[Row]]) -> Taken | None:
    now = tx.clock.now()
    taken = list(takewhile(lambda parts: all(part[9] <= now for part in parts), messages))
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


_STEERING = (
    " AND user_id = ? AND channel = ? AND address = ? AND (steers = 1"
    " OR EXISTS (SELECT 1 FROM inbox p WHERE p.album = inbox.album AND p.thread_id = inbox.thread_id"
    " AND p.outcome = 'waiting' AND p.steers = 1))"
)
"""Of inputs that may join a turn: one part of an album speaks for all."""


def _messages(tx: Transaction, thread_id: str, only: str = "", *parameters: str) -> list[list[Row]]:
    """Return waiting messages in order, each with its parts, as many as the policy merges. `only`: a further
    condition, with its parameters."""
    rows = tx.all(
        f"SELECT {_COLUMNS} FROM inbox"  # noqa: S608 - constants
        f" WHERE thread_id = ? AND outcome = 'waiting'{only} ORDER BY order_key, id LIMIT ?",
        thread_id,
        *parameters,
        tx.policy.merge_inputs,
    )
    albums = {row[8] for row in rows} - {None}
    known = {row[0] for row in rows}
    for album in albums:
        rows.extend(row for row in _parts(tx, thread_id, album) if row[0] not in known)
    messages: dict[str | int, list[Row]] = {}
    for row in rows:
        messages.setdefault(row[8] or row[0], []).append(row)
    return list(messages.values())[: tx.policy.merge_inputs]


def queued(tx: Transaction, thread_id: str) -> tuple[QueuedInput, ...]:
    """Return the inputs that wait in a thread, in order."""
    rows = tx.all(
        "SELECT substr(coalesce(text, ''), 1, ?), album FROM inbox"
        " WHERE thread_id = ? AND outcome = 'waiting' ORDER BY order_key, id",
        BEGINNING_CHARS,
        thread_id,
    )
    return tuple(QueuedInput(*row) for row in rows)


def lead_to_turn(tx: Transaction, taken: Taken, turn_id: str, outcome: str) -> None:
    """Record that these inputs are part of a turn."""
    for event_id in taken.ids:
        tx.run("UPDATE inbox SET outcome = ?, turn_id = ? WHERE id = ?", outcome, turn_id, event_id)


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
    """Make waiting album parts wait for the rest after a start, since it may be delivered only now."""
    tx.run(
        "UPDATE inbox SET wait_until = ? WHERE outcome = 'waiting' AND album IS NOT NULL AND wait_until < ?",
        tx.clock.now() + REJOIN_US,
        HELD,
    )


def goes_on(tx: Transaction, event: InboundMessage) -> bool:
    """Return True if a message that does not name the bot continues earlier input of its sender."""
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
    """Return True if another part of the message's album was accepted from the same person."""
    return event.album is not None and None is not tx.one(
        "SELECT 1 FROM inbox WHERE album = ? AND channel = ? AND platform_user_id = ?"
        " AND user_id IS NOT NULL",
        event.album,
        event.channel,
        event.sender.platform_user_id,
    )


# --- edits ----------------------------------------------------------------------------------------------


def edit(tx: Transaction, event: InboundMessage) -> Accepted | None:
    """Apply an edit to a recorded message: while it waits, its text is replaced. None: the message is
    unknown."""
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
        event = replace(event, text=WITHHELD)  # the edited text is the credential
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


# Quotes in group conversations: every message sent because of a message quotes it, so that its
# writer knows who is addressed.


def as_replies(tx: Transaction, turn_id: str, messages: Sequence[Draft]) -> Sequence[Draft]:
    """Return a turn's answers and cards, quoting the message it answers, if any. Cards at other
    addresses quote nothing."""
    row = tx.one(
        "SELECT u.reply_to, t.channel, t.address FROM runs u JOIN threads t ON t.id = u.thread_id"
        " WHERE u.id = ?",
        turn_id,
    )
    return messages if row is None else quoting(messages, *row)


def quoting(
    messages: Sequence[Draft], quoted: MessageRef | None, channel: str, address: str
) -> Sequence[Draft]:
    """Return messages that quote the one at `quoted`, those at other addresses unchanged."""
    if quoted is None:
        return messages
    return [
        replace(draft, message=replace(draft.message, reply_to=quoted))
        if (draft.channel, draft.address) == (channel, address)
        else draft
        for draft in messages
    ]


def in_reply(event: InboundMessage | ChoiceAnswer, messages: Sequence[Draft]) -> list[Draft]:
    """Return the hub's immediate messages to an event, quoting it in group conversations."""
    if not isinstance(event, InboundMessage) or event.direct or event.ref is None:
        return list(messages)
    return [replace(draft, message=replace(draft.message, reply_to=event.ref)) for draft in messages]


# The thread a ThreadKey leads to.


def leads_to(tx: Transaction, key: ThreadKey, thread_id: str) -> bool:
    """Return True if the key leads to this thread already."""
    row = tx.one(
        "SELECT 1 FROM thread_keys WHERE owner_id = ? AND channel = ? AND scope = ? AND thread_id = ?",
        key.user_id,
        key.channel,
        key.scope,
        thread_id,
    )
    return row is not None


def lead_to(tx: Transaction, key: ThreadKey, thread_id: str) -> None:
    """Bind the key to this thread from now on."""
    tx.run(
        "INSERT INTO thread_keys (owner_id, channel, scope, thread_id) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (owner_id, channel, scope) DO UPDATE SET thread_id = excluded.thread_id",
        key.user_id,
        key.channel,
        key.scope,
        thread_id,
    )


# New threads: the first message, and the key that leads to the thread from then on.

TITLE_LIMIT_CHARS = 80


def begin(
    tx: Transaction, event: InboundMessage | ChoiceAnswer, owner_id: str, thread_id: str, title: str
) -> ThreadRow:
    """Open a thread at the event's address and bind its key to it. It becomes the person's active one."""
    now = tx.clock.now()
    said = event if isinstance(event, InboundMessage) else None
    external_id, model = (said.scope, said.model) if said else (None, None)
    scope = scope_of(external_id)
    tx.run(
        "INSERT INTO threads (id, owner_id, channel, scope, address, title, created_at, last_active_at,"
        " model) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        thread_id,
        owner_id,
        event.channel,
        scope,
        event.address,
        title,
        now,
        now,
        model,
    )
    lead_to(tx, ThreadKey(owner_id, event.channel, external_id), thread_id)
    people.set_active_thread(tx, owner_id, thread_id)
    row = ThreadRow(thread_id, owner_id, event.channel, scope, event.address, title, now, now)
    return replace(row, settings=ThreadSettings(chosen=ModelChoice(model))) if model else row


NOTICES = "notices"
NOTICES_TITLE = "Notices"


def notices_thread(tx: Transaction, owner_id: str, at: NoticeAddress) -> str:
    """Return a person's conversation for notices on a channel that shows threads only; opened if it is
    missing."""
    key = ThreadKey(owner_id, at.channel, NOTICES)
    known = tx.one(
        "SELECT thread_id FROM thread_keys WHERE owner_id = ? AND channel = ? AND scope = ?",
        key.user_id,
        key.channel,
        key.scope,
    )
    if known is not None:
        return str(known[0])
    thread_id, now = tx.ids.row_id(), tx.clock.now()
    tx.run(
        "INSERT INTO threads (id, owner_id, channel, scope, address, title, created_at, last_active_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        thread_id,
        owner_id,
        at.channel,
        key.scope,
        at.address,
        NOTICES_TITLE,
        now,
        now,
    )
    lead_to(tx, key, thread_id)
    return thread_id


def title_of(text: str) -> str:
    """Return a thread's title: the beginning of its first text. A command that opens a thread does not
    count."""
    first_line = text.strip().partition("\n")[0]
    return storable(first_line[:TITLE_LIMIT_CHARS])
