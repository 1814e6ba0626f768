"""Edits of a configuration file: some values change, and everything else stays as its author wrote it.

Comments, order, spacing and line ends are kept, byte for byte, and the file keeps its mode. An edit that
would change anything else is refused: then a person edits the line.

And the platforms and model providers that `hubbub init` offers by name, with the settings that follow from
answers. The links lead to the page of each portal where the token or key is made.
"""

import itertools
import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from bot.config.document import KeyPath, locate, places
from bot.config.schema import PROVIDER_URLS
from core.lazy import dataclass

Value = str | bool | int | float | Sequence[str]
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class EditRefused(Exception):
    """The file can't be edited by a program; the message names the line's key, and what to do."""


def edited(text: str, changes: Mapping[KeyPath, Value | None]) -> str:
    """Return the document with these values; None removes a key.

    Missing tables are added at the end, missing keys at the end of their table. Raises EditRefused for a key
    that stands in an inline table, and if the result would not be exactly the document with these values.
    """
    wanted = tomllib.loads(text)
    for path, value in changes.items():
        _put(wanted, path, value)
        text = _without(text, path) if value is None else _with(text, path, literal(value))
    try:
        same = tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        names = ", ".join(".".join(map(str, path)) for path in changes)
        raise EditRefused(f"can't change {names} without changing other lines; edit the file by hand")
    return text


def moved_first(text: str, table: str, index: int) -> str:
    """Return the document with this entry of an array of tables in the first one's place, and the reverse.

    Comments above an entry's header stay where they are. Raises EditRefused if that changes other keys."""
    wanted = tomllib.loads(text)
    entries = wanted[table]
    entries[0], entries[index] = entries[index], entries[0]
    _, ends = places(text)
    lines, moved = locate(text), text
    starts = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]
    try:
        first, other = (
            slice(starts[lines[table, at] - 1], _line_end(text, ends[table, at])) for at in (0, index)
        )
        between = text[first.stop : other.start]
        moved = text[: first.start] + text[other] + between + text[first] + text[other.stop :]
        same = index > 0 and tomllib.loads(moved) == wanted
    except (KeyError, tomllib.TOMLDecodeError):
        same = False
    if not same:
        raise EditRefused(f"can't move {table}.{index} without changing other lines; edit the file by hand")
    return moved


def removed_entry(text: str, table: str, index: int) -> str:
    """Return the document without this entry of an array of tables. Comments above its header stay.

    Raises EditRefused if that changes other keys."""
    wanted = tomllib.loads(text)
    del wanted[table][index]
    if not wanted[table]:
        del wanted[table]
    _, ends = places(text)
    starts = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]
    try:
        start, end = starts[locate(text)[table, index] - 1], _line_end(text, ends[table, index]) + 1
        shorter = text[:start] + text[end:]
        same = tomllib.loads(shorter) == wanted
    except (KeyError, tomllib.TOMLDecodeError):
        same, shorter = False, text
    if not same:
        raise EditRefused(f"can't remove {table}.{index} without changing other lines; edit the file by hand")
    return shorter


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def literal(value: Value) -> str:
    """Return a value in TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            # JSON's escapes are valid in TOML except for one character.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
        case _:
            return f"[{', '.join(map(literal, value))}]"


def replace_text(path: Path, before: str, after: str) -> None:
    """Replace a file's text, whole or not at all; its mode stays. A missing file counts as empty, and is made
    for its user only.

    Raises EditRefused if the file no longer holds `before`, and OSError if it can't be written."""
    path = path.resolve()
    there = path.exists()
    if (read_text(path) if there else "") != before:
        raise EditRefused(f"{path.name} was changed in the meantime; nothing was written, try again")
    unfinished = path.with_name(f".{path.name}.new")
    unfinished.unlink(missing_ok=True)
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "wb") as file:
        if there:
            os.fchmod(fd, path.stat().st_mode & 0o7777)
        file.write(after.encode())
        file.flush()
        os.fsync(fd)
    unfinished.rename(path)


def read_text(path: Path) -> str:
    """Return a file's text with its own line ends. Raises OSError and UnicodeDecodeError."""
    return path.read_bytes().decode("utf-8")


def _with(text: str, path: KeyPath, written: str) -> str:
    values, ends = places(text)
    if path in values:
        start, end = values[path]
        return text[:start] + written + text[end:]
    table, key = path[:-1], _key(path[-1])
    newline = "\r\n" if "\r\n" in text else "\n"
    if table in ends:
        line_end = text.find("\n", ends[table])
        at = len(text) if line_end < 0 else line_end + 1
        before = newline if at and text[at - 1] != "\n" else ""
        return f"{text[:at]}{before}{key} = {written}{newline}{text[at:]}"
    header = _header(table)
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    return f"{text}{gap}{header}{newline}{key} = {written}{newline}"


def _without(text: str, path: KeyPath) -> str:
    """Return the text without the key's lines; a comment behind its value goes, too."""
    values, _ = places(text)
    if path not in values:
        return text
    start = text.rfind("\n", 0, values[path][0]) + 1
    line_end = text.find("\n", values[path][1])
    return text[:start] + ("" if line_end < 0 else text[line_end + 1 :])


def _header(table: KeyPath) -> str:
    """Return the header of a table, or of an array's next one."""
    names = ".".join(_key(name) for name in table if isinstance(name, str))
    return f"[[{names}]]" if isinstance(table[-1], int) else f"[{names}]"


def _key(name: str | int) -> str:
    text = str(name)
    return text if _BARE.fullmatch(text) else literal(text)


def _put(tree: dict[str, Any], path: KeyPath, value: Value | None) -> None:
    at: Any = tree
    for step, following in itertools.pairwise(path):
        at = _inside(at, step, [] if isinstance(following, int) else {})
    if value is None:
        at.pop(path[-1], None)
    else:
        at[path[-1]] = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _inside(at: Any, step: Any, empty: Any) -> Any:
    """Return a table's or array's entry, which is made if it is missing."""
    if isinstance(at, dict):
        at.setdefault(step, empty)
    elif step == len(at):
        at.append(empty)
    return at[step]


# What `hubbub init` offers and writes.

HEADING = "# Created by `hubbub init`. All options are in config.example.toml.\n"


@dataclass(frozen=True, slots=True)
class ProviderSetup:
    """A model provider. `api`: the provider in the configuration; `base_url`: "" if a person must name it;
    `model`: the suggested one; `key_variable`: "" for servers that want no key; `page`: where the key is
    made, or the server is found; `local`: a server on this machine, on its usual port."""

    name: str
    title: str
    api: str
    base_url: str
    model: str = ""
    key_variable: str = ""
    page: str = ""
    local: bool = False


DEMO = "demo"
PROVIDERS: Mapping[str, ProviderSetup] = {
    setup.name: setup
    for setup in (
        ProviderSetup(
            "openai",
            "OpenAI",
            "openai",
            PROVIDER_URLS["openai"],
            "gpt-5-mini",
            "OPENAI_API_KEY",
            "https://platform.openai.com/api-keys",
        ),
        ProviderSetup(
            "anthropic",
            "Anthropic",
            "anthropic",
            PROVIDER_URLS["anthropic"],
            "claude-sonnet-5-5",
            "ANTHROPIC_API_KEY",
            "https://console.anthropic.com/settings/keys",
        ),
        ProviderSetup(
            "openrouter",
            "OpenRouter",
            "openai",
            "https://openrouter.ai/api/v1",
            "openai/gpt-5-mini",
            "OPENROUTER_API_KEY",
            "https://openrouter.ai/settings/keys",
        ),
        ProviderSetup(
            "ollama",
            "Ollama",
            "openai",
            "http://127.0.0.1:11434/v1",
            page="https://ollama.com/download",
            local=True,
        ),
        ProviderSetup(
            "lmstudio",
            "LM Studio",
            "openai",
            "http://127.0.0.1:1234/v1",
            page="https://lmstudio.ai/download",
            local=True,
        ),
        ProviderSetup(
            "vllm",
            "vLLM",
            "openai",
            "http://127.0.0.1:8000/v1",
            page="https://docs.vllm.ai",
            local=True,
        ),
        ProviderSetup("other", "another OpenAI-compatible server", "openai", "", "", "MODEL_API_KEY"),
    )
}


@dataclass(frozen=True, slots=True)
class SecretWanted:
    """A token a platform wants: the key in its section, the variable it is kept in, where to find it."""

    key: str
    variable: str
    told: str


@dataclass(frozen=True, slots=True)
class PlatformSetup:
    """The questions about a platform. `steps`: how to make a bot; `account`: the owner's own id there, in
    words, and `account_form`, a pattern."""

    name: str
    secrets: tuple[SecretWanted, ...]
    steps: str
    account: str
    account_form: str


PLATFORMS: Mapping[str, PlatformSetup] = {
    setup.name: setup
    for setup in (
        PlatformSetup(
            "telegram",
            (SecretWanted("token", "TELEGRAM_TOKEN", "the bot's token, from @BotFather"),),
            "Open https://t.me/BotFather and send /newbot. It replies with the token.",
            "your numeric user ID (@userinfobot tells it)",
            r"[0-9]{1,20}",
        ),
        PlatformSetup(
            "slack",
            (
                SecretWanted(
                    "bot_token", "SLACK_BOT_TOKEN", "the bot token, xoxb-…, from the page Install App"
                ),
                SecretWanted(
                    "app_token", "SLACK_APP_TOKEN", "the app-level token, xapp-…, from Basic Information"
                ),
            ),
            "Open https://api.slack.com/apps?new_app=1, then From a manifest: the one of docs/slack.md.",
            "your member ID, such as U024BE7LH (your profile, ⋮, Copy member ID)",
            r"[UW][A-Z0-9]{2,20}",
        ),
        PlatformSetup(
            "discord",
            (SecretWanted("token", "DISCORD_TOKEN", "the bot's token, from Bot, Reset Token"),),
            "Open https://discord.com/developers/applications?new_application=true; steps: docs/discord.md.",
            "your numeric user ID (Developer Mode, right-click your name, Copy User ID)",
            r"[0-9]{5,20}",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class ChannelAnswer:
    """One channel. `secrets`: by variable; `account`: the owner's own there, "" if not known yet."""

    platform: PlatformSetup
    secrets: Mapping[str, str] = field(repr=False)
    account: str = ""
    api_base_url: str = ""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """The model; the built-in one needs nothing else. `provider`: a name of the catalog."""

    provider: str
    model: str = ""
    base_url: str = ""
    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that was asked; `model` is None where another one stays."""

    channels: Sequence[ChannelAnswer]
    model: ModelAnswer | None


Changes = dict[KeyPath, Value | None]


def configuration(answers: Answers) -> str:
    """Return the text of a new hubbub.toml, which contains no secrets."""
    return edited(HEADING, changes(answers, ()))


def changes(answers: Answers, identities: Sequence[str]) -> Changes:
    """Return the values that differ. `identities`: those of the owner in the file."""
    found: Changes = {}
    accounts = [f"{one.platform.name}:{one.account}" for one in answers.channels if one.account]
    if accounts:
        named = {one.partition(":")[0] for one in accounts}
        others = [one for one in identities if one.partition(":")[0] not in named]
        found["hub", "owner_identities"] = [*others, *accounts]
    if answers.model is not None:
        found |= _model(answers.model)
    for channel in answers.channels:
        section = ("channels", channel.platform.name)
        for secret in channel.platform.secrets:
            if channel.secrets.get(secret.variable):
                found[*section, secret.key] = f"env:{secret.variable}"
        if channel.api_base_url:
            found[*section, "api_base_url"] = channel.api_base_url
    return found


def variables(answers: Answers) -> Mapping[str, str]:
    """Return the content of the environment file."""
    found = {name: value for one in answers.channels for name, value in one.secrets.items() if value}
    if answers.model is None or not answers.model.api_key:
        return found
    return found | {PROVIDERS[answers.model.provider].key_variable: answers.model.api_key}


def _model(answer: ModelAnswer) -> Changes:
    first = ("models", 0)
    if answer.provider == DEMO:
        values: Mapping[str, Value | None] = {"name": DEMO, "provider": DEMO}
    else:
        setup = PROVIDERS[answer.provider]
        usual = answer.base_url == PROVIDER_URLS[setup.api]
        values = {
            "name": "main",
            "provider": setup.api,
            "model": answer.model,
            "base_url": None if usual else answer.base_url,
            "api_key": f"env:{setup.key_variable}" if answer.api_key else None,
        }
    gone = dict.fromkeys({"model", "base_url", "api_key", "api_keys"} - set(values))
    return {(*first, key): value for key, value in {**values, **gone}.items()}


def service_unit(command: str, directory: str, config: str) -> str:
    """Return a systemd unit for the hub of one user. All paths are absolute."""
    started, place = _quoted(command), directory.replace("%", "%%")
    return f"""\
[Unit]
Description=hubbub

[Service]
WorkingDirectory={place}
ExecStart={started} run --config {_quoted(config)}
ExecReload={started} config reload --config {_quoted(config)}
Restart=always
RestartSec=5
RestartPreventExitStatus=2
KillMode=mixed
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def _quoted(word: str) -> str:
    """Return a word of a systemd command line."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"' if set(escaped) & set(" \t'\"\\") else escaped
