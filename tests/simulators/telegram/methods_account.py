"""getMe, the menu of commands, and answers to pressed buttons."""

import json
import re
from typing import Any

from tests.simulators.telegram.errors import bad_request
from tests.simulators.telegram.limits import (
    MAX_CALLBACK_ANSWER_CHARS,
    MAX_COMMAND_CHARS,
    MAX_COMMAND_DESCRIPTION_CHARS,
    MAX_COMMANDS,
)
from tests.simulators.telegram.registry import Call, method

Json = dict[str, Any]

_COMMAND = re.compile(r"[a-z0-9_]+")
_SCOPES = {
    "default",
    "all_private_chats",
    "all_group_chats",
    "all_chat_administrators",
    "chat",
    "chat_administrators",
    "chat_member",
}


@method("getMe")
def get_me(call: Call) -> Json:
    """https://core.telegram.org/bots/api#getme."""
    return call.bot.to_json()


@method("setMyCommands")
def set_my_commands(call: Call) -> bool:
    """https://core.telegram.org/bots/api#setmycommands."""
    raw = call.params.json("commands", "commands") or []
    if not isinstance(raw, list):
        raise bad_request("expected an Array of BotCommand")
    commands = [_command(item) for item in raw]
    key = _scope_key(call)
    if len(commands) > MAX_COMMANDS:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    call.bot.commands[key] = commands
    return True


@method("getMyCommands")
def get_my_commands(call: Call) -> list[Json]:
    """https://core.telegram.org/bots/api#getmycommands."""
    return call.bot.commands.get(_scope_key(call), [])


@method("deleteMyCommands")
def delete_my_commands(call: Call) -> bool:
    """https://core.telegram.org/bots/api#deletemycommands."""
    call.bot.commands.pop(_scope_key(call), None)
    return True


def _command(item: Any) -> Json:
    if not isinstance(item, dict):
        raise bad_request("can't parse BotCommand: expected an Object")
    for name in ("command", "description"):
        if not isinstance(item.get(name), str):
            raise bad_request(f"can't parse BotCommand: Can't find field \"{name}\"")
    command, description = item["command"].strip().removeprefix("/"), item["description"].strip()
    for value, what, limit in (
        (command, "command", MAX_COMMAND_CHARS),
        (description, "command description", MAX_COMMAND_DESCRIPTION_CHARS),
    ):
        if not value:
            raise bad_request(f"{what} must be non-empty")
        if len(value) > limit:
            raise bad_request(f"{what} length must not exceed {limit}")
    if not _COMMAND.fullmatch(command):
        raise bad_request("BOT_COMMAND_INVALID")
    return {"command": command, "description": description}


def _scope_key(call: Call) -> str:
    scope = call.params.json("scope", "BotCommandScope") or {"type": "default"}
    if not isinstance(scope, dict) or scope.get("type") not in _SCOPES:
        raise bad_request("can't parse BotCommandScope: Unsupported type specified")
    named = {name: scope[name] for name in ("type", "chat_id", "user_id") if name in scope}
    return json.dumps([named, call.params.text("language_code")], sort_keys=True)


@method("answerCallbackQuery")
def answer_callback_query(call: Call) -> bool:
    """https://core.telegram.org/bots/api#answercallbackquery."""
    query = call.sim.callbacks.get(call.params.text("callback_query_id"))
    if (
        query is None
        or query.bot_id != call.bot.id
        or call.sim.clock() - query.pressed_at > call.sim.callback_answer_ttl_s
    ):
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    text = call.params.text("text")
    if len(text) > MAX_CALLBACK_ANSWER_CHARS:
        raise bad_request("MESSAGE_TOO_LONG")
    query.answers.append(
        {
            "at": call.sim.clock(),
            "text": text,
            "show_alert": call.params.flag("show_alert"),
            "url": call.params.text("url"),
            "request": call.record.number,
        }
    )
    call.record.chat_id = query.chat_id
    return True
