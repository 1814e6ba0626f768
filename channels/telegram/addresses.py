"""Telegram chats, topics and messages as the hub's opaque strings, and the bot's account among them.

An address is `<chat id>`, or `<chat id>:<topic id>` in a forum. A ref is `<chat id>:<message id>`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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


# The messages that Telegram shows a bot in groups
# (https://core.telegram.org/bots/features#privacy-mode).

Groups = Literal["off", "addressed", "all"]
"""The group messages that the hub answers."""

SHOWN_IN_PRIVACY_MODE = "commands, replies to it and messages that mention it"
SWITCH_OFF = (
    "turn it off with @BotFather (/setprivacy), then remove the bot from each group and add it again, or "
    "make it an administrator there"
)
LET_JOIN = 'allow it with @BotFather (/setjoingroups), or set groups = "off"'


@dataclass(frozen=True, slots=True)
class Hint:
    """A remark on the current settings. `fix`: the remedy, empty if they are as intended."""

    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class GroupRights:
    """The bot's rights from getMe: whether it may join groups, and whether it sees all their messages."""

    can_join: bool
    can_read_all: bool

    @classmethod
    def read(cls, me: Mapping[str, Any]) -> "GroupRights":
        """Read the rights from getMe's result.

        By default the bot may join groups and sees only the messages of privacy mode."""
        can_join, can_read_all = me.get("can_join_groups"), me.get("can_read_all_group_messages")
        return cls(can_join is not False, can_read_all is True)


AS_NEW_BOTS = GroupRights(can_join=True, can_read_all=False)


def hints(groups: Groups, rights: GroupRights) -> Iterator[Hint]:
    """Yield remarks for the operator, none if groups are off."""
    if groups == "off":
        return
    if not rights.can_join:
        yield Hint("the bot can't be added to groups", LET_JOIN)
    match groups, rights.can_read_all:
        case "all", True:
            yield Hint("in groups the bot receives every message and answers each one")
        case "all", False:
            shown = f"in groups the bot only receives {SHOWN_IN_PRIVACY_MODE}: its privacy mode is on"
            yield Hint(f'{shown}, so groups = "all" has the same effect as "addressed"', SWITCH_OFF)
        case _, True:
            yield Hint(
                "in groups the bot receives every message (its privacy mode is off) and answers those that "
                "are addressed to it"
            )
        case _:
            yield Hint(f"in groups the bot receives {SHOWN_IN_PRIVACY_MODE}: its privacy mode is on")


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
