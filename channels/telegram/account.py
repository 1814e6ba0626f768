"""The bot's own account, as Telegram names it."""

from dataclasses import dataclass

from channels.telegram.privacy import AS_NEW_BOTS, GroupRights


@dataclass(frozen=True, slots=True)
class Account:
    """The bot as Telegram knows it."""

    id: int
    username: str
    group_rights: GroupRights = AS_NEW_BOTS
