"""`hubbub audit export --message`: a message, what was decided and done for it, and its reply, verified."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from bot.cli.audit import line, noted_heads, page, require_sound, tell, verdict, verified_in
from bot.cli.ending import CommandFailed
from bot.cli.looking import existing_database
from bot.cli.printing import print_json, printable, when
from bot.config import load
from core.audit_chain import AuditKind
from core.store.audit_rows import AuditRow, InboundRow
from core.store.sqlite.audit_reading import AuditSnapshot, audit_in

GONE = "no longer kept"


def export(path: Path | None, key: str, *, as_json: bool) -> None:
    """Print the chain of one message. Ends with 1 if the audit is not as it was written."""
    loaded = load(path, secrets=False)
    noted = noted_heads(loaded)
    with audit_in(existing_database(loaded.database)) as snapshot:
        records, event = snapshot.naming(key), snapshot.event(key)
        if not records and event is None:
            raise CommandFailed(f"No event has the key {printable(key)}; `hubbub why` lists the newest ones.")
        replies = _replies(snapshot, records, event)
        verified = verified_in(snapshot, loaded, noted)
    if as_json:
        message = None if event is None else asdict(event)
        told = {"message": message, "records": [*map(page, records)], "replies": replies}
        print_json({**told, "verified": verdict(verified)})
    else:
        for text in _as_lines(key, event, records, replies):
            typer.echo(text)
        tell(verified)
    require_sound(verified)


def _replies(
    snapshot: AuditSnapshot, records: Sequence[AuditRow], event: InboundRow | None
) -> Sequence[Mapping[str, Any]]:
    """Return each row of the outbox with its state, and the record that names it (None: none does)."""
    named = {
        row_id: record.id
        for record in records
        if record.kind == AuditKind.ANSWERED
        for row_id in json.loads(record.detail)["outbox"]
    }
    found = sorted({*named, *(() if event is None else event.outbox)})
    states = snapshot.outbox_states(found)
    return [{"outbox": one, "state": states.get(one, GONE), "record": named.get(one)} for one in found]


def _as_lines(
    key: str, event: InboundRow | None, records: Sequence[AuditRow], replies: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    yield f"message {printable(key)}: {GONE if event is None else _told(event)}"
    for record in records:
        yield line(record) + ("" if record.link is not None else "  (not chained yet)")
    if not records:
        yield "No record: nothing was asked, decided or run for it."
    for reply in replies:
        named = "named by no record" if reply["record"] is None else f"named by record {reply['record']}"
        yield f"reply in outbox row {reply['outbox']}: {reply['state']}, {named}"


def _told(event: InboundRow) -> str:
    who = event.sender or "the hub"
    return printable(f"from {who} on {event.channel}, {when(event.received_at)}, {event.outcome}")
