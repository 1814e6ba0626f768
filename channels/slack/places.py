"""How a Slack conversation, thread and message are written as the hub's opaque strings, and read back.

An address is `<channel>`, or `<channel>:<ts>` for the thread below that message; where nobody has spoken yet
the channel is a person's id. A ref is `<channel>:<ts>`, or `<channel>:<file id>` for a file.
"""

from typing import NamedTuple

from core.messages import Address, MessageRef


class Place(NamedTuple):
    """A conversation, or one thread of it."""

    channel: str
    thread_ts: str | None


class Spot(NamedTuple):
    """One message (or file) of a conversation; `ts` names a message within its channel."""

    channel: str
    ts: str

    @property
    def is_file(self) -> bool:
        """Whether a file is meant: their ids begin with F."""
        return self.ts.startswith("F")


def is_person(channel: str) -> bool:
    """Whether a person is meant: their ids begin with U or W."""
    return channel.startswith(("U", "W"))


def address_of(channel: str, thread_ts: str | None = None) -> Address:
    """The address of a conversation or of a thread."""
    return Address(channel if thread_ts is None else f"{channel}:{thread_ts}")


def place_of(address: Address) -> Place:
    """Reads `address_of`."""
    channel, _, thread_ts = address.partition(":")
    return Place(channel, thread_ts or None)


def ref_of(channel: str, ts: str) -> MessageRef:
    """The ref of a message."""
    return MessageRef(f"{channel}:{ts}")


def spot_of(ref: MessageRef) -> Spot:
    """Reads `ref_of`."""
    channel, _, ts = ref.partition(":")
    return Spot(channel, ts)


def order_key_of(ts: str) -> str:
    """Sorts as text like timestamps do as numbers. A `ts` is seconds, a point and six digits."""
    seconds, _, micros = ts.partition(".")
    return f"{seconds.zfill(12)}.{micros.ljust(6, '0')}"


def ts_of(order_key: str) -> str:
    """Reads `order_key_of`."""
    seconds, _, micros = order_key.partition(".")
    return f"{seconds.lstrip('0') or '0'}.{micros}"


def micros_of(ts: str) -> int:
    """The moment a `ts` stands for, in microseconds UTC. 0 if it stands for none."""
    seconds, _, micros = ts.partition(".")
    digits = f"{seconds}{micros[:6].ljust(6, '0')}"
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 18 else 0
