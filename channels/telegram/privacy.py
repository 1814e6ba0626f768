"""What Telegram shows a bot in groups, in words. Pure. (https://core.telegram.org/bots/features#privacy-mode)"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Groups = Literal["off", "addressed", "all"]
"""Whom the hub answers in groups."""

SHOWN_IN_PRIVACY_MODE = "commands, replies to it and messages that name it"
SWITCH_OFF = (
    "switch it off with @BotFather (/setprivacy), then take the bot out of each group and put it back, or "
    "make it an administrator there"
)
LET_JOIN = 'allow it with @BotFather (/setjoingroups), or set groups = "off"'


@dataclass(frozen=True, slots=True)
class Hint:
    """How it is; `fix`: what to do about it, empty if it is as wanted."""

    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class GroupRights:
    """What getMe says: whether the bot may be added to groups, and is shown all that is said there."""

    can_join: bool
    can_read_all: bool

    @classmethod
    def read(cls, me: Mapping[str, Any]) -> "GroupRights":
        """From getMe's result. Whoever says nothing lets it in, and shows what privacy mode shows."""
        can_join, can_read_all = me.get("can_join_groups"), me.get("can_read_all_group_messages")
        return cls(can_join is not False, can_read_all is True)


AS_NEW_BOTS = GroupRights(can_join=True, can_read_all=False)


def hints(groups: Groups, rights: GroupRights) -> Iterator[Hint]:
    """What people should know; nothing where groups are off."""
    if groups == "off":
        return
    if not rights.can_join:
        yield Hint("the bot cannot be added to groups", LET_JOIN)
    match groups, rights.can_read_all:
        case "all", True:
            yield Hint("in groups the bot is shown every message, and answers each")
        case "all", False:
            shown = f"in groups the bot is only shown {SHOWN_IN_PRIVACY_MODE}: its privacy mode is on"
            yield Hint(f'{shown}, so groups = "all" is no more than "addressed"', SWITCH_OFF)
        case _, True:
            yield Hint(
                "in groups the bot is shown every message (its privacy mode is off), and answers those that "
                "are addressed to it"
            )
        case _:
            yield Hint(f"in groups the bot is shown {SHOWN_IN_PRIVACY_MODE}: its privacy mode is on")
