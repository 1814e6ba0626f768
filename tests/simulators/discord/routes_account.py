"""The bot itself, how it finds the gateway, and its commands."""

from typing import Any

from tests.simulators.discord import limits
from tests.simulators.discord.commands import as_kept, check_commands
from tests.simulators.discord.errors import ApiError, missing_access
from tests.simulators.discord.payloads import user_json
from tests.simulators.discord.registry import Call, route

Json = dict[str, Any]
COMMANDS = "/applications/{application_id}/commands"
GUILD_COMMANDS = "/applications/{application_id}/guilds/{guild_id}/commands"


def _gateway_url(call: Call) -> str:
    return "ws" + call.sim.base_url.removeprefix("http") + "/gateway"


@route("getGateway", "GET", "/gateway", needs_token=False)
def get_gateway(call: Call) -> Json:
    """https://docs.discord.com/developers/events/gateway#get-gateway."""
    return {"url": _gateway_url(call)}


@route("getGatewayBot", "GET", "/gateway/bot")
def get_gateway_bot(call: Call) -> Json:
    """https://docs.discord.com/developers/events/gateway#get-gateway-bot."""
    used = sum(g.what == "identified" and g.bot_id == call.bot.id for g in call.sim.log.gateway)
    limit = {
        "total": limits.SESSION_STARTS_PER_DAY,
        "remaining": max(0, limits.SESSION_STARTS_PER_DAY - used),
        "reset_after": 86_400_000,
        "max_concurrency": 1,
    }
    return {"url": _gateway_url(call), "shards": 1, "session_start_limit": limit}


@route("getCurrentUser", "GET", "/users/@me")
def get_current_user(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/user#get-current-user."""
    extra = {"verified": True, "mfa_enabled": True, "locale": "en-US", "flags": 0, "email": None}
    return user_json(call.bot.user) | extra


@route("listGuilds", "GET", "/users/@me/guilds")
def list_guilds(call: Call) -> list[Json]:
    """https://docs.discord.com/developers/resources/user#get-current-user-guilds."""
    return [
        {
            "id": str(guild.id),
            "name": guild.name,
            "icon": None,
            "banner": None,
            "owner": False,
            "permissions": "0",
            "features": [],
        }
        for guild in call.sim.world.guilds_of(call.bot.id)
    ]


@route("getApplication", "GET", "/applications/@me")
@route("getOwnApplication", "GET", "/oauth2/applications/@me")
def get_application(call: Call) -> Json:
    """https://docs.discord.com/developers/resources/application#get-current-application."""
    owner = {"id": "1", "username": "owner", "discriminator": "0", "global_name": None, "avatar": None}
    return {
        "id": str(call.bot.id),
        "name": call.bot.user.username,
        "icon": None,
        "description": "",
        "bot_public": True,
        "bot_require_code_grant": False,
        "verify_key": "0" * 64,
        "team": None,
        "owner": owner | {"public_flags": 0},
        "flags": (1 << 19) if call.bot.message_content else 0,
        "summary": "",
        "bot": user_json(call.bot.user),
        "redirect_uris": [],
        "tags": [],
        "approximate_guild_count": len(call.sim.world.guilds_of(call.bot.id)),
        "approximate_user_install_count": 0,
        "integration_types_config": {"0": {}},
    }


# -- commands


def _scope(call: Call) -> int | None:
    """The guild of the commands, None for global ones. Raises ``ApiError`` for another application."""
    if call.number("application_id") != call.bot.id:
        raise ApiError(403, 20012, "You are not authorized to perform this action on this application")
    if "guild_id" not in call.path:
        return None
    guild = call.sim.world.guilds.get(call.number("guild_id"))
    if guild is None or call.bot.id not in guild.members:
        raise missing_access()
    return guild.id


@route("listCommands", "GET", COMMANDS)
def list_commands(call: Call) -> list[Json]:
    """https://docs.discord.com/developers/interactions/application-commands#get-global-application-commands."""
    return call.bot.commands.get(_scope(call), [])


@route("listGuildCommands", "GET", GUILD_COMMANDS)
def list_guild_commands(call: Call) -> list[Json]:
    """…#get-guild-application-commands."""
    return call.bot.commands.get(_scope(call), [])


@route("overwriteCommands", "PUT", COMMANDS)
def overwrite_commands(call: Call) -> list[Json]:
    """…#bulk-overwrite-global-application-commands: a command that stays keeps its id."""
    return _overwrite(call)


@route("overwriteGuildCommands", "PUT", GUILD_COMMANDS)
def overwrite_guild_commands(call: Call) -> list[Json]:
    """…#bulk-overwrite-guild-application-commands."""
    return _overwrite(call)


def _overwrite(call: Call) -> list[Json]:
    scope = _scope(call)
    wanted = check_commands(call.body.values)
    old = {(c["type"], c["name"]): int(c["id"]) for c in call.bot.commands.get(scope, [])}
    call.bot.commands[scope] = [
        as_kept(
            values,
            old.get((values.get("type", 1), values["name"])) or call.sim.ids.next(),
            call.bot.id,
            scope,
        )
        for values in wanted
    ]
    return call.bot.commands[scope]
