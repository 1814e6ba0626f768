"""The kill switch for all tools, and limits on recent tool use and daily model calls."""

from collections.abc import Sequence

from core.audit_chain import AuditKind
from core.clock import SECOND_US
from core.store.sql.audit import record
from core.store.transaction import Transaction
from core.store.units import Facet, writes
from core.store.wakes import ToolsPaused
from core.tool import TOOLS_PAUSED, UseLimit


def pause_tools(tx: Transaction, by: str, *, paused: bool) -> bool:
    now = tx.clock.now()
    if paused:
        changed = tx.run(
            "INSERT INTO tool_pause (id, by, at) VALUES (1, ?, ?) ON CONFLICT DO NOTHING", by, now
        )
    else:
        changed = tx.run("DELETE FROM tool_pause")
    tx.changes.wakes.append(ToolsPaused(paused))
    if changed:
        tx.changes.tools = True
        record(tx, AuditKind.PAUSED if paused else AuditKind.RESUMED, "tools", actor=by)
    return changed > 0


def tools_paused(tx: Transaction) -> bool:
    return tx.one("SELECT 1 FROM tool_pause WHERE id = 1") is not None


def refusal_while_paused(tx: Transaction) -> str | None:
    """Return why no call may be marked running now, or None if calls may run."""
    return TOOLS_PAUSED if tools_paused(tx) else None


def use(tx: Transaction, user_id: str, tool: str, limits: Sequence[UseLimit]) -> UseLimit | None:
    """Count one use of a tool by a person. If it would exceed a limit, return that limit and count
    nothing."""
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


def count_model_call(tx: Transaction, user_id: str, day: str, most: int) -> bool:
    counted = tx.run(
        "INSERT INTO model_calls (user_id, day, calls) SELECT ?1, ?2, 1 WHERE ?3 > 0"
        " ON CONFLICT (user_id) DO UPDATE SET"
        " calls = CASE model_calls.day WHEN ?2 THEN model_calls.calls + 1 ELSE 1 END,"
        " day = ?2 WHERE model_calls.day <> ?2 OR model_calls.calls < ?3",
        user_id,
        day,
        most,
    )
    return counted > 0


class KillSwitchUnits(Facet):
    """The units of KillSwitch."""

    @writes
    def pause_tools(self, tx: Transaction, by: str, *, paused: bool) -> bool:
        return pause_tools(tx, by, paused=paused)

    async def tools_paused(self) -> bool:
        return bool(await self._engine.ask("SELECT 1 FROM tool_pause"))
