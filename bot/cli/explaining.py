"""`hubbub why`: what became of every message, one by one or, of noise, counted."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bot.cli.ending import CommandFailed
from bot.cli.looking import asked
from bot.cli.printing import print_json, print_table, when, whole
from core.store.pairing import NoiseRow
from core.store.rows import Explanation

if TYPE_CHECKING:
    from core.store.sqlite import SqliteReader


@dataclass(frozen=True, slots=True)
class Told:
    """Events, newest first, and what was counted instead of kept, the latest first."""

    events: Sequence[Explanation]
    noise: Sequence[NoiseRow] = ()


def why(path: Path | None, key: str | None, limit: int, *, as_json: bool) -> None:
    """What became of one event; or of the newest ones, and of what was only counted.

    JSON: an object of `events` and `noise`, in both cases.
    """
    told = asked(path, lambda reader: _told(reader, key, limit))
    if key is not None and not told.events:
        raise CommandFailed(f"No event has the key {key}.")
    if as_json:
        print_json({"events": [asdict(one) for one in told.events], "noise": [asdict(n) for n in told.noise]})
        return
    if not told.events and not told.noise:
        typer.echo("Nothing has come in yet.")
    if told.events:
        columns = ("when (UTC)", whole("event"), "from", "outcome", "turn", "answer")
        print_table(columns, map(_explained, told.events))
    if told.noise:
        typer.echo("Only counted:")
        columns = ("last (UTC)", whole("chat"), whole("from"), "reason", "count")
        print_table(columns, map(_counted, told.noise))


async def _told(reader: "SqliteReader", key: str | None, limit: int) -> Told:
    if key is None:
        return Told(await reader.explain_recent(limit), await reader.noise(limit))
    explanation = await reader.explain(key)
    return Told([] if explanation is None else [explanation])


def _explained(event: Explanation) -> Sequence[str]:
    turn = event.turn_state or ""
    if event.turn_error:
        turn = f"{turn}: {event.turn_error}"
    sent = ", ".join(
        f"{delivery.state}{f' ({delivery.reason})' if delivery.reason else ''}"
        for delivery in event.deliveries
    )
    return when(event.received_at), event.key, event.sender, event.outcome, turn, sent


def _counted(row: NoiseRow) -> Sequence[str]:
    chat = f"{row.channel} {row.address}"
    return when(row.last_at), chat, row.platform_user_id, row.reason, str(row.seen)
