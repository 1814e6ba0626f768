"""The group `db`, parsed; see bot.cli.commands."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.parameters import ConfigOption, JsonOption

db_commands = typer.Typer(help="Look after the database.", no_args_is_help=True)


@db_commands.command("check")
def db_check(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Read all of it and say whether it is sound. Works beside a running hub or without one."""
    from bot.cli import database
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: database.check(config, as_json=as_json)))


@db_commands.command("backup")
def db_backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, or a directory to put one in.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy it as it is at one moment. Works beside a running hub or without one."""
    from bot.cli import database
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: database.backup(config, target, as_json=as_json)))


@db_commands.command("restore")
def db_restore(
    backup: Annotated[Path, typer.Argument(metavar="FILE", help="What `db backup` made.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a copy in its place, while no hub runs. What was there is kept, under another name; tools are
    paused."""
    from bot.cli import database
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: database.restore(config, backup, as_json=as_json)))


@db_commands.command("upgrade")
def db_upgrade(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Bring it up to date, after making a copy. The next start of the hub would do so as well."""
    from bot.cli import database
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: database.upgrade(config, as_json=as_json)))
