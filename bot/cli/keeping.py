"""`hubbub secrets`, `hubbub grants`, `hubbub permissions`, as far as they change something."""

import getpass
import sys
from pathlib import Path

from bot.cli.changing import at_keeping, tell
from bot.cli.ending import USAGE, CommandFailed
from bot.cli.printing import printable
from bot.config import load
from core.prompts import ToolSetting

AS_CONFIGURED = "default"
"""Instead of a setting: what the configuration says holds again."""

# --- secrets --------------------------------------------------------------------------------------------


def set_secret(path: Path | None, name: str, *, as_json: bool) -> None:
    """Keep what is typed, or what comes in by standard input."""
    value = _typed(name)
    if not value:
        raise CommandFailed("nothing was given, so nothing was kept", USAGE)
    tell(at_keeping(path, lambda keeping: keeping.keep_secret(name, value)), as_json=as_json)


def _typed(name: str) -> str:
    """Never from the command line, where other users and the shell's history see it."""
    if sys.stdin.isatty():
        return getpass.getpass(f"Value of {printable(name)} (not shown): ")
    try:
        given = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise CommandFailed("a secret is text in UTF-8; nothing was kept", USAGE) from error
    return given.removesuffix("\n").removesuffix("\r")


def delete_secret(path: Path | None, name: str, *, as_json: bool) -> None:
    """Forget a secret."""
    tell(at_keeping(path, lambda keeping: keeping.drop_secret(name)), as_json=as_json)


def rotate(path: Path | None, *, as_json: bool) -> None:
    """Seal everything with a new key."""
    tell(at_keeping(path, lambda keeping: keeping.change_vault_key()), as_json=as_json)


# --- grants and permissions -----------------------------------------------------------------------------


def revoke_grant(path: Path | None, grant_id: str, *, as_json: bool) -> None:
    """Ask again from now on."""
    tell(at_keeping(path, lambda keeping: keeping.revoke_grant(grant_id.strip())), as_json=as_json)


def set_permission(path: Path | None, tool: str, said: str, user_id: str | None, *, as_json: bool) -> None:
    """Write down a person's word on a tool."""
    word = said.strip().lower().replace("-", "_")
    try:
        setting = None if word == AS_CONFIGURED else ToolSetting(word)
    except ValueError as error:
        known = ", ".join([*ToolSetting, AS_CONFIGURED])
        raise CommandFailed(f"{printable(said)} is no setting; use one of {known}", USAGE) from error
    person = user_id or load(path, secrets=False).config.hub.owner
    tell(at_keeping(path, lambda keeping: keeping.set_permission(person, tool, setting)), as_json=as_json)


def halt_tools(path: Path | None, *, halted: bool, as_json: bool) -> None:
    """Stop all tools at once, or let them run again."""
    tell(at_keeping(path, lambda keeping: keeping.halt_tools(halted=halted)), as_json=as_json)
