"""Output of commands: JSON for programs, tables and lines for people."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime

import typer

from channels.text.layout import display_width
from core.clock import SECOND_US

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
    widths = [max(map(display_width, column)) for column in zip(columns, *cells, strict=True)]
    for row in (columns, *cells):
        padded = (cell + " " * (width - display_width(cell)) for cell, width in zip(row, widths, strict=True))
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
    return datetime.fromtimestamp(at / SECOND_US, UTC).strftime("%Y-%m-%d %H:%M:%S")


def printable(text: str) -> str:
    """Return the text without characters that could steer the terminal. People choose their names, and
    providers their messages."""
    return "".join(character if character.isprintable() else NOT_SHOWN for character in text)


def printable_lines(text: str) -> str:
    """Return text of several lines without characters that could steer the terminal."""
    return "\n".join(printable(line.replace("\t", "    ")) for line in text.splitlines())
