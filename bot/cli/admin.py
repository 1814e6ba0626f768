"""Input and output of the administration commands, and of `hubbub usage`."""

import getpass
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import typer

from bot.cli.api import HubApi, with_api
from bot.cli.conventions import print_json, print_table, printable, when, whole
from bot.operator.usage_views import FailingToolView, UsageListing, UsageView
from bot.runtime import USAGE, AdminError, CommandFailed
from bot.views import (
    DecisionView,
    GrantView,
    PairingRequestView,
    PermissionView,
    SecretView,
    ThreadView,
    UserView,
)
from core.gates import Option, ToolSetting
from core.lazy import LazyModule
from core.usage import MICRO_USD

if TYPE_CHECKING:
    from bot.cli import show
    from bot.config import load
    from bot.web import extensions
    from core.people import pairing
else:
    load, show = LazyModule("bot.config.load"), LazyModule("bot.cli.show")
    extensions = LazyModule("bot.web.extensions")  # with all of the API: twice what a list costs
    pairing = LazyModule("core.people.pairing")

# --- approvals ------------------------------------------------------------------------------------------


def option_of(answer: str) -> str:
    """Return the answer as the API has it. Raises CommandFailed for any other word."""
    try:
        return Option(answer.strip().lower().replace("-", "_")).value
    except ValueError as error:
        known = ", ".join(Option)
        raise CommandFailed(
            f"{printable(answer)} is not a valid answer; use one of {known}", USAGE
        ) from error


# --- people ---------------------------------------------------------------------------------------------


def list_pairing(path: Path | None, *, as_json: bool) -> None:
    """List pairing requests."""
    requests = show.asked(path, lambda reader: reader.people.pairing_requests())
    found = [PairingRequestView.of(request) for request in requests]
    if as_json:
        print_json(found)
    elif found:
        columns = ("asked (UTC)", whole("code"), "channel", "account", "name", "expires (UTC)")
        rows = (
            (when(r.created_at), r.code, r.channel, r.platform_user_id, r.name, when(r.expires_at))
            for r in found
        )
        print_table(columns, rows)
    else:
        typer.echo("No pairing requests.")


def role_of(pair_as: str) -> str:
    """Return the role as the API has it. Raises CommandFailed for any other word."""
    try:
        return pairing.PairAs(pair_as).value
    except ValueError as error:
        raise CommandFailed(f"--as must be one of {', '.join(pairing.PairAs)}", USAGE) from error


def add_user(path: Path | None, name: str, account: str | None, *, as_json: bool) -> None:
    """Make a member, and give them their first account."""
    if not name.strip():
        raise CommandFailed("a user needs a name", USAGE)
    if account is None and _ACCOUNT.fullmatch(name.strip()):
        raise CommandFailed(
            f"{printable(name)} is an account; use: users add NAME --account {printable(name)}", USAGE
        )
    where = None if account is None else account_of(account)

    async def add(api: HubApi) -> str:
        user = await api.post("/users", UserView, {"name": name.strip()})
        if where is not None:
            try:
                await api.post("/users/link", DecisionView, {"user_id": user.id, **where})
            except AdminError as error:
                without = f"{printable(name)} was added as {user.id}, but without that account: {error}"
                raise AdminError(error.code, without) from error
        return user.id

    user_id = with_api(path, add)
    if as_json:
        print_json({"id": user_id, "name": name.strip(), "account": account})
    else:
        typer.echo(printable(f"{user_id}: {name.strip()}, {account or 'without an account yet'}"))


def invite(path: Path | None, wanted: str, *, as_json: bool) -> None:
    """Print a new member's link to the console, or another one of a member who is known by ID."""
    if not wanted.strip():
        raise CommandFailed("a member needs a name", USAGE)
    body = {"user_id" if _USER_ID.fullmatch(wanted.strip()) else "name": wanted.strip()}
    page = with_api(path, lambda api: api.post("/invitations", dict[str, Any], body))
    if as_json:
        print_json(page)
        return
    typer.echo(printable(page["url"]))
    where = " Only this machine can open it: set http.public_url for others." if page["here_only"] else ""
    typer.echo(printable(f"For {page['name']}, once, until {when(page['expires_at'])} UTC.{where}"), err=True)


_USER_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ACCOUNT = re.compile(r"[a-z][\w-]*:[\w-]+")
"""The form of an account, which no user's name has."""


def account_of(text: str) -> Mapping[str, str]:
    """Return `telegram:12345` as the API's fields. Raises CommandFailed if it is not of this form."""
    channel, colon, person = text.partition(":")
    if not colon or not channel.strip() or not person.strip():
        raise CommandFailed(
            f"{printable(text)} is not an account; use channel:id, such as telegram:12345", USAGE
        )
    return {"channel": channel.strip(), "platform_user_id": person.strip()}


# --- conversations --------------------------------------------------------------------------------------


def change_thread(path: Path | None, thread_id: str, body: Mapping[str, Any], *, as_json: bool) -> None:
    """Rename, tag, archive, close or reopen a conversation, and print what it is now."""
    if not any(value is not None for value in body.values()):
        raise CommandFailed("nothing to change; name a title, tags, --archive or --close", USAGE)
    where = f"/threads/{quote(show.row_id(thread_id), safe='')}"
    thread = with_api(path, lambda api: api.call("PATCH", where, ThreadView, body))
    if as_json:
        print_json(thread)
        return
    tags = f" [{', '.join(thread.tags)}]" if thread.tags else ""
    archived = ", archived" if thread.archived else ""
    typer.echo(printable(f"{thread.id}: {thread.title}{tags}, {thread.state}{archived}"))


def delete_thread(
    path: Path | None, thread_id: str, export: Path | None, *, yes: bool, as_json: bool
) -> None:
    """Delete a conversation. It is exported first as Markdown, to a new file, unless that is declined."""
    if export is None and not yes:
        raise CommandFailed(
            "a deleted conversation can't be brought back; keep a copy with --export FILE, or add --yes",
            USAGE,
        )
    if export is not None:
        try:
            with export.open("x", encoding="utf-8") as copy:
                copy.write(show.exported(path, thread_id))
        except OSError as error:
            raise CommandFailed(f"nothing was deleted; {export}: {error.strerror}") from error
    where = f"/threads/{quote(show.row_id(thread_id), safe='')}"
    decision = with_api(path, lambda api: api.call("DELETE", where, DecisionView))
    if as_json:
        print_json(decision)
    else:
        typer.echo(printable(f"{decision.id}: {decision.outcome}"))


# `hubbub secrets`, `hubbub grants`, `hubbub permissions`, as far as they change something.

AS_CONFIGURED = "default"
"""Instead of a setting: what the configuration says holds again."""

# --- secrets --------------------------------------------------------------------------------------------


def typed_secret(name: str) -> str:
    """Return a secret that is typed, or read from standard input; never from the command line, where other
    users and the shell's history see it. Raises CommandFailed."""
    if sys.stdin.isatty():
        value = getpass.getpass(f"Value of {printable(name)} (not shown): ")
    else:
        try:
            value = sys.stdin.buffer.read().decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise CommandFailed("a secret must be UTF-8 text; nothing was stored", USAGE) from error
    if not value:
        raise CommandFailed("the value was empty; nothing was stored", USAGE)
    return value


# --- grants and permissions -----------------------------------------------------------------------------


def permission_of(path: Path | None, tool: str, said: str, user_id: str | None) -> Mapping[str, Any]:
    """Return a person's setting of a tool as the API has it. Raises CommandFailed."""
    word = said.strip().lower().replace("-", "_")
    try:
        setting = None if word == AS_CONFIGURED else ToolSetting(word)
    except ValueError as error:
        known = ", ".join([*ToolSetting, AS_CONFIGURED])
        raise CommandFailed(f"{printable(said)} is not a setting; use one of {known}", USAGE) from error
    person = user_id or load.load(path, secrets=False).config.hub.owner
    return {"user_id": person, "tool": tool, "setting": setting}


# What was laid down, listed: `hubbub secrets list`, `grants list`, `permissions list`.


def list_secrets(path: Path | None, *, as_json: bool) -> None:
    """Print the names of the secrets, never their values."""
    found = [SecretView.of(secret) for secret in show.asked(path, lambda reader: reader.secrets.secrets())]
    if as_json:
        print_json(found)
    elif found:
        print_table((whole("name"), "set (UTC)"), ((one.name, when(one.changed_at)) for one in found))
    else:
        typer.echo("The vault is empty; `hubbub secrets set NAME` adds a secret.")


def list_grants(path: Path | None, user_id: str | None, *, as_json: bool) -> None:
    """List the grants people gave, also to routines and jobs."""
    found = [
        GrantView.of(grant) for grant in show.asked(path, lambda reader: reader.consents.grants(user_id))
    ]
    if as_json:
        print_json(found)
    elif found:
        columns = (whole("grant"), "user", "tool", "covers", "where", "since (UTC)", "until (UTC)")
        rows = (
            (
                grant.id,
                grant.user_id,
                grant.tool,
                grant.covers,
                grant.subject or grant.thread_id or "everywhere",
                when(grant.created_at),
                "no expiry" if grant.expires_at is None else when(grant.expires_at),
            )
            for grant in found
        )
        print_table(columns, rows)
    else:
        typer.echo("There are no grants.")


def list_failing_tools(path: Path | None, *, as_json: bool) -> None:
    """Print the tools that fail again and again in jobs and routines."""
    found = with_api(path, lambda api: api.get("/tools/failing", list[FailingToolView]))
    if as_json:
        print_json(found)
    elif found:
        columns = (whole("tool"), "failures", "last (UTC)", "left out since (UTC)", "error")
        rows = (
            (
                one.name,
                str(one.failures),
                when(one.at),
                "" if one.left_out_at is None else when(one.left_out_at),
                one.error,
            )
            for one in found
        )
        print_table(columns, rows)
    else:
        typer.echo("No tool has failed in its last call by a job or routine.")


def list_permissions(path: Path | None, user_id: str | None, *, as_json: bool) -> None:
    """Print people's own tool settings."""
    found = [
        PermissionView.of(row)
        for row in show.asked(path, lambda reader: reader.consents.tool_settings(user_id))
    ]
    if as_json:
        print_json(found)
    elif found:
        columns = (whole("user"), "tool", "setting", "since (UTC)")
        print_table(columns, ((p.user_id, p.tool, p.setting, when(p.changed_at)) for p in found))
    else:
        typer.echo("There are no personal settings; the configuration applies to everyone.")


# --- extensions ---------------------------------------------------------------------------------------


def list_extensions(path: Path | None, *, as_json: bool) -> None:
    """Print all extensions, configured servers and installed packages of Python extensions."""
    found = with_api(
        path, lambda api: api.get("/extensions", list[extensions.ExtensionView]), new_database=True
    )
    if as_json:
        print_json(found)
    elif found:
        columns = (whole("name"), "users", "state", "approval", "set by", "server")
        rows = (
            (
                one.name,
                ", ".join(one.users),
                one.state,
                one.requirement,
                "package" if one.package else "configuration" if one.configured else "person",
                one.server or "",
            )
            for one in found
        )
        print_table(columns, rows)
    else:
        typer.echo("There are no extensions.")


def extension_of(
    name: str,
    command: Sequence[str] | None,
    url: str | None,
    secrets: Sequence[str] | None,
    requirement: str,
    user: str | None,
) -> Mapping[str, Any]:
    """Return an extension as the API takes it. Raises CommandFailed for a secret without its variable."""
    pairs = [text.partition("=") for text in secrets or ()]
    if wrong := [text for text, equals, secret in pairs if not equals or not secret]:
        raise CommandFailed(f"--secret {printable(wrong[0])} is not of the form VARIABLE=SECRET", USAGE)
    return {
        "name": name,
        "command": list(command or ()),
        "url": url,
        "secrets": {variable: secret for variable, _, secret in pairs},
        "requirement": requirement,
        "user_id": user,
    }


# --- usage ----------------------------------------------------------------------------------------------


def show_usage(path: Path | None, by: str, days: int, *, as_json: bool) -> None:
    """Print the tokens and costs of model calls."""
    found = with_api(path, lambda api: api.get("/usage", UsageListing, by=by, days=days))
    if as_json:
        print_json(found)
        return
    if not found.rows:
        typer.echo("No model was called in that time.")
        return
    columns = (
        whole(by),
        "calls",
        "input",
        "of it cached",
        "output",
        "cost",
        "estimated calls",
        "estimated tokens",
        "estimated cost",
    )
    print_table(columns, map(_usage_row, found.rows))


def _usage_row(row: UsageView) -> Sequence[str]:
    estimated = (f"{row.estimated_calls:,}", f"{row.estimated_tokens:,}", _usd(row.estimated_cost_micro_usd))
    return (
        row.name,
        f"{row.calls:,}",
        f"{row.input_tokens:,}",
        f"{row.cached_input_tokens:,}",
        f"{row.output_tokens:,}",
        _cost(row),
        *(estimated if row.estimated_calls else ("", "", "")),
    )


def _cost(row: UsageView) -> str:
    """Return the cost in the words of the console."""
    if row.free:
        return "free"
    tokens = row.input_tokens + row.output_tokens + row.estimated_tokens
    if tokens and not row.cost_micro_usd + row.estimated_cost_micro_usd:
        return "no price set"
    return _usd(row.cost_micro_usd)


def _usd(micro_usd: int) -> str:
    return f"${micro_usd / MICRO_USD:,.4f}"
