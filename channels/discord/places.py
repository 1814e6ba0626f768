"""How a Discord conversation and message are written as the hub's opaque strings, and read back.

An address is the id of a channel (a thread and a private conversation are channels), or `u:<user id>` where
nobody has spoken with that person yet. A ref is `<channel>:<message>`. Ids are snowflakes: numbers that hold
their time and sort by it (documentation, API Reference, Snowflakes).
"""

from typing import NamedTuple

from core.messages import Address, MessageRef

PERSON = "u:"
ORDER_KEY_DIGITS = 20
"""Snowflakes are unsigned 64-bit numbers."""

_EPOCH_MS = 1_420_070_400_000
_TIME_SHIFT = 22


class Spot(NamedTuple):
    """One message of a channel."""

    channel: str
    message: str


def direct_address(user_id: str) -> Address:
    """Where a person is spoken to alone."""
    return Address(f"{PERSON}{user_id}")


def person_of(address: Address) -> str | None:
    """Reads `direct_address`; None for a channel's address."""
    return address.removeprefix(PERSON) if address.startswith(PERSON) else None


def ref_of(channel_id: str, message_id: str) -> MessageRef:
    """The ref of a message."""
    return MessageRef(f"{channel_id}:{message_id}")


def spot_of(ref: MessageRef) -> Spot:
    """Reads `ref_of`."""
    channel_id, _, message_id = ref.partition(":")
    return Spot(channel_id, message_id)


def order_key_of(snowflake: str) -> str:
    """Sorts as text like ids do as numbers."""
    return snowflake.zfill(ORDER_KEY_DIGITS)


def snowflake_of(order_key: str) -> int:
    """Reads `order_key_of`."""
    return int(order_key)


def micros_of(snowflake: str) -> int:
    """When an id was given out, in microseconds UTC."""
    return ((int(snowflake) >> _TIME_SHIFT) + _EPOCH_MS) * 1000


def snowflake_at(micros: int) -> int:
    """The least id that can be given out at a moment, in microseconds UTC."""
    return max(micros // 1000 - _EPOCH_MS, 0) << _TIME_SHIFT
