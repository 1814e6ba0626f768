"""Commands of administration: in this process when no hub runs, else through the running hub's API."""

import asyncio
import getpass
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from bot.cli.exit_codes import USAGE, CommandFailed
from bot.cli.output import print_json, print_table, printable, when, whole
from bot.cli.show import asked, existing_database
from bot.config.load import Loaded, load
from bot.operator.decisions import AdminService
from bot.operator.settings import SettingsService
from bot.ops.api_access import ApiAccess, read_access
from bot.runtime import AdminError, needed_to_start
from bot.views import DecisionView, GrantView, PairingRequestView, PermissionView, SecretView
from core.errors import StoreLocked
from core.gates import Option, ToolSetting
from core.lazy_module import LazyModule
from core.people.pairing import PairAs
from core.store.lock import DataDirectoryLock

if TYPE_CHECKING:
    from bot.cli import offline, remote
else:
    offline = LazyModule("bot.cli.offline")
    remote = LazyModule("bot.cli.remote")

T = TypeVar("T")


def with_admin(path: Path | None, action: Callable[[AdminService], Awaitable[T]]) -> T:
    """Return the result of an operator's action. Raises CommandFailed with the reason if it is refused."""
    loaded = load(path, secrets=False)
    existing_database(loaded.database)

    async def here() -> T:
        async with offline.offline_admin(loaded) as admin:
            return await action(admin)

    async def there(access: ApiAccess) -> T:
        return await action(remote.RemoteAdminService(access))

    return in_place(loaded, here, there)


def with_settings(path: Path | None, action: Callable[[SettingsService], Awaitable[T]]) -> T:
    """Return the result of a change to settings, also before the first start of a hub."""
    loaded = load(path, secrets=False)

    async def here() -> T:
        async with offline.offline_settings(loaded) as settings:
            return await action(settings)

    async def there(access: ApiAccess) -> T:
        return await action(remote.RemoteSettings(access))

    return in_place(loaded, here, there)


def in_place(
    loaded: Loaded, here: Callable[[], Awaitable[T]], there: Callable[[ApiAccess], Awaitable[T]]
) -> T:
    """Do it in this process where no hub runs, else through the running one.

    Raises CommandFailed with the reason if refused.
    """
    data_dir = loaded.config.hub.data_dir
    lock = DataDirectoryLock(data_dir)
    try:
        with needed_to_start(data_dir, "run this as the hub's user"):
            lock.acquire()
    except StoreLocked as held:
        access = read_access(data_dir)
        if access is None:
            raise CommandFailed(
                f"hubbub: {held}; it has not published its API address yet: try again in a moment"
            ) from held
        return _settled(there(access))
    try:
        return _settled(here())
    finally:
        lock.release()


def _settled(doing: Awaitable[T]) -> T:
    async def settle() -> T:
        return await doing

    try:
        return asyncio.run(settle())
    except AdminError as refused:
        raise CommandFailed(printable(str(refused))) from refused


def tell(decision: DecisionView, *, as_json: bool) -> None:
    """Print the decision."""
    if as_json:
        print_json(decision)
    else:
        typer.echo(printable(f"{decision.id}: {decision.outcome}"))


# --- approvals ------------------------------------------------------------------------------------------


def decide(path: Path | None, gate_id: str, answer: str, *, as_json: bool) -> None:
    """Answer what waits, as the owner."""
    try:
        option = Option(answer.strip().lower().replace("-", "_"))
    except ValueError as error:
        known = ", ".join(Option)
        raise CommandFailed(
            f"{printable(answer)} is not a valid answer; use one of {known}", USAGE
        ) from error
    tell(with_admin(path, lambda admin: admin.decide(gate_id, option)), as_json=as_json)


# --- people ---------------------------------------------------------------------------------------------


def list_pairing(path: Path | None, *, as_json: bool) -> None:
    """List pairing requests."""
    requests = asked(path, lambda reader: reader.people.pairing_requests())
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


def let_in(path: Path | None, code: str, pair_as: str, *, as_json: bool) -> None:
    """Let the account in that has this code."""
    try:
        role = PairAs(pair_as)
    except ValueError as error:
        raise CommandFailed(f"--as must be one of {', '.join(PairAs)}", USAGE) from error
    tell(with_admin(path, lambda admin: admin.let_in(code, role)), as_json=as_json)


def turn_down(path: Path | None, code: str, *, as_json: bool) -> None:
    """Refuse the account that has this code."""
    tell(with_admin(path, lambda admin: admin.turn_down(code)), as_json=as_json)


def revoke(path: Path | None, account: str, *, as_json: bool) -> None:
    """Let an account in no more."""
    channel, person = account_of(account)
    tell(with_admin(path, lambda admin: admin.revoke(channel, person)), as_json=as_json)


def add_user(path: Path | None, name: str, account: str | None, *, as_json: bool) -> None:
    """Make a member, and give them their first account."""
    if not name.strip():
        raise CommandFailed("a user needs a name", USAGE)
    if account is None and _ACCOUNT.fullmatch(name.strip()):
        raise CommandFailed(
            f"{printable(name)} is an account; use: users add NAME --account {printable(name)}", USAGE
        )
    where = None if account is None else account_of(account)

    async def add(admin: AdminService) -> str:
        user = await admin.add_user(name.strip())
        if where is not None:
            try:
                await admin.link(user.id, *where)
            except AdminError as error:
                without = f"{printable(name)} was added as {user.id}, but without that account: {error}"
                raise AdminError(error.code, without) from error
        return user.id

    user_id = with_admin(path, add)
    if as_json:
        print_json({"id": user_id, "name": name.strip(), "account": account})
    else:
        typer.echo(printable(f"{user_id}: {name.strip()}, {account or 'without an account yet'}"))


def link(path: Path | None, user_id: str, account: str, *, as_json: bool) -> None:
    """Give an account to a user."""
    channel, person = account_of(account)
    tell(with_admin(path, lambda admin: admin.link(user_id, channel, person)), as_json=as_json)


def set_timezone(path: Path | None, user_id: str, name: str, *, as_json: bool) -> None:
    """Set a user's time zone; `default` for the hub's."""
    wanted = None if name.strip().lower() == "default" else name
    tell(with_admin(path, lambda admin: admin.set_timezone(user_id, wanted)), as_json=as_json)


_ACCOUNT = re.compile(r"[a-z][\w-]*:[\w-]+")
"""What nobody is called, but an account may be."""


def account_of(text: str) -> tuple[str, str]:
    """`telegram:12345` as channel and id. Raises CommandFailed if it is not of this form."""
    channel, colon, person = text.partition(":")
    if not colon or not channel.strip() or not person.strip():
        raise CommandFailed(
            f"{printable(text)} is not an account; use channel:id, such as telegram:12345", USAGE
        )
    return channel.strip(), person.strip()


# `hubbub secrets`, `hubbub grants`, `hubbub permissions`, as far as they change something.

AS_CONFIGURED = "default"
"""Instead of a setting: what the configuration says holds again."""

# --- secrets --------------------------------------------------------------------------------------------


def set_secret(path: Path | None, name: str, *, as_json: bool) -> None:
    """Store a secret that is typed, or read from standard input."""
    value = _typed(name)
    if not value:
        raise CommandFailed("the value was empty; nothing was stored", USAGE)
    tell(with_settings(path, lambda settings: settings.keep_secret(name, value)), as_json=as_json)


def _typed(name: str) -> str:
    """Never from the command line, where other users and the shell's history see it."""
    if sys.stdin.isatty():
        return getpass.getpass(f"Value of {printable(name)} (not shown): ")
    try:
        given = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise CommandFailed("a secret must be UTF-8 text; nothing was stored", USAGE) from error
    return given.removesuffix("\n").removesuffix("\r")


def delete_secret(path: Path | None, name: str, *, as_json: bool) -> None:
    """Forget a secret."""
    tell(with_settings(path, lambda settings: settings.drop_secret(name)), as_json=as_json)


def rotate(path: Path | None, *, as_json: bool) -> None:
    """Seal everything with a new key."""
    tell(with_settings(path, lambda settings: settings.change_vault_key()), as_json=as_json)


# --- grants and permissions -----------------------------------------------------------------------------


def revoke_grant(path: Path | None, grant_id: str, *, as_json: bool) -> None:
    """Ask again from now on."""
    tell(with_settings(path, lambda settings: settings.revoke_grant(grant_id.strip())), as_json=as_json)


def set_permission(path: Path | None, tool: str, said: str, user_id: str | None, *, as_json: bool) -> None:
    """Write down a person's word on a tool."""
    word = said.strip().lower().replace("-", "_")
    try:
        setting = None if word == AS_CONFIGURED else ToolSetting(word)
    except ValueError as error:
        known = ", ".join([*ToolSetting, AS_CONFIGURED])
        raise CommandFailed(f"{printable(said)} is not a setting; use one of {known}", USAGE) from error
    person = user_id or load(path, secrets=False).config.hub.owner
    tell(
        with_settings(path, lambda settings: settings.set_permission(person, tool, setting)), as_json=as_json
    )


def pause_tools(path: Path | None, *, paused: bool, as_json: bool) -> None:
    """Pause all tools at once, or let them run again."""
    tell(with_settings(path, lambda settings: settings.pause_tools(paused=paused)), as_json=as_json)


# What was laid down, listed: `hubbub secrets list`, `grants list`, `permissions list`.


def list_secrets(path: Path | None, *, as_json: bool) -> None:
    """Names, never values."""
    found = [SecretView.of(secret) for secret in asked(path, lambda reader: reader.secrets.secrets())]
    if as_json:
        print_json(found)
    elif found:
        print_table((whole("name"), "set (UTC)"), ((one.name, when(one.changed_at)) for one in found))
    else:
        typer.echo("The vault is empty; `hubbub secrets set NAME` adds a secret.")


def list_grants(path: Path | None, user_id: str | None, *, as_json: bool) -> None:
    """List the grants people gave with "always"."""
    found = [GrantView.of(grant) for grant in asked(path, lambda reader: reader.consents.grants(user_id))]
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
                "no expiry" if grant.expires_at is None else when(grant.expires_at),
            )
            for grant in found
        )
        print_table(columns, rows)
    else:
        typer.echo("There are no grants.")


def list_permissions(path: Path | None, user_id: str | None, *, as_json: bool) -> None:
    """People's own settings of tools."""
    found = [
        PermissionView.of(row) for row in asked(path, lambda reader: reader.consents.tool_settings(user_id))
    ]
    if as_json:
        print_json(found)
    elif found:
        columns = (whole("user"), "tool", "setting", "since (UTC)")
        print_table(columns, ((p.user_id, p.tool, p.setting, when(p.changed_at)) for p in found))
    else:
        typer.echo("There are no personal settings; the configuration applies to everyone.")
