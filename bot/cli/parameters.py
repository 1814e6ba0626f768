"""Options and arguments that several commands take, and how all of them end."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from core.lazy import LazyModule

if TYPE_CHECKING:
    from bot.cli import exit_codes
    from bot.config import load, place
else:
    exit_codes = LazyModule("bot.cli.exit_codes")
    load, place = LazyModule("bot.config.load"), LazyModule("bot.config.place")

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The configuration file; default: $HUBBUB_CONFIG, or ./hubbub.toml if it exists.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
CodeArgument = Annotated[str, typer.Argument(metavar="CODE", help="The pairing code.")]
AccountArgument = Annotated[
    str, typer.Argument(metavar="ACCOUNT", help="A channel and an account ID on it, such as telegram:12345.")
]
LimitOption = Annotated[
    int, typer.Option(metavar="N", min=1, max=1000, help="Maximum number of entries; older ones are omitted.")
]
UserOption = Annotated[
    str | None, typer.Option("--user", metavar="USER", help="The user's ID; see `users list`.")
]


def finish(command: Callable[[], None]) -> NoReturn:
    """Run a command, and end the process with its exit code."""
    raise typer.Exit(exit_codes.ended(command))


def data_dir_of(path: Path | None) -> Path:
    """Return the hub's data directory, by no more of the configuration than it takes. Raises ConfigError."""
    found = place.data_dir_in(path)
    return load.load(path, secrets=False).config.hub.data_dir if found is None else found


def database_of(path: Path | None) -> Path:
    """Return the path of the database. Raises ConfigError, or CommandFailed if there is none."""
    return existing_database(data_dir_of(path) / place.DATABASE_NAME)


def existing_database(database: Path) -> Path:
    """Return the path if the database exists. Raises CommandFailed."""
    if not database.is_file():
        raise exit_codes.CommandFailed(f"There is no database in {database.parent} yet; start the hub first.")
    return database
