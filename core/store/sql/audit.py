"""Audit records, written by the units they describe and chained by a separate unit."""

# ruff: noqa: S608 - column lists are constants of this module, values are always bound

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.audit_chain import RETIRED, AuditKind, ChainKey, detail_text, head_of
from core.errors import StoreUnavailable
from core.store.codecs import storable
from core.store.facets import SealedSecret
from core.store.rows import AuditRow, Checkpoint, InboundRow
from core.store.sql.mapping import SEALED, holds, marks, secret_of
from core.store.transaction import Row, Transaction
from core.store.units import Facet, reads, writes
from core.transcript import ResultStatus, ToolResult

if TYPE_CHECKING:
    from core.store.rows import AuditRow


AUDIT = "id, at, kind, actor, subject, thread_id, detail, key_id, seal, link"
REFUSAL_CHARS = 300
PAGE_ROWS = 1000
"""Records in memory at once while all are read."""
CHECKPOINT = "last_id, link, at, key_id, seal"


def record(
    tx: Transaction,
    kind: AuditKind,
    subject: str,
    *,
    actor: str | None = None,
    thread_id: str | None = None,
    **detail: Any,
) -> None:
    """Record an action of the transaction. `detail`: plain JSON values, nothing that may be secret.

    The record names the inbound event the transaction accepts, if any."""
    if tx.event is not None:
        detail["event"] = tx.event
    key, now = _key(tx), tx.clock.now()
    last = tx.one(
        "SELECT coalesce((SELECT max(id) FROM audit), (SELECT last_id FROM audit_checkpoint WHERE id = 1), 0)"
    )
    number = 1 + (last[0] if last is not None else 0)
    subject, said = storable(subject), detail_text(detail)
    tx.run(
        f"INSERT INTO audit ({AUDIT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
        number,
        now,
        kind.value,
        actor,
        subject,
        thread_id,
        said,
        key.id,
        key.seal(number, now, kind.value, actor, subject, thread_id, said),
    )
    tx.changes.audit = True


def record_end(
    tx: Transaction,
    result: ToolResult,
    *,
    actor: str | None,
    thread_id: str | None,
    tool: str,
    arguments: str,
    **detail: Any,
) -> None:
    """Record the end of a call; for a refusal, also the beginning of its reason."""
    if result.status is ResultStatus.DENIED:
        detail["said"] = result.text[:REFUSAL_CHARS]
    record(
        tx,
        AuditKind.ENDED,
        result.call_id,
        actor=actor,
        thread_id=thread_id,
        tool=tool,
        arguments=hidden(tx, arguments),
        status=result.status.value,
        **detail,
    )


def hidden(tx: Transaction, text: str) -> str:
    """Return the keyed hash of a text that may be secret."""
    return _key(tx).hidden(text)


def _key(tx: Transaction) -> ChainKey:
    try:
        return tx.chain.newest()
    except (OSError, ValueError) as error:
        raise StoreUnavailable(f"writing to the audit log failed: {error}") from error


def _link_before(tx: Transaction, number: int) -> str:
    row = tx.one("SELECT link FROM audit WHERE id < ? AND link IS NOT NULL ORDER BY id DESC LIMIT 1", number)
    row = row or tx.one("SELECT link FROM audit_checkpoint WHERE id = 1")
    return "" if row is None else row[0]


# The audit as it is in a database at one moment, for exporting and verifying.

MESSAGE_TRIGGER = "message:"
"""The prefix of the key of a run fired by a message (see core.routine.claim_key)."""
_OF_CALLS = "'asked', 'edited', 'vote', 'decided', 'started', 'ended', 'answered'"


class AuditSnapshot:
    """One consistent view of the audit, valid within its transaction."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def checkpoint(self) -> Checkpoint | None:
        """Return the start of the chain, if its older part was dropped."""
        row = self._tx.one(f"SELECT {CHECKPOINT} FROM audit_checkpoint")
        return None if row is None else Checkpoint(*row)

    def rows(self, after: int = 0) -> Iterator[AuditRow]:
        """Return the records after that number, in order."""
        while page := self._tx.all(
            f"SELECT {AUDIT} FROM audit WHERE id > ? ORDER BY id LIMIT ?", after, PAGE_ROWS
        ):
            yield from (AuditRow(*row) for row in page)
            after = page[-1][0]

    def of_turn(self, turn_id: str) -> tuple[AuditRow, ...]:
        """Return the records about a turn's calls and gates, in order."""
        rows = self._tx.all(
            f"SELECT {AUDIT} FROM audit WHERE subject IN (SELECT id FROM calls WHERE turn_id = ?1"
            " UNION ALL SELECT id FROM gates WHERE turn_id = ?1) ORDER BY id",
            turn_id,
        )
        return tuple(AuditRow(*row) for row in rows)

    def naming(self, key: str) -> tuple[AuditRow, ...]:
        """Return the records that name an inbound event or what fired a run, and those about the same calls,
        requests and answers, in order."""
        rows = self._tx.all(
            f"SELECT {AUDIT} FROM audit WHERE {holds('detail')} ORDER BY id", json.dumps(key)[1:-1]
        )
        found = {row[0]: AuditRow(*row) for row in rows if _names(json.loads(row[6]), key)}
        subjects = {row.subject for row in found.values()}
        related = self._tx.all(
            f"SELECT {AUDIT} FROM audit WHERE kind IN ({_OF_CALLS}) AND subject IN {marks(subjects)}",
            *subjects,
        )
        found.update((row[0], AuditRow(*row)) for row in related)
        return tuple(found[number] for number in sorted(found))

    def event(self, key: str) -> InboundRow | None:
        """Return the stored fields of an inbound event, with the messages sent by its turn."""
        row = self._tx.one(
            "SELECT id, key, channel, sender, received_at, outcome, thread_id, turn_id FROM inbox"
            " WHERE key = ?",
            key,
        )
        if row is None:
            return None
        sent = self._tx.all(
            "SELECT id FROM outbox WHERE (turn_id = ? OR event_id = ?) AND edit_of IS NULL"
            " AND gate_id IS NULL AND state NOT IN ('streaming', 'replaced') ORDER BY id",
            row[7],
            row[0],
        )
        return InboundRow(*row[1:], outbox=tuple(row[0] for row in sent))

    def outbox_states(self, row_ids: Sequence[int]) -> Mapping[int, str]:
        """Return the states of outbox rows. Rows that no longer exist are left out."""
        rows = self._tx.all(f"SELECT id, state FROM outbox WHERE id IN {marks(row_ids)}", *row_ids)
        return {row_id: state for row_id, state in rows}

    def arguments(self, record: AuditRow) -> str | None:
        """Return the arguments of the call a record is about, as stored in the conversation or run, if at
        all."""
        detail = json.loads(record.detail)
        call_id = detail["call"] if record.kind == "edited" else record.subject
        row = self._tx.one(
            "SELECT coalesce(c.edited, e.text) FROM calls c"
            " JOIN entries e ON e.thread_id = c.thread_id AND e.seq = c.seq WHERE c.id = ?",
            call_id,
        )
        return None if row is None else row[0]

    def retired_keys(self) -> tuple[SealedSecret, ...]:
        """Return the keys of older records, sealed by the vault."""
        rows = self._tx.all(
            f"SELECT {SEALED} FROM secrets WHERE substr(name, 1, ?) = ?", len(RETIRED), RETIRED
        )
        return tuple(secret_of(row) for row in rows)


def _names(detail: dict[str, Any], key: str) -> bool:
    """Return True if a record names the event, or a run's trigger, as its cause."""
    if key in detail.get("events", ()) or detail.get("event") == key:
        return True
    return detail.get("trigger") in {key, f"{MESSAGE_TRIGGER}{key}"}


class AuditUnits(Facet):
    """The units of Audit."""

    @writes
    def link_audit(self, tx: Transaction, limit: int) -> tuple[str | None, bool]:
        waiting = tx.all("SELECT id, seal FROM audit WHERE link IS NULL ORDER BY id LIMIT ?", limit)
        if waiting:
            key = _key(tx)
            before = _link_before(tx, waiting[0][0])
            for number, seal in waiting:
                before = key.link(before, seal)
                tx.run("UPDATE audit SET link = ? WHERE id = ?", before, number)
        newest = tx.one("SELECT id, link FROM audit WHERE link IS NOT NULL ORDER BY id DESC LIMIT 1")
        newest = newest or tx.one("SELECT last_id, link FROM audit_checkpoint WHERE id = 1")
        return None if newest is None else head_of(*newest), len(waiting) == limit

    @writes
    def record_policy(self, tx: Transaction, detail: dict[str, Any]) -> bool:
        last = tx.one(
            "SELECT detail FROM audit WHERE subject = 'policy' AND kind = ? ORDER BY id DESC LIMIT 1",
            AuditKind.POLICY.value,
        )
        if last is not None and last[0] == detail_text(detail):
            return False
        record(tx, AuditKind.POLICY, "policy", **detail)
        return True

    @writes
    def prune_audit(self, tx: Transaction, before: int, limit: int) -> int:
        rows = tx.all("SELECT id, at, link FROM audit ORDER BY id LIMIT ?", limit)
        old: list[Row] = []
        for row in rows:
            if row[1] >= before or row[2] is None:
                break
            old.append(row)
        if not old:
            return 0
        last_id, _, last_link = old[-1]
        key = _key(tx)
        tx.run(
            f"INSERT INTO audit_checkpoint (id, {CHECKPOINT}) VALUES (1, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET last_id = excluded.last_id, link = excluded.link, at ="
            " excluded.at,"
            " key_id = excluded.key_id, seal = excluded.seal",
            last_id,
            last_link,
            tx.clock.now(),
            key.id,
            key.checkpoint(last_id, last_link),
        )
        # Written while its predecessors still exist, so that its number is the next one.
        record(tx, AuditKind.PRUNED, str(last_id), through=last_id, records=len(old))
        tx.run("DELETE FROM audit WHERE id <= ?", last_id)
        return len(old)

    @reads
    def audit_of(self, tx: Transaction, subjects: Sequence[str]) -> "Sequence[AuditRow]":
        from core.store.rows import AuditRow  # a turn writes records but reads none

        rows = tx.all(f"SELECT {AUDIT} FROM audit WHERE subject IN {marks(subjects)} ORDER BY id", *subjects)
        return tuple(AuditRow(*row) for row in rows)
