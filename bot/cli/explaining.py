"""`hubbub why`: what became of every message, one by one or, of noise, counted."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bot.cli.ending import CommandFailed
from bot.cli.looking import asked, existing_database
from bot.cli.printing import print_json, print_table, when, whole
from bot.config import database_of
from core.store.audit_rows import AuditRow
from core.store.pairing import NoiseRow
from core.store.rows import Explanation
from core.store.sqlite.audit_reading import audit_in

if TYPE_CHECKING:
    from core.store.sqlite.queries import SqliteReader


@dataclass(frozen=True, slots=True)
class Told:
    """Events, newest first, and what was counted instead of kept, the latest first; `records`: of the audit,
    about what the one event asked for led to."""

    events: Sequence[Explanation]
    noise: Sequence[NoiseRow] = ()
    records: Sequence[AuditRow] = ()


def why(path: Path | None, key: str | None, limit: int, *, as_json: bool) -> None:
    """What became of one event; or of the newest ones, and of what was only counted.

    JSON: an object of `events`, `noise` and `audit`, in both cases.
    """
    if key is not None and not key.strip():
        raise CommandFailed(
            "Give an event's key, such as tg:12345:m:7:8; `hubbub why` lists the newest ones."
        )
    told = asked(path, lambda reader: _told(reader, key, limit))
    if key is not None:
        told = replace(told, records=_recorded(path, told.events))
    if key is not None and not told.events:
        raise CommandFailed(f"No event has the key {key}; `hubbub why` lists the newest ones.")
    if as_json:
        page = {"events": [asdict(one) for one in told.events], "noise": [asdict(n) for n in told.noise]}
        print_json({**page, "audit": [_reference(row) for row in told.records]})
        return
    if not told.events and not told.noise:
        typer.echo("Nothing has come in yet.")
    if told.events:
        columns = ("when (UTC)", whole("event"), "from", "outcome", "turn", "answer")
        print_table(columns, map(_explained, told.events))
    if told.records:
        typer.echo("In the audit (`hubbub audit export` has all of it):")
        print_table(("record", "when (UTC)", "what", "who", whole("about")), map(_record, told.records))
    if told.noise:
        typer.echo("Only counted:")
        columns = ("last (UTC)", whole("chat"), whole("from"), "reason", "count")
        print_table(columns, map(_counted, told.noise))


async def _told(reader: "SqliteReader", key: str | None, limit: int) -> Told:
    if key is None:
        return Told(await reader.explanations.recent(limit), await reader.noise(limit))
    explanation = await reader.explanations.of(key)
    return Told([] if explanation is None else [explanation])


def _recorded(path: Path | None, events: Sequence[Explanation]) -> Sequence[AuditRow]:
    with audit_in(existing_database(database_of(path))) as snapshot:
        turns = dict.fromkeys(event.turn_id for event in events if event.turn_id is not None)
        return [row for turn_id in turns for row in snapshot.of_turn(turn_id)]


def _reference(row: AuditRow) -> dict[str, Any]:
    return {"record": row.id, "at": row.at, "kind": row.kind, "actor": row.actor, "subject": row.subject}


def _record(row: AuditRow) -> Sequence[str]:
    detail = json.loads(row.detail)
    said = " ".join(str(detail[name]) for name in ("tool", "status", "outcome", "answer") if detail.get(name))
    return str(row.id), when(row.at), row.kind, row.actor or "the hub", f"{row.subject} {said}".rstrip()


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
