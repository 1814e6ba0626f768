"""The audit as units of the store: implements core.store.audit.Audit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.store.sqlite import audit
from core.store.sqlite.reader import ReaderThread
from core.store.sqlite.writer import Writer

if TYPE_CHECKING:
    from core.store.audit_rows import AuditRow


class AuditUnits:
    """See Audit."""

    _writer: Writer
    _reader: ReaderThread

    async def link_audit(self, limit: int) -> tuple[str | None, bool]:
        """See Audit."""
        return await self._writer.run(lambda tx: audit.link(tx, limit))

    async def record_policy(self, detail: dict[str, Any]) -> bool:
        """See Audit."""
        return await self._writer.run(lambda tx: audit.record_policy(tx, detail))

    async def prune_audit(self, before: int, limit: int) -> int:
        """See Audit."""
        return await self._writer.run(lambda tx: audit.prune(tx, before, limit))

    async def audit_of(self, subjects: Sequence[str]) -> "Sequence[AuditRow]":
        """See Audit."""
        return await self._reader.run(lambda tx: audit.about(tx, subjects))
