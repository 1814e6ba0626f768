"""The record of inbound events: each platform object once, with what became of it (P11)."""

from dataclasses import dataclass
from typing import assert_never

from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, Moved, Unreadable
from core.store.codec import storable
from core.store.said_codec import event_extra_to_json
from core.store.sqlite.transaction import Transaction
from core.thread_key import scope_of

_INSERT = (
    "INSERT INTO inbox (key, kind, channel, address, scope, user_id, platform_user_id, sender, direct,"
    " order_key, text, extra, thread_id, turn_id, outcome, answer, sent_at, received_at, counted, album,"
    " wait_until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to be recorded. Without `user_id` nobody was let in. `counted`: against its sender's limit;
    `wait_until`: for the rest of its album."""

    event: InboundEvent
    outcome: str
    answer: str | None = None
    user_id: str | None = None
    thread_id: str | None = None
    turn_id: str | None = None
    counted: bool = False
    wait_until: int = 0


def record(tx: Transaction, new: NewEvent) -> int:
    """Keep an event under its key; returns its number."""
    event = new.event
    now = tx.clock.now()
    kept = (new.thread_id, new.turn_id, new.outcome, new.answer, event.sent_at, now, int(new.counted))
    album = event.album if isinstance(event, InboundMessage) and event.edits is None else None
    kept = (*kept, album, new.wait_until)
    return tx.insert(_INSERT, *_who_and_where(event, new.user_id), *_what(new), *kept)


def _who_and_where(event: InboundEvent, user_id: str | None) -> tuple[str | int | None, ...]:
    """From `key` to `direct`."""
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
    """`order_key`, `text` and `extra`. Nothing of what a refused person said is kept."""
    event = new.event
    match event:
        case InboundMessage():
            if new.user_id is None:
                return event.order_key, None, None
            return event.order_key, storable(event.text), event_extra_to_json(event)
        case ChoiceAnswer():
            return "", storable(f"{event.prompt_id}:{event.choice}"), None
        case Moved():
            return "", storable(f"{event.old_address} is {event.address} now"), None
        case Unreadable():
            return "", storable(event.summary), None
        case _:
            assert_never(event)
