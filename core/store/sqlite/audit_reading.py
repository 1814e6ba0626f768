"""The audit as it lies in a database at one moment, for whoever exports or verifies it."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import contextlib
import json
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.audit_chain import RETIRED
from core.errors import StoreUnavailable
from core.store.audit_rows import AuditRow, Checkpoint, InboundRow
from core.store.kept import SealedSecret
from core.store.sqlite.audit import AUDIT, CHECKPOINT
from core.store.sqlite.connection import connect_reader
from core.store.sqlite.mapping import SEALED, secret_of
from core.store.sqlite.migrations import require_current, schema_version

MESSAGE_TRIGGER = "message:"
"""How the key of a run begins that a message fired (see core.routine_run.claim_key)."""
_OF_CALLS = "'asked', 'edited', 'vote', 'decided', 'started', 'ended', 'answered'"


class AuditSnapshot:
    """One consistent view, good as long as `audit_in` holds it open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def checkpoint(self) -> Checkpoint | None:
        """Where the chain begins, if its older part was dropped."""
        row = self._connection.execute(f"SELECT {CHECKPOINT} FROM audit_checkpoint").fetchone()
        return None if row is None else Checkpoint(*row)

    def rows(self, after: int = 0) -> Iterator[AuditRow]:
        """The records behind that number, in order."""
        for row in self._connection.execute(f"SELECT {AUDIT} FROM audit WHERE id > ? ORDER BY id", (after,)):
            yield AuditRow(*row)

    def of_turn(self, turn_id: str) -> tuple[AuditRow, ...]:
        """The records about what a turn called and asked, in order."""
        rows = self._connection.execute(
            f"SELECT {AUDIT} FROM audit WHERE subject IN (SELECT id FROM calls WHERE turn_id = ?1"
            " UNION ALL SELECT id FROM prompts WHERE turn_id = ?1) ORDER BY id",
            (turn_id,),
        )
        return tuple(AuditRow(*row) for row in rows)

    def naming(self, key: str) -> tuple[AuditRow, ...]:
        """Return the records that name an inbound event or what fired a run, and those about the same calls,
        requests and answers, in order."""
        rows = self._connection.execute(
            f"SELECT {AUDIT} FROM audit WHERE instr(detail, ?) > 0 ORDER BY id", (json.dumps(key)[1:-1],)
        )
        found = {row[0]: AuditRow(*row) for row in rows if _names(json.loads(row[6]), key)}
        subjects = json.dumps([row.subject for row in found.values()])
        related = self._connection.execute(
            f"SELECT {AUDIT} FROM audit WHERE kind IN ({_OF_CALLS})"
            " AND subject IN (SELECT value FROM json_each(?))",
            (subjects,),
        )
        found.update((row[0], AuditRow(*row)) for row in related)
        return tuple(found[number] for number in sorted(found))

    def event(self, key: str) -> InboundRow | None:
        """Return what is kept of an inbound event and of what the turn it is part of has sent."""
        row = self._connection.execute(
            "SELECT id, key, channel, sender, received_at, outcome, thread_id, turn_id FROM inbox"
            " WHERE key = ?",
            (key,),
        ).fetchone()
        if row is None:
            return None
        sent = self._connection.execute(
            "SELECT id FROM outbox WHERE (turn_id = ? OR event_id = ?) AND edit_of IS NULL"
            " AND prompt_id IS NULL AND state NOT IN ('streaming', 'replaced') ORDER BY id",
            (row[7], row[0]),
        )
        return InboundRow(*row[1:], outbox=tuple(row[0] for row in sent))

    def outbox_states(self, row_ids: Sequence[int]) -> Mapping[int, str]:
        """Return what became of rows of the outbox; those that are no longer kept are left out."""
        rows = self._connection.execute(
            "SELECT id, state FROM outbox WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(row_ids)),),
        )
        return dict(rows.fetchall())

    def arguments(self, record: AuditRow) -> str | None:
        """The arguments of the call a record is about, as they lie in the conversation or run, if at all."""
        detail = json.loads(record.detail)
        call_id = detail["call"] if record.kind == "edited" else record.subject
        row = self._connection.execute(
            "SELECT coalesce(c.edited, e.text) FROM calls c"
            " JOIN entries e ON e.thread_id = c.thread_id AND e.seq = c.seq WHERE c.id = ?1"
            " UNION ALL SELECT text FROM run_steps WHERE call_id = ?1 AND kind = 'call' LIMIT 1",
            (call_id,),
        ).fetchone()
        return None if row is None else row[0]

    def retired_keys(self) -> tuple[SealedSecret, ...]:
        """Keys of older records, sealed by the vault."""
        rows = self._connection.execute(
            f"SELECT {SEALED} FROM secrets WHERE substr(name, 1, ?) = ?", (len(RETIRED), RETIRED)
        ).fetchall()
        return tuple(secret_of(row) for row in rows)


def _names(detail: dict[str, Any], key: str) -> bool:
    """Return whether a record names the event, or the trigger of a run, as what it follows from."""
    if key in detail.get("events", ()) or detail.get("event") == key:
        return True
    return detail.get("trigger") in {key, f"{MESSAGE_TRIGGER}{key}"}


@contextlib.contextmanager
def audit_in(path: Path) -> Generator[AuditSnapshot]:
    """The audit of a database, beside a running hub or without one. Raises StoreUnavailable, SchemaTooNew."""
    try:
        with contextlib.closing(connect_reader(path)) as connection:
            connection.execute("BEGIN")
            require_current(schema_version(connection))
            yield AuditSnapshot(connection)
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{path} cannot be read: {error}") from error
