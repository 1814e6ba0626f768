"""`hubbub secrets`, `hubbub grants`, `hubbub permissions`."""

import getpass
import sys
from pathlib import Path

import typer

from bot.cli.changing import at_keeping, tell
from bot.cli.ending import USAGE, CommandFailed
from bot.cli.looking import asked
from bot.cli.printing import print_json, print_table, printable, when, whole
from bot.config import load
from bot.views import GrantView, PermissionView, SecretView
from core.prompts import ToolSetting

AS_CONFIGURED = "default"
"""Instead of a setting: what the configuration says holds again."""

# --- secrets --------------------------------------------------------------------------------------------


def list_secrets(path: Path | None, *, as_json: bool) -> None:
    """Names, never values."""
    found = [SecretView.of(secret) for secret in asked(path, lambda reader: reader.secrets())]
    if as_json:
        print_json(found)
    elif found:
        print_table((whole("name"), "set (UTC)"), ((one.name, when(one.changed_at)) for one in found))
    else:
        typer.echo("The vault is empty; `hubbub secrets set NAME` keeps a secret.")


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


def list_grants(path: Path | None, user_id: str | None, *, as_json: bool) -> None:
    """What people allowed by "always"."""
    found = [GrantView.of(grant) for grant in asked(path, lambda reader: reader.grants(user_id))]
    if as_json:
        print_json(found)
    elif found:
        columns = (whole("grant"), "user", "tool", "covers", "where", "since (UTC)", "until (UTC)")
        rows = (
            (
                grant.id,
                grant.user_id,
                grant.tool,
                grant.pattern or "every call",
                grant.thread_id or "everywhere",
                when(grant.created_at),
                "revoked" if grant.expires_at is None else when(grant.expires_at),
            )
            for grant in found
        )
        print_table(columns, rows)
    else:
        typer.echo("Nobody has allowed anything once and for all.")


def revoke_grant(path: Path | None, grant_id: str, *, as_json: bool) -> None:
    """Ask again from now on."""
    tell(at_keeping(path, lambda keeping: keeping.revoke_grant(grant_id.strip())), as_json=as_json)


def list_permissions(path: Path | None, user_id: str | None, *, as_json: bool) -> None:
    """People's own settings of tools."""
    found = [PermissionView.of(row) for row in asked(path, lambda reader: reader.tool_settings(user_id))]
    if as_json:
        print_json(found)
    elif found:
        columns = (whole("user"), "tool", "setting", "since (UTC)")
        print_table(columns, ((p.user_id, p.tool, p.setting, when(p.changed_at)) for p in found))
    else:
        typer.echo("Nobody has a setting of their own; what is configured holds for all.")


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
