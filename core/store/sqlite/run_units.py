"""The journal of runs that use tools: implements core.store.run_journal.RunJournal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.prompts import Standing
from core.store.rows import NewCall, RunCheck
from core.store.sqlite.reader import ReaderThread
from core.store.sqlite.writer import Writer
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Note, Said, ToolResult

if TYPE_CHECKING:
    from core.routine_run import Spent
    from core.store.routines import RunSteps


class RunJournalUnits:
    """Every method is described in RunJournal; what they are made of is imported by the first one called."""

    _writer: Writer
    _reader: ReaderThread

    async def run_steps(self, run_id: str) -> "RunSteps":
        """See RunJournal."""
        from core.store.sqlite import run_journal

        return await self._reader.run(lambda tx: run_journal.steps(tx, run_id))

    async def run_standing(self, owner_id: str, thread_id: str | None) -> Standing:
        """See RunJournal."""
        from core.store.sqlite import run_journal

        return await self._reader.run(lambda tx: run_journal.standing(tx, owner_id, thread_id))

    async def open_run_journal(self, run_id: str, scope: str, asked: Said) -> None:
        """See RunJournal."""
        from core.store.sqlite import run_journal

        await self._writer.run(lambda tx: run_journal.begin(tx, run_id, scope, asked))

    async def record_run_reply(
        self,
        run_id: str,
        reply: AssistantSaid,
        calls: Sequence[NewCall],
        spent: "Spent",
        *,
        refused: Sequence[ToolResult] = (),
    ) -> None:
        """See RunJournal."""
        from core.store.sqlite import run_journal

        await self._writer.run(lambda tx: run_journal.record_reply(tx, run_id, reply, calls, spent, refused))

    async def record_run_note(self, run_id: str, note: Note) -> None:
        """See RunJournal."""
        from core.store.sqlite import run_journal

        await self._writer.run(lambda tx: run_journal.record_note(tx, run_id, note))

    async def mark_run_call(
        self, run_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        """See RunJournal."""
        from core.store.sqlite import run_journal

        return await self._writer.run(lambda tx: run_journal.mark_call(tx, run_id, call_id, check, limits))

    async def record_run_process(self, call_id: str, process: ProcessInfo) -> None:
        """See RunJournal."""
        from core.store.sqlite import run_journal

        await self._writer.run(lambda tx: run_journal.record_process(tx, call_id, process))

    async def finish_run_call(self, run_id: str, result: ToolResult) -> None:
        """See RunJournal."""
        from core.store.sqlite import run_journal

        await self._writer.run(lambda tx: run_journal.finish_call(tx, run_id, result))
