"""Tools that fail again and again in unattended runs. Only a success there ends a tool's series of failures,
or a reset; a tool that has failed often enough is left out until the reset."""

from collections.abc import Sequence

from core.audit_chain import AuditKind
from core.store.codecs import storable
from core.store.facets import FailingTool
from core.store.sql.audit import record
from core.store.transaction import Transaction
from core.store.units import Facet, reads, writes
from core.tool import FAILURES_UNTIL_LEFT_OUT
from core.transcript import ResultStatus, ToolResult


def count(tx: Transaction, results: Sequence[ToolResult]) -> None:
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
