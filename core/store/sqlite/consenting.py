"""What people have said once and for all: implements core.store.consents.Consents."""

from collections.abc import Sequence

from core.approvals import ApprovalSettings
from core.prompts import Grant, Standing, ToolSetting
from core.store.consents import ToolSettingRow
from core.store.rows import Execution
from core.store.sqlite import standing
from core.store.sqlite.queries import SqliteReader
from core.store.sqlite.reader import ReaderThread
from core.store.sqlite.writer import Writer


class Consenting:
    """What a turn needs at once is read in the reader thread; lists go through aiosqlite."""

    def __init__(self, writer: Writer, reader: ReaderThread, queries: SqliteReader) -> None:
        self._writer = writer
        self._reader = reader
        self._queries = queries

    async def grants(self, user_id: str | None) -> Sequence[Grant]:
        """See Consents."""
        return await self._queries.grants(user_id)

    async def standing(self, user_id: str, thread_id: str) -> Standing:
        """See Consents."""
        return await self._reader.run(lambda tx: standing.in_thread(tx, user_id, thread_id))

    async def set_thread_approvals(
        self, thread_id: str, settings: ApprovalSettings, *, by: str | None = None
    ) -> bool:
        """See Consents."""
        return await self._writer.run(lambda tx: standing.set_thread_approvals(tx, thread_id, settings, by))

    async def set_person_approvals(self, user_id: str, settings: ApprovalSettings) -> bool:
        """See Consents."""
        return await self._writer.run(lambda tx: standing.set_person_approvals(tx, user_id, settings))

    async def revoke_grant(self, grant_id: str, *, by: str | None = None) -> bool:
        """See Consents."""
        return await self._writer.run(lambda tx: standing.revoke_grant(tx, grant_id, by))

    async def tool_settings(self, user_id: str | None) -> Sequence[ToolSettingRow]:
        """See Consents."""
        return await self._queries.tool_settings(user_id)

    async def set_tool_setting(
        self, user_id: str, tool: str, setting: ToolSetting | None, *, by: str | None = None
    ) -> bool:
        """See Consents."""
        return await self._writer.run(lambda tx: standing.set_tool_setting(tx, user_id, tool, setting, by))

    async def executions(self, thread_id: str, before: int | None, limit: int) -> Sequence[Execution]:
        """See Consents."""
        return await self._queries.executions(thread_id, before, limit)
