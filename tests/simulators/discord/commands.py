"""Application commands: https://docs.discord.com/developers/interactions/application-commands."""

from typing import Any

import regex

from tests.simulators.discord import limits
from tests.simulators.discord.errors import ApiError, FormErrors
from tests.simulators.discord.forms import Form

Json = dict[str, Any]
CHAT_INPUT = 1
SUBCOMMAND, GROUP, STRING, INTEGER, BOOLEAN, USER, CHANNEL, ROLE, MENTIONABLE, NUMBER, ATTACHMENT = range(
    1, 12
)
_NAME = regex.compile(r"[-_'\p{L}\p{N}\p{Script=Devanagari}\p{Script=Thai}]{1,32}")


def check_commands(values: Any) -> list[Json]:
    """A whole set of commands, checked. Raises ``ApiError`` 50035 or 30032."""
    errors = FormErrors()
    if not isinstance(values, list):
        errors.add((), "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
    errors.refuse_if_any()
    forms = [Form(value, errors, (n,)) for n, value in enumerate(values)]
    names: set[tuple[int, str]] = set()
    for form in forms:
        _command(form, names)
    errors.refuse_if_any()
    if sum(form.values.get("type", CHAT_INPUT) == CHAT_INPUT for form in forms) > limits.MAX_COMMANDS:
        raise ApiError(400, 30032, f"Maximum number of application commands reached ({limits.MAX_COMMANDS})")
    return [form.values for form in forms]


def _command(form: Form, names: set[tuple[int, str]]) -> None:
    kind = form.choice("type", (1, 2, 3), default=CHAT_INPUT)
    name = form.text("name", limits.MAX_COMMAND_NAME_CHARS, least=1, required=True)
    if kind == CHAT_INPUT:
        _check_name(form, name)
        form.text("description", limits.MAX_COMMAND_DESCRIPTION_CHARS, least=1, required=True)
        _options(form)
    if name is not None and (kind, name) in names:
        message = "Application command names must be unique"
        form.wrong("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", message)
    names.add((kind, name or ""))
    if _size(form.values) > limits.MAX_COMMAND_CHARS:
        message = f"Command exceeds maximum size ({limits.MAX_COMMAND_CHARS})"
        form.errors.add(form.path, "APPLICATION_COMMAND_TOO_LARGE", message)


def _check_name(form: Form, name: str | None) -> None:
    if name and (_NAME.fullmatch(name) is None or name != name.lower()):
        form.wrong("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")


def _options(form: Form) -> None:
    optional_seen = False
    names: set[str] = set()
    for option in form.forms("options", limits.MAX_COMMAND_OPTIONS) or []:
        kind = option.choice("type", range(SUBCOMMAND, ATTACHMENT + 1))
        name = option.text("name", limits.MAX_COMMAND_NAME_CHARS, least=1, required=True)
        _check_name(option, name)
        option.text("description", limits.MAX_COMMAND_DESCRIPTION_CHARS, least=1, required=True)
        if name in names:
            option.wrong("name", "APPLICATION_COMMAND_OPTIONS_NAME_INVALID", "Option names must be unique")
        names.add(name or "")
        required = option.flag("required")
        if required and optional_seen:
            message = "Required options must be placed before non-required options"
            option.errors.add(option.path, "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", message)
        optional_seen = optional_seen or (kind not in {SUBCOMMAND, GROUP} and not required)
        _choices(option)
        _options(option)


def _choices(option: Form) -> None:
    for choice in option.forms("choices", limits.MAX_COMMAND_CHOICES) or []:
        choice.text("name", limits.MAX_CHOICE_CHARS, least=1, required=True)
        if isinstance(choice.values.get("value"), str):
            choice.text("value", limits.MAX_CHOICE_CHARS, required=True)


def _size(values: Json) -> int:
    """Names, descriptions and values of a command, its options and their choices."""
    own = sum(len(str(values.get(name) or "")) for name in ("name", "description", "value"))
    return own + sum(_size(part) for part in (values.get("options") or []) + (values.get("choices") or []))


def as_kept(values: Json, command_id: int, application_id: int, guild_id: int | None) -> Json:
    """A command as the platform gives it back."""
    body: Json = {
        "id": str(command_id),
        "application_id": str(application_id),
        "version": str(command_id),
        "type": values.get("type", CHAT_INPUT),
        "name": values["name"],
        "name_localizations": values.get("name_localizations"),
        "description": values.get("description", ""),
        "description_localizations": values.get("description_localizations"),
        "default_member_permissions": values.get("default_member_permissions"),
        "integration_types": values.get("integration_types", [0]),
        "nsfw": values.get("nsfw", False),
    }
    if values.get("options"):
        body["options"] = [_option_as_kept(option) for option in values["options"]]
    if guild_id is not None:
        return body | {"guild_id": str(guild_id)}
    dm = values.get("dm_permission")
    return body | {"contexts": values.get("contexts"), "dm_permission": True if dm is None else dm}


def _option_as_kept(option: Json) -> Json:
    """Fields at their default and localizations that are null are left out."""
    kept = {name: value for name, value in option.items() if value is not None and value is not False}
    if kept.get("options"):
        kept["options"] = [_option_as_kept(inner) for inner in kept["options"]]
    return {name: value for name, value in kept.items() if name != "options" or value}
