"""The audit's records: written by the units they tell of, chained by a unit of their own."""

# ruff: noqa: S608 - column lists are constants of this module, values are always bound

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.audit_chain import AuditKind, ChainKey, detail_text, head_of
from core.errors import StoreUnavailable
from core.store.codec import storable
from core.store.sqlite.transaction import Row, Transaction
from core.transcript import ResultStatus, ToolResult

if TYPE_CHECKING:
    from core.store.audit_rows import AuditRow

AUDIT = "id, at, kind, actor, subject, thread_id, detail, key_id, seal, link"
REFUSAL_CHARS = 300
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
    """Write down what the transaction does. `detail`: plain JSON values, nothing that may be secret.

    The record names the inbound event the transaction accepts, if it does."""
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
    """Write down what a call came to; of a refusal the beginning of why."""
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
    """The keyed hash of what may be secret."""
    return _key(tx).hidden(text)


def _key(tx: Transaction) -> ChainKey:
    try:
        return tx.chain.newest()
    except (OSError, ValueError) as error:
        raise StoreUnavailable(f"nothing can be recorded in the audit: {error}") from error


def link(tx: Transaction, limit: int) -> tuple[str | None, bool]:
    """See Audit.link_audit."""
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


def _link_before(tx: Transaction, number: int) -> str:
    row = tx.one("SELECT link FROM audit WHERE id < ? AND link IS NOT NULL ORDER BY id DESC LIMIT 1", number)
    row = row or tx.one("SELECT link FROM audit_checkpoint WHERE id = 1")
    return "" if row is None else row[0]


def record_policy(tx: Transaction, detail: dict[str, Any]) -> bool:
    """See Audit.record_policy."""
    last = tx.one(
        "SELECT detail FROM audit WHERE subject = 'policy' AND kind = ? ORDER BY id DESC LIMIT 1",
        AuditKind.POLICY.value,
    )
    if last is not None and last[0] == detail_text(detail):
        return False
    record(tx, AuditKind.POLICY, "policy", **detail)
    return True


def prune(tx: Transaction, before: int, limit: int) -> int:
    """See Audit.prune_audit."""
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
        " ON CONFLICT (id) DO UPDATE SET last_id = excluded.last_id, link = excluded.link, at = excluded.at,"
        " key_id = excluded.key_id, seal = excluded.seal",
        last_id,
        last_link,
        tx.clock.now(),
        key.id,
        key.checkpoint(last_id, last_link),
    )
    # Written while its predecessors are still there, so that its number is the next one.
    record(tx, AuditKind.PRUNED, str(last_id), through=last_id, records=len(old))
    tx.run("DELETE FROM audit WHERE id <= ?", last_id)
    return len(old)


def about(tx: Transaction, subjects: Sequence[str]) -> "tuple[AuditRow, ...]":
    """See Audit.audit_of."""
    from core.store.audit_rows import AuditRow  # a turn writes records, it looks at none

    wanted = json.dumps(list(subjects))
    rows = tx.all(
        f"SELECT {AUDIT} FROM audit WHERE subject IN (SELECT value FROM json_each(?)) ORDER BY id", wanted
    )
    return tuple(AuditRow(*row) for row in rows)
