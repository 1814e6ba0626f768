"""The commands offered in Discord's own menu (documentation, Application Commands)."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from channels.discord.client import DiscordClient
from channels.discord.inbound import OPTION, Account
from core.errors import AuthRejected, ChannelError

logger = logging.getLogger(__name__)

MAX_DESCRIPTION_CHARS = 100
_CHAT_INPUT, _STRING = 1, 3

Json = Mapping[str, Any]


def menu_of(commands: Mapping[str, str]) -> list[dict[str, Any]]:
    """Descriptions by name as application commands, each with room for what is typed behind it."""
    option = {"type": _STRING, "name": OPTION, "description": "what belongs to it, if anything"}
    return [
        {
            "type": _CHAT_INPUT,
            "name": name,
            "description": description[:MAX_DESCRIPTION_CHARS],
            "options": [option],
        }
        for name, description in commands.items()
    ]


async def offer(client: DiscordClient, account: Account, commands: Mapping[str, str], name: str) -> None:
    """Have Discord offer these commands; it is only told when it offers others. Raises AuthRejected."""
    wanted = menu_of(commands)
    try:
        if _essence(await client.commands(account.application_id)) != _essence(wanted):
            await client.set_commands(account.application_id, wanted)
    except AuthRejected:
        raise
    except ChannelError as error:
        logger.warning("the menu of %s could not be set: %s", name, error)


def _essence(commands: Sequence[Json]) -> set[tuple[Any, ...]]:
    """What is told, without what Discord adds."""
    return {
        (
            command.get("type", _CHAT_INPUT),
            command.get("name"),
            command.get("description"),
            tuple(
                (option.get("type"), option.get("name"), option.get("description"))
                for option in command.get("options") or ()
            ),
        )
        for command in commands
    }
