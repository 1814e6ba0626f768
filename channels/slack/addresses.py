"""Slack conversations, threads and messages as the hub's opaque strings.

An address is `<channel>`, or `<channel>:<ts>` for the thread of that message. For a person without
a conversation yet, the channel is their id. A ref is `<channel>:<ts>`, or `<channel>:<file id>` for
a file.
"""

from typing import NamedTuple

from core.messages import Address, MessageRef


class ParsedAddress(NamedTuple):
    """A conversation, or one thread of it."""

    channel: str
    thread_ts: str | None


class ParsedRef(NamedTuple):
    """One message (or file) of a conversation. `ts` names a message within its channel."""

    channel: str
    ts: str

    @property
    def is_file(self) -> bool:
        """True for a file, whose id begins with F."""
        return self.ts.startswith("F")


def is_person(channel: str) -> bool:
    """Return whether the id belongs to a person: it begins with U or W."""
    return channel.startswith(("U", "W"))


def address_of(channel: str, thread_ts: str | None = None) -> Address:
    """Return the address of a conversation or of a thread."""
    return Address(channel if thread_ts is None else f"{channel}:{thread_ts}")


def parse_address(address: Address) -> ParsedAddress:
    """Parse an address made by `address_of`."""
    channel, _, thread_ts = address.partition(":")
    return ParsedAddress(channel, thread_ts or None)


def ref_of(channel: str, ts: str) -> MessageRef:
    """Return the ref of a message."""
    return MessageRef(f"{channel}:{ts}")


def parse_ref(ref: MessageRef) -> ParsedRef:
    """Parse a ref made by `ref_of`."""
    channel, _, ts = ref.partition(":")
    return ParsedRef(channel, ts)


def order_key_of(ts: str) -> str:
    """Return a key that sorts as text in the numeric order of timestamps.

    A `ts` is seconds, a point and six digits."""
    seconds, _, micros = ts.partition(".")
    return f"{seconds.zfill(12)}.{micros.ljust(6, '0')}"


def ts_of(order_key: str) -> str:
    """Parse a key made by `order_key_of`."""
    seconds, _, micros = order_key.partition(".")
    return f"{seconds.lstrip('0') or '0'}.{micros}"


def micros_of(ts: str) -> int:
    """Return the time of a `ts` in microseconds UTC, or 0 if it has none."""
    seconds, _, micros = ts.partition(".")
    digits = f"{seconds}{micros[:6].ljust(6, '0')}"
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 18 else 0
