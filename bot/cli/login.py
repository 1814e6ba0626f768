"""`hubbub login`."""

import asyncio
from pathlib import Path

import typer

from bot.api_access import read_access
from bot.cli.ending import CommandFailed
from bot.cli.printing import print_json, printable
from bot.cli.remote import RemoteDesk
from bot.config import load
from bot.errors import DeskRefused


def login(path: Path | None, *, as_json: bool) -> None:
    """Print a link that the running hub made for this."""
    access = read_access(load(path, secrets=False).config.hub.data_dir)
    if access is None:
        raise CommandFailed("no hub runs here; start one: hubbub run (it prints a link as well)")
    try:
        url = asyncio.run(RemoteDesk(access).login_link())
    except DeskRefused as refused:
        raise CommandFailed(printable(str(refused))) from refused
    if as_json:
        print_json({"url": url})
    else:
        typer.echo(printable(url))
