"""How a Telegram chat, topic and message are written as the hub's opaque strings, and read back.

An address is `<chat id>`, or `<chat id>:<topic id>` in a forum; a ref is `<chat id>:<message id>`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from channels.telegram.privacy import AS_NEW_BOTS, GroupRights
from core.messages import Address, MessageRef


class Place(NamedTuple):
    """A chat, or one topic of it."""

    chat_id: int
    topic_id: int | None


class Spot(NamedTuple):
    """One message of a chat."""

    chat_id: int
    message_id: int


def address_of(chat_id: int, topic_id: int | None = None) -> Address:
    """The address of a chat or of a topic."""
    return Address(str(chat_id) if topic_id is None else f"{chat_id}:{topic_id}")


def place_of(address: Address) -> Place:
    """Reads `address_of`. Raises ValueError."""
    chat_id, _, topic_id = address.partition(":")
    return Place(int(chat_id), int(topic_id) if topic_id else None)


def ref_of(chat_id: int, message_id: int) -> MessageRef:
    """The ref of a message."""
    return MessageRef(f"{chat_id}:{message_id}")


def spot_of(ref: MessageRef) -> Spot:
    """Reads `ref_of`. Raises ValueError."""
    chat_id, _, message_id = ref.partition(":")
    return Spot(int(chat_id), int(message_id))


def order_key_of(message_id: int) -> str:
    """Sorts as text like message ids do as numbers within a chat."""
    return f"{message_id:020d}"


# The bot's own account, as Telegram names it.


@dataclass(frozen=True, slots=True)
class Account:
    """The bot as Telegram knows it."""

    id: int
    username: str
    group_rights: GroupRights = AS_NEW_BOTS


# How long to wait for Telegram.


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for Telegram. `poll_read_s` is longer than a poll lasts: a poll's connection that
    went silent is given up after it. `taken_within_s`: so long after a request was made Telegram may still
    take it (connecting and reading); `probe_pace_s`: between two requests that look for a message, as between
    two messages to one chat."""

    poll_s: int = 30
    poll_read_s: float = 45.0
    read_s: float = 20.0
    connect_s: float = 10.0
    taken_within_s: float = 30.0
    probe_pace_s: float = 1.0
