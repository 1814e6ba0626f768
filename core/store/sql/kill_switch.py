"""What keeps tools from running: the kill switch for all of them, limits on recent use, and failures in
unattended runs. There, a tool that has failed often enough is left out until its reset; only a success or the
reset ends its series of failures. Also the limit on daily model calls."""

from collections.abc import Sequence

from core.audit_chain import AuditKind
from core.clock import SECOND_US
from core.store.codecs import storable
from core.store.facets import FailingTool
from core.store.sql.audit import record
from core.store.transaction import Transaction
from core.store.units import Facet, reads, writes
from core.tool import FAILURES_UNTIL_LEFT_OUT, TOOLS_PAUSED, UseLimit
from core.transcript import ResultStatus, ToolResult


def pause_tools(tx: Transaction, by: str, *, paused: bool) -> bool:
    now = tx.clock.now()
    if paused:
        changed = tx.run(
            "INSERT INTO tool_pause (id, by, at) VALUES (1, ?, ?) ON CONFLICT DO NOTHING", by, now
        )
    else:
        changed = tx.run("DELETE FROM tool_pause")
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


def count_failures(tx: Transaction, results: Sequence[ToolResult]) -> None:
    """Count how tools did in an unattended run. A result that says nothing of its tool changes nothing."""
    for result in results:
        row = tx.one("SELECT tool FROM calls WHERE id = ?", result.call_id)
        if row is None:
            continue
        if result.status is ResultStatus.OK:
            tx.run("DELETE FROM tool_failures WHERE tool = ? AND left_out_at IS NULL", row[0])
        elif result.fault:
            now = tx.clock.now()
            tx.run(
                "INSERT INTO tool_failures (tool, failures, error, at) VALUES (?1, 1, ?2, ?3)"
                " ON CONFLICT (tool) DO UPDATE SET failures = failures + 1, error = ?2, at = ?3,"
                " left_out_at = coalesce(left_out_at, CASE WHEN failures + 1 >= ?4 THEN ?3 END)",
                row[0],
                storable(result.fault),
                now,
                FAILURES_UNTIL_LEFT_OUT,
            )


def left_out(tx: Transaction) -> frozenset[str]:
    """Return the tools that unattended runs go without."""
    return frozenset(row[0] for row in tx.all("SELECT tool FROM tool_failures WHERE left_out_at IS NOT NULL"))


class KillSwitchUnits(Facet):
    """The units of KillSwitch."""

    @writes
    def pause_tools(self, tx: Transaction, by: str, *, paused: bool) -> bool:
        return pause_tools(tx, by, paused=paused)

    async def tools_paused(self) -> bool:
        return bool(await self._engine.ask("SELECT 1 FROM tool_pause"))


class ToolFailureUnits(Facet):
    """The units of ToolFailures."""

    @reads
    def failing_tools(self, tx: Transaction) -> Sequence[FailingTool]:
        rows = tx.all("SELECT tool, failures, error, at, left_out_at FROM tool_failures ORDER BY tool")
        return [FailingTool(*row) for row in rows]

    @writes
    def reset_tool(self, tx: Transaction, tool: str, by: str) -> bool:
        changed = tx.run("DELETE FROM tool_failures WHERE tool = ?", tool)
        if changed:
            record(tx, AuditKind.RESUMED, tool, actor=by)
        return changed > 0
