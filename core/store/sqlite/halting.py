"""Whether tools may run at all, and how often a limited one was used lately."""

from collections.abc import Sequence

from core.audit_chain import AuditKind
from core.clock import SECOND_US
from core.store.sqlite.audit import record
from core.store.sqlite.transaction import Transaction
from core.tool import UseLimit


def halt_tools(tx: Transaction, by: str, *, halted: bool) -> bool:
    """See Store.halt_tools."""
    now = tx.clock.now()
    if halted:
        changed = tx.run(
            "INSERT INTO tool_halt (id, by, at) VALUES (1, ?, ?) ON CONFLICT DO NOTHING", by, now
        )
    else:
        changed = tx.run("DELETE FROM tool_halt")
    if changed:
        record(tx, AuditKind.PAUSED if halted else AuditKind.RESUMED, "tools", actor=by)
    return changed > 0


def tools_halted(tx: Transaction) -> bool:
    """See Store.tools_halted."""
    return tx.one("SELECT 1 FROM tool_halt") is not None


def use(tx: Transaction, user_id: str, tool: str, limits: Sequence[UseLimit]) -> UseLimit | None:
    """Count one use of a tool by a person; or the limit that it would exceed, and then it is not counted."""
    now = tx.clock.now()
    for limit in limits:
        row = tx.one(
            "SELECT count(*) FROM tool_uses WHERE user_id = ? AND tool = ? AND at > ?",
            user_id,
            tool,
            now - limit.window_s * SECOND_US,
        )
        if row is not None and row[0] >= limit.most:
            return limit
    over = now - max(limit.window_s for limit in limits) * SECOND_US
    tx.run("DELETE FROM tool_uses WHERE user_id = ? AND tool = ? AND at <= ?", user_id, tool, over)
    tx.run("INSERT INTO tool_uses (user_id, tool, at) VALUES (?, ?, ?)", user_id, tool, now)
    return None
