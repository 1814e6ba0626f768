"""What commands print: JSON for programs, tables and lines for people."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from core.clock import SECOND_US

if TYPE_CHECKING:
    from rich.table import Column

NOT_SHOWN = "\ufffd"


def print_json(page: object) -> None:
    """A value, a view or a list of views, indented."""
    typer.echo(json.dumps(_plain(page), indent=2, ensure_ascii=False))


def _plain(page: object) -> object:
    if is_dataclass(page) and not isinstance(page, type):
        return asdict(page)
    if isinstance(page, list | tuple):
        return [_plain(entry) for entry in page]
    return page


def print_table(columns: "Sequence[str | Column]", rows: Iterable[Sequence[str]]) -> None:
    """A table as wide as the terminal; cells that do not fit are wrapped, never cut."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns)
    for row in rows:
        table.add_row(*(printable(cell) for cell in row))
    Console(markup=False, emoji=False, highlight=False).print(table)


def whole(title: str) -> "Column":
    """A column whose cells people copy: never wrapped."""
    from rich.table import Column

    return Column(title, no_wrap=True)


def when(at: int) -> str:
    """Microseconds UTC as people read them."""
    return datetime.fromtimestamp(at / SECOND_US, UTC).strftime("%Y-%m-%d %H:%M:%S")


def printable(text: str) -> str:
    """People choose their names and providers their messages: neither may steer the terminal."""
    return "".join(character if character.isprintable() else NOT_SHOWN for character in text)


def printable_lines(text: str) -> str:
    """The same for text of several lines: only line ends are kept."""
    return "\n".join(printable(line.replace("\t", "    ")) for line in text.splitlines())
