"""Discord conversations and messages as the hub's opaque strings.

An address is the id of a channel (threads and private conversations are channels), or
`u:<user id>` for a person without a conversation yet. A ref is `<channel>:<message>`. Ids are
snowflakes: numbers that contain their time and sort by it (documentation, API Reference,
Snowflakes).
"""

from typing import NamedTuple

from core.messages import Address, MessageRef

PERSON = "u:"
ORDER_KEY_DIGITS = 20
"""Snowflakes are unsigned 64-bit numbers."""

_EPOCH_MS = 1_420_070_400_000
_TIME_SHIFT = 22


class ParsedRef(NamedTuple):
    """One message of a channel."""

    channel: str
    message: str


def direct_address(user_id: str) -> Address:
    """Return the address of a person's private conversation."""
    return Address(f"{PERSON}{user_id}")


def person_of(address: Address) -> str | None:
    """Return the user id in a `direct_address`, or None for a channel's address."""
    return address.removeprefix(PERSON) if address.startswith(PERSON) else None


def ref_of(channel_id: str, message_id: str) -> MessageRef:
    """Return the ref of a message."""
    return MessageRef(f"{channel_id}:{message_id}")


def parse_ref(ref: MessageRef) -> ParsedRef:
    """Parse a ref made by `ref_of`."""
    channel_id, _, message_id = ref.partition(":")
    return ParsedRef(channel_id, message_id)


def order_key_of(snowflake: str) -> str:
    """Return a key that sorts as text in the numeric order of ids."""
    return snowflake.zfill(ORDER_KEY_DIGITS)


def snowflake_of(order_key: str) -> int:
    """Parse a key made by `order_key_of`."""
    return int(order_key)


def micros_of(snowflake: str) -> int:
    """Return the creation time of an id, in microseconds UTC."""
    return ((int(snowflake) >> _TIME_SHIFT) + _EPOCH_MS) * 1000


def snowflake_at(micros: int) -> int:
    """Return the lowest id that can be created at a time in microseconds UTC."""
    return max(micros // 1000 - _EPOCH_MS, 0) << _TIME_SHIFT
