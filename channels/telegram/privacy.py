"""A description of the messages that Telegram shows a bot in groups. Pure.
(https://core.telegram.org/bots/features#privacy-mode)"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

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
