"""What was laid down, listed: `hubbub secrets list`, `grants list`, `permissions list`."""

from pathlib import Path

import typer

from bot.cli.looking import asked
from bot.cli.printing import print_json, print_table, when, whole
from bot.views import GrantView, PermissionView, SecretView


def list_secrets(path: Path | None, *, as_json: bool) -> None:
    """Names, never values."""
    found = [SecretView.of(secret) for secret in asked(path, lambda reader: reader.secrets())]
    if as_json:
        print_json(found)
    elif found:
        print_table((whole("name"), "set (UTC)"), ((one.name, when(one.changed_at)) for one in found))
    else:
        typer.echo("The vault is empty; `hubbub secrets set NAME` keeps a secret.")


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
                "until you revoke it" if grant.expires_at is None else when(grant.expires_at),
            )
            for grant in found
        )
        print_table(columns, rows)
    else:
        typer.echo("Nobody has allowed anything once and for all.")


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
