"""What commands have in common: options and arguments, output as JSON, tables and lines, and how they end."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from core.lazy import LazyModule

if TYPE_CHECKING:
    from bot import runtime
    from bot.config import load, place
    from channels.text import layout
    from core import clock
else:
    clock = LazyModule("core.clock")
    layout = LazyModule("channels.text.layout")
    runtime = LazyModule("bot.runtime")
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
    raise typer.Exit(runtime.ended(command))


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
        raise runtime.CommandFailed(f"There is no database in {database.parent} yet; start the hub first.")
    return database


# Output: JSON for programs, tables and lines for people.

NOT_SHOWN = "\ufffd"


def print_json(page: object) -> None:
    """Print a value, a view or a list of views as indented JSON."""
    typer.echo(json.dumps(_plain(page), indent=2, ensure_ascii=False))


def _plain(page: object) -> object:
    if is_dataclass(page) and not isinstance(page, type):
        return asdict(page)
    if isinstance(page, list | tuple):
        return [_plain(entry) for entry in page]
    return page


class Whole(str):
    """The title of a column whose cells people copy: never wrapped."""

    __slots__ = ()


def whole(title: str) -> Whole:
    return Whole(title)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table. A terminal gets one as wide as itself, with long cells wrapped, never cut;
    elsewhere each row is one line, with aligned columns."""
    cells = [[printable(" ".join(cell.splitlines())) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _draw(columns, cells)
        return
    widths = [max(map(layout.display_width, column)) for column in zip(columns, *cells, strict=True)]
    for row in (columns, *cells):
        padded = (
            cell + " " * (width - layout.display_width(cell)) for cell, width in zip(row, widths, strict=True)
        )
        typer.echo("  ".join(padded).rstrip())


def _draw(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(*(Column(title, no_wrap=isinstance(title, Whole)) for title in columns))
    for row in rows:
        table.add_row(*row)
    Console(markup=False, emoji=False, highlight=False).print(table)


def when(at: int) -> str:
    """Return a time in microseconds UTC as text for people."""
    return datetime.fromtimestamp(at / clock.SECOND_US, UTC).strftime("%Y-%m-%d %H:%M:%S")


def printable(text: str) -> str:
    """Return the text without characters that could steer the terminal. People choose their names, and
    providers their messages."""
    return "".join(character if character.isprintable() else NOT_SHOWN for character in text)


def printable_lines(text: str) -> str:
    """Return text of several lines without characters that could steer the terminal."""
    return "\n".join(printable(line.replace("\t", "    ")) for line in text.splitlines())
