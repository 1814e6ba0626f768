"""Commands that change something: in this process when no hub runs, else through the running hub's API."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import typer

from bot.api_access import ApiAccess, read_access
from bot.cli.ending import USAGE, CommandFailed
from bot.cli.looking import asked, existing_database
from bot.cli.printing import print_json, print_table, printable, when, whole
from bot.config import Loaded, load
from bot.desk import Desk
from bot.errors import DeskRefused, needed_to_start
from bot.keeping import Keeping
from bot.views import DecisionView, PairingRequestView
from core.conversation.pairing import PairAs
from core.errors import StoreLocked
from core.prompts import Option
from core.store.lock import DataDirectoryLock

T = TypeVar("T")


def at_desk(path: Path | None, action: Callable[[Desk], Awaitable[T]]) -> T:
    """What the action at the operator's desk comes to. Raises CommandFailed with the reason if refused."""
    loaded = load(path, secrets=False)
    existing_database(loaded.database)

    async def here() -> T:
        from bot.offline import offline_desk

        async with offline_desk(loaded) as desk:
            return await action(desk)

    async def there(access: ApiAccess) -> T:
        from bot.cli.remote import RemoteDesk

        return await action(RemoteDesk(access))

    return in_place(loaded, here, there)


def at_keeping(path: Path | None, action: Callable[[Keeping], Awaitable[T]]) -> T:
    """The same for what is laid down for the time to come, also before the first start of a hub."""
    loaded = load(path, secrets=False)

    async def here() -> T:
        from bot.offline import offline_keeping

        async with offline_keeping(loaded) as keeping:
            return await action(keeping)

    async def there(access: ApiAccess) -> T:
        from bot.cli.remote import RemoteKeeping

        return await action(RemoteKeeping(access))

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
        with needed_to_start(data_dir, "run this as the user the hub runs as"):
            lock.acquire()
    except StoreLocked as held:
        access = read_access(data_dir)
        if access is None:
            raise CommandFailed(
                f"hubbub: {held}; it has not said yet where its API is: try again in a moment"
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
    except DeskRefused as refused:
        raise CommandFailed(printable(str(refused))) from refused


def tell(decision: DecisionView, *, as_json: bool) -> None:
    """Print what was decided."""
    if as_json:
        print_json(decision)
    else:
        typer.echo(printable(f"{decision.id}: {decision.outcome}"))


# --- approvals ------------------------------------------------------------------------------------------


def decide(path: Path | None, prompt_id: str, answer: str, *, as_json: bool) -> None:
    """Answer what waits, as the owner."""
    try:
        option = Option(answer.strip().lower().replace("-", "_"))
    except ValueError as error:
        known = ", ".join(Option)
        raise CommandFailed(f"{printable(answer)} is no answer; use one of {known}", USAGE) from error
    tell(at_desk(path, lambda desk: desk.decide(prompt_id, option)), as_json=as_json)


# --- people ---------------------------------------------------------------------------------------------


def list_pairing(path: Path | None, *, as_json: bool) -> None:
    """Who asks to be let in."""
    requests = asked(path, lambda reader: reader.pairing_requests())
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
        typer.echo("Nobody asks to be let in.")


def let_in(path: Path | None, code: str, pair_as: str, *, as_json: bool) -> None:
    """Let the account in that has this code."""
    try:
        role = PairAs(pair_as)
    except ValueError as error:
        raise CommandFailed(f"--as takes {', '.join(PairAs)}", USAGE) from error
    tell(at_desk(path, lambda desk: desk.let_in(code, role)), as_json=as_json)


def turn_down(path: Path | None, code: str, *, as_json: bool) -> None:
    """Refuse the account that has this code."""
    tell(at_desk(path, lambda desk: desk.turn_down(code)), as_json=as_json)


def revoke(path: Path | None, account: str, *, as_json: bool) -> None:
    """Let an account in no more."""
    channel, person = account_of(account)
    tell(at_desk(path, lambda desk: desk.revoke(channel, person)), as_json=as_json)


def add_user(path: Path | None, name: str, account: str | None, *, as_json: bool) -> None:
    """Make a member, and give them their first account."""
    if not name.strip():
        raise CommandFailed("a user needs a name", USAGE)
    if account is None and _ACCOUNT.fullmatch(name.strip()):
        raise CommandFailed(
            f"{printable(name)} is an account; write users add NAME --account {printable(name)}", USAGE
        )
    where = None if account is None else account_of(account)

    async def add(desk: Desk) -> str:
        user = await desk.add_user(name.strip())
        if where is not None:
            try:
                await desk.link(user.id, *where)
            except DeskRefused as error:
                without = f"{printable(name)} is added as {user.id}, but without that account: {error}"
                raise DeskRefused(error.code, without) from error
        return user.id

    user_id = at_desk(path, add)
    if as_json:
        print_json({"id": user_id, "name": name.strip(), "account": account})
    else:
        typer.echo(printable(f"{user_id}: {name.strip()}, {account or 'without an account yet'}"))


def link(path: Path | None, user_id: str, account: str, *, as_json: bool) -> None:
    """Give an account to a user."""
    channel, person = account_of(account)
    tell(at_desk(path, lambda desk: desk.link(user_id, channel, person)), as_json=as_json)


_ACCOUNT = re.compile(r"[a-z][\w-]*:[\w-]+")
"""What nobody is called, but an account may be."""


def account_of(text: str) -> tuple[str, str]:
    """`telegram:12345` as channel and id. Raises CommandFailed if it is not of this form."""
    channel, colon, person = text.partition(":")
    if not colon or not channel.strip() or not person.strip():
        raise CommandFailed(
            f"{printable(text)} is no account; write channel:id, such as telegram:12345", USAGE
        )
    return channel.strip(), person.strip()
