"""Audit records, written by the units they describe and chained by a separate unit."""

# ruff: noqa: S608 - column lists are constants of this module, values are always bound

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from core.audit_chain import RETIRED, AuditKind, ChainKey, detail_text, head_of, numbers_dropped
from core.errors import StoreUnavailable
from core.lazy import dataclass
from core.store.codecs import storable
from core.store.facets import SealedSecret
from core.store.rows import AuditRow, Checkpoint, InboundRow, WriterCount
from core.store.sql.mapping import SEALED, holds, marks, secret_of
from core.store.units import Facet, Row, Transaction, reads, writes
from core.transcript import ResultStatus, ToolResult

AUDIT = "position, writer, number, at, kind, actor, subject, thread_id, detail, key_id, seal, link"
IN_ORDER = "ORDER BY position IS NULL, position, writer, number"
"""As they are chained; after them the records that are not chained yet."""
REFUSAL_CHARS = 300
PAGE_ROWS = 1000
"""Records in memory at once while all are read."""
LAST_POSITION = 2**62
_SEARCHED = ("lower(kind)", "lower(subject)", "lower(coalesce(thread_id, ''))", "lower(detail)")
CHECKPOINT = "last_id, link, at, key_id, seal, numbers"


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
    key, now, writer = _key(tx), tx.clock.now(), tx.lease.fence
    number, subject, said = _next_number(tx, key, writer), storable(subject), detail_text(detail)
    tx.run(
        f"INSERT INTO audit ({AUDIT}) VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
        writer,
        number,
        now,
        kind.value,
        actor,
        subject,
        thread_id,
        said,
        key.id,
        key.seal(writer, number, now, kind.value, actor, subject, thread_id, said),
    )
    tx.changes.audit = True


def _next_number(tx: Transaction, key: ChainKey, writer: int) -> int:
    """Count one more record of the writer. The count outlives records, so no number is given twice, and its
    seal tells of a last record that is gone."""
    row = tx.one("SELECT number FROM audit_writers WHERE writer = ?", writer)
    number = 1 if row is None else row[0] + 1
    tx.run(
        "INSERT INTO audit_writers (writer, number, key_id, seal) VALUES (?, ?, ?, ?) ON CONFLICT (writer)"
        " DO UPDATE SET number = excluded.number, key_id = excluded.key_id, seal = excluded.seal",
        writer,
        number,
        key.id,
        key.count(writer, number),
    )
    return number


def seal_counts(tx: Transaction) -> None:
    """Seal what an upgrade counted; it has no key."""
    for writer, number in tx.all("SELECT writer, number FROM audit_writers WHERE key_id = ''"):
        key = _key(tx)
        tx.run(
            "UPDATE audit_writers SET key_id = ?, seal = ? WHERE writer = ?",
            key.id,
            key.count(writer, number),
            writer,
        )


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


@dataclass(frozen=True, slots=True)
class Audited:
    """The person and thread that the audit names for a run's calls. `thread_id`: the thread whose grants
    hold for it."""

    principal_id: str | None
    thread_id: str | None
    detail: Mapping[str, Any]


def audited(tx: Transaction, run_id: str) -> Audited:
    """Return what the audit says of each call of a run."""
    row = tx.one(
        "SELECT kind, principal_id, thread_id, consent_thread, events FROM runs WHERE id = ?", run_id
    )
    if row is None:
        return Audited(None, None, {"events": []})
    kind, principal_id, thread_id, consent_thread, events = row
    if kind == "subtask":
        (parent,) = tx.one("SELECT turn_id FROM calls WHERE id = ?", run_id) or ("",)
        whose = audited(tx, parent)
        return replace(whose, detail={**whose.detail, "subtask": run_id})
    if kind == "chat":
        return Audited(principal_id, thread_id, {"events": json.loads(events)})
    (trigger,) = json.loads(events)
    return Audited(principal_id, consent_thread, {"run": run_id, "trigger": trigger})


def events_of(tx: Transaction, turn_id: str) -> list[str]:
    """Return the keys of the messages a turn answers."""
    row = tx.one("SELECT events FROM runs WHERE id = ?", turn_id)
    return [] if row is None else json.loads(row[0])


def hidden(tx: Transaction, text: str) -> str:
    """Return the keyed hash of a text that may be secret."""
    return _key(tx).hidden(text)


def _key(tx: Transaction) -> ChainKey:
    try:
        return tx.chain.newest()
    except (OSError, ValueError) as error:
        raise StoreUnavailable(f"writing to the audit log failed: {error}") from error


def _end(tx: Transaction) -> tuple[int, str]:
    """Return the position and the link of the chain's newest record; 0 and "" before the first."""
    row = tx.one("SELECT position, link FROM audit WHERE position IS NOT NULL ORDER BY position DESC LIMIT 1")
    row = row or tx.one("SELECT last_id, link FROM audit_checkpoint WHERE id = 1")
    return (0, "") if row is None else (row[0], row[1])


def _links(tx: Transaction) -> bool:
    """Return whether this hub is the one that chains and drops records: of those with a lease in force, the
    one that has had its lease longest."""
    lowest = tx.one("SELECT min(fence) FROM leases WHERE lease_until >= ?", tx.clock.now())
    return lowest is None or lowest[0] in {None, tx.lease.fence}


def _dropped(tx: Transaction) -> dict[int, int]:
    """Return the last number of each writer that was dropped."""
    row = tx.one("SELECT last_id, numbers FROM audit_checkpoint WHERE id = 1")
    return {} if row is None else numbers_dropped(*row)


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

    def counts(self) -> tuple[WriterCount, ...]:
        """Return how many records each writer has written."""
        rows = self._tx.all("SELECT writer, number, key_id, seal FROM audit_writers ORDER BY writer")
        return tuple(WriterCount(*row) for row in rows)

    def rows(self, after: int = 0) -> Iterator[AuditRow]:
        """Return the chained records after that position, in order; then the ones not chained yet."""
        chained = f"SELECT {AUDIT} FROM audit WHERE position > ? ORDER BY position LIMIT ?"
        while page := self._tx.all(chained, after, PAGE_ROWS):
            yield from map(_row, page)
            after = page[-1][0]
        waiting = (
            f"SELECT {AUDIT} FROM audit WHERE link IS NULL AND (writer, number) > (?, ?)"
            " ORDER BY writer, number LIMIT ?"
        )
        last: tuple[int, int] = (-1, 0)
        while page := self._tx.all(waiting, *last, PAGE_ROWS):
            yield from map(_row, page)
            last = page[-1][1], page[-1][2]

    def search(
        self, text: str, kind: AuditKind | None, actors: Sequence[str], before: int | None, limit: int
    ) -> tuple[AuditRow, ...]:
        """Return records, the newest first, that have the text in a field or are by one of the actors; large
        and small letters are the same. First those not chained yet, unless `before` is a position."""
        conditions, values = [""], list[str]()
        if text:
            columns = [*map(holds, _SEARCHED), f"actor IN {marks(actors)}"]
            conditions.append(f"({' OR '.join(columns)})")
            in_json = json.dumps(text)[1:-1]  # as it is written in the last one
            values += [*[text.lower()] * (len(_SEARCHED) - 1), in_json.lower(), *actors]
        if kind is not None:
            conditions.append("kind = ?")
            values.append(kind.value)
        matching = " AND ".join(conditions)
        waiting: Sequence[Row] = ()
        if before is None:
            waiting = self._tx.all(
                f"SELECT {AUDIT} FROM audit WHERE link IS NULL{matching}"
                " ORDER BY writer DESC, number DESC LIMIT ?",
                *values,
                PAGE_ROWS,
            )
        chained = self._tx.all(
            f"SELECT {AUDIT} FROM audit WHERE position < ?{matching} ORDER BY position DESC LIMIT ?",
            LAST_POSITION if before is None else before,
            *values,
            limit,
        )
        return tuple(map(_row, (*waiting, *chained)))

    def of_turn(self, turn_id: str) -> tuple[AuditRow, ...]:
        """Return the records about a turn's calls and gates, in order."""
        rows = self._tx.all(
            f"SELECT {AUDIT} FROM audit WHERE subject IN (SELECT id FROM calls WHERE turn_id = ?1"
            f" UNION ALL SELECT id FROM gates WHERE turn_id = ?1) {IN_ORDER}",
            turn_id,
        )
        return tuple(map(_row, rows))

    def naming(self, key: str) -> tuple[AuditRow, ...]:
        """Return the records that name an inbound event or what fired a run, and those about the same calls,
        requests and answers, in order."""
        rows = self._tx.all(f"SELECT {AUDIT} FROM audit WHERE {holds('detail')}", json.dumps(key)[1:-1])
        naming = [row for row in map(_row, rows) if _names(json.loads(row.detail), key)]
        subjects = {row.subject for row in naming}
        related = self._tx.all(
            f"SELECT {AUDIT} FROM audit WHERE kind IN ({_OF_CALLS}) AND subject IN {marks(subjects)}",
            *subjects,
        )
        found = {(row.writer, row.number): row for row in (*naming, *map(_row, related))}
        return tuple(sorted(found.values(), key=_place))

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


def _row(row: Row) -> AuditRow:
    return AuditRow(*row)


def _place(row: AuditRow) -> tuple[bool, int, int, int]:
    """Return what IN_ORDER sorts by."""
    return row.position is None, row.position or 0, row.writer, row.number


def _names(detail: dict[str, Any], key: str) -> bool:
    """Return True if a record names the event, or a run's trigger, as its cause."""
    if key in detail.get("events", ()) or detail.get("event") == key:
        return True
    return detail.get("trigger") in {key, f"{MESSAGE_TRIGGER}{key}"}


class AuditUnits(Facet):
    """The units of Audit."""

    @writes
    def link_audit(self, tx: Transaction, limit: int) -> tuple[str | None, bool]:
        position, link = _end(tx)
        waiting = (
            tx.all(
                "SELECT writer, number, seal FROM audit WHERE link IS NULL ORDER BY"
                # By time; where a writer's clock was set back, its own order still holds.
                " max(at) OVER (PARTITION BY writer ORDER BY number), writer, number LIMIT ?",
                limit,
            )
            if _links(tx)
            else ()
        )
        key = _key(tx) if waiting else None
        for writer, number, seal in waiting:
            assert key is not None  # noqa: S101 - there is one for what waits
            position, link = position + 1, key.link(link, seal)
            tx.run(
                "UPDATE audit SET position = ?, link = ? WHERE writer = ? AND number = ?",
                position,
                link,
                writer,
                number,
            )
        return head_of(position, link) if position else None, len(waiting) == limit

    @writes
    def record_policy(self, tx: Transaction, detail: dict[str, Any]) -> bool:
        last = tx.one(
            "SELECT detail FROM audit WHERE subject = 'policy' AND kind = ?"
            " ORDER BY CASE WHEN writer = ? THEN 0 ELSE 1 END, writer DESC, number DESC LIMIT 1",
            AuditKind.POLICY.value,
            tx.lease.fence,
        )
        if last is not None and last[0] == detail_text(detail):
            return False
        record(tx, AuditKind.POLICY, "policy", **detail)
        return True

    @writes
    def note_download(self, tx: Transaction, what: str, by: str) -> None:
        record(tx, AuditKind.DOWNLOADED, what, actor=by)

    @writes
    def prune_audit(self, tx: Transaction, before: int, limit: int) -> int:
        if not _links(tx):
            return 0
        old: list[Row] = []
        for row in tx.all(
            "SELECT position, at, link, writer, number FROM audit WHERE position IS NOT NULL"
            " ORDER BY position LIMIT ?",
            limit,
        ):
            if row[1] >= before:
                break
            old.append(row)
        if not old:
            return 0
        last_id, _, last_link, _, _ = old[-1]
        dropped = _dropped(tx) | {row[3]: row[4] for row in old}
        tx.run("DELETE FROM audit WHERE position <= ?", last_id)
        for (writer,) in tx.all(
            "DELETE FROM audit_writers WHERE writer > 0 AND writer NOT IN (SELECT fence FROM leases)"
            " AND NOT EXISTS (SELECT 1 FROM audit a WHERE a.writer = audit_writers.writer) RETURNING writer"
        ):
            dropped.pop(writer, None)
        _note_checkpoint(tx, last_id, last_link, json.dumps(dropped))
        record(tx, AuditKind.PRUNED, str(last_id), through=last_id, records=len(old))
        return len(old)

    @reads
    def audit_of(self, tx: Transaction, subjects: Sequence[str]) -> Sequence[AuditRow]:
        rows = tx.all(f"SELECT {AUDIT} FROM audit WHERE subject IN {marks(subjects)} {IN_ORDER}", *subjects)
        return tuple(map(_row, rows))


def _note_checkpoint(tx: Transaction, last_id: int, link: str, numbers: str) -> None:
    key = _key(tx)
    tx.run(
        f"INSERT INTO audit_checkpoint (id, {CHECKPOINT}) VALUES (1, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET last_id = excluded.last_id, link = excluded.link,"
        " at = excluded.at, key_id = excluded.key_id, seal = excluded.seal, numbers = excluded.numbers",
        last_id,
        link,
        tx.clock.now(),
        key.id,
        key.checkpoint(last_id, link, numbers),
        numbers,
    )
