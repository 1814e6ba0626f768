"""Telegram chats, topics and messages as the hub's opaque strings.

An address is `<chat id>`, or `<chat id>:<topic id>` in a forum. A ref is `<chat id>:<message id>`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from channels.telegram.privacy import AS_NEW_BOTS, GroupRights
from core.messages import Address, MessageRef


class ParsedAddress(NamedTuple):
    """A chat, or one topic of it."""

    chat_id: int
    topic_id: int | None


class ParsedRef(NamedTuple):
    """One message of a chat."""

    chat_id: int
    message_id: int


def address_of(chat_id: int, topic_id: int | None = None) -> Address:
    """Return the address of a chat or of a topic."""
    return Address(str(chat_id) if topic_id is None else f"{chat_id}:{topic_id}")


def parse_address(address: Address) -> ParsedAddress:
    """Parse an address made by `address_of`. Raises ValueError."""
    chat_id, _, topic_id = address.partition(":")
    return ParsedAddress(int(chat_id), int(topic_id) if topic_id else None)


def ref_of(chat_id: int, message_id: int) -> MessageRef:
    """Return the ref of a message."""
    return MessageRef(f"{chat_id}:{message_id}")


def parse_ref(ref: MessageRef) -> ParsedRef:
    """Parse a ref made by `ref_of`. Raises ValueError."""
    chat_id, _, message_id = ref.partition(":")
    return ParsedRef(int(chat_id), int(message_id))


def order_key_of(message_id: int) -> str:
    """Return a key that sorts as text in the numeric order of message ids within a chat."""
    return f"{message_id:020d}"


# The bot's own account, as Telegram names it.


@dataclass(frozen=True, slots=True)
class Account:
    """The bot as Telegram knows it."""

    id: int
    username: str
    group_rights: GroupRights = AS_NEW_BOTS


# The timeouts for Telegram.


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The timeouts for Telegram.

    `poll_read_s`: longer than a poll lasts. A poll's connection that is silent for this time is closed.
    `taken_within_s`: the time in which Telegram may still accept a request (connecting and reading).
    `probe_pace_s`: the pause between two requests that search for a message, as between two messages to
    one chat."""

    poll_s: int = 30
    poll_read_s: float = 45.0
    read_s: float = 20.0
    connect_s: float = 10.0
    taken_within_s: float = 30.0
    probe_pace_s: float = 1.0
