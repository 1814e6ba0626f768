"""Commands that read the store, beside a running hub or without one."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Column, Table

from bot.cli.running import FAILED, OK, USAGE, load_or_complain
from core.clock import SECOND_US
from core.errors import StoreError
from core.store.rows import Explanation


def why(path: Path | None, key: str | None, limit: int, *, as_json: bool) -> int:
    """What became of one event, or of the newest ones."""
    loaded = load_or_complain(path)
    if loaded is None:
        return USAGE
    database = loaded.config.hub.data_dir / "hub.db"
    if not database.is_file():
        typer.echo(
            f"There is no database in {loaded.config.hub.data_dir} yet; start the hub first.", err=True
        )
        return FAILED
    try:
        found = asyncio.run(_explanations(database, key, limit))
    except StoreError as error:
        typer.echo(f"hubbub: {database}: {error}", err=True)
        return FAILED
    if key is not None and not found:
        typer.echo(f"No event has the key {key}.", err=True)
        return FAILED
    if as_json:
        typer.echo(json.dumps([asdict(explanation) for explanation in found], indent=2, ensure_ascii=False))
    elif found:
        Console(markup=False, emoji=False, highlight=False).print(_table(found))
    else:
        typer.echo("Nothing has come in yet.")
    return OK


async def _explanations(database: Path, key: str | None, limit: int) -> Sequence[Explanation]:
    from core.store.sqlite import SqliteReader

    async with SqliteReader(database) as reader:
        if key is None:
            return await reader.explain_recent(limit)
        explanation = await reader.explain(key)
        return [] if explanation is None else [explanation]


def _table(found: Sequence[Explanation]) -> Table:
    table = Table("when (UTC)", Column("event", no_wrap=True), "from", "outcome", "turn", "answer")
    for event in found:
        when = datetime.fromtimestamp(event.received_at / SECOND_US, UTC).strftime("%Y-%m-%d %H:%M:%S")
        turn = event.turn_state or ""
        if event.turn_error:
            turn = f"{turn}: {event.turn_error}"
        sent = ", ".join(
            f"{delivery.state}{f' ({delivery.reason})' if delivery.reason else ''}"
            for delivery in event.deliveries
        )
        row = (when, event.key, event.sender, event.outcome, turn, sent)
        table.add_row(*(_printable(cell) for cell in row))
    return table


def _printable(text: str) -> str:
    """People choose their names and providers their messages: neither may steer the terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
