"""Units of the store for turns from start to end, and for recovery."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from core.approvals import ApprovalSettings
from core.gates import ConsentSettings, Gate, Grant, ToolSetting
from core.lazy_module import LazyModule
from core.messages import Address, MessageRef, Sender
from core.ports import OutboxRow, PostContext, Posted
from core.store.facets import Document, MemoryNote, SealedSecret, ToolSettingRow
from core.store.pairing import ClaimView, Decision, PairingRequest, Settled
from core.store.rows import (
    Draft,
    Execution,
    LoadedTurn,
    NewCall,
    Recovery,
    RunCheck,
    TurnFinished,
    TurnStart,
    TurnState,
)
from core.store.sqlite import (
    audit,
    gate_open,
    grants,
    kill_switch,
    memory,
    outbox,
    pairing,
    people,
    previews,
    steps,
    turns,
)
from core.store.sqlite.connection import ReaderThread
from core.store.sqlite.feed_queries import FeedQueries
from core.store.sqlite.outbox import surroundings
from core.store.sqlite.queries import SqliteReader
from core.store.sqlite.writer import Writer
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Note, Said, ToolResult
from core.users import Person, Principal, Role

if TYPE_CHECKING:
    from core.routine import Spent
    from core.store.routines import RunSteps
    from core.store.rows import AuditRow

if TYPE_CHECKING:
    from core.store.sqlite import run_journal
else:
    run_journal = LazyModule("core.store.sqlite.run_journal")


class TurnUnits(FeedQueries):
    """The part of core.store.port.Store about turns."""

    async def load_turn(self, start: TurnStart) -> LoadedTurn:
        return await self._reader.run(lambda tx: steps.load_turn(tx, start))

    async def record_reply_and_intents(
        self,
        turn_id: str,
        reply: AssistantSaid,
        calls: Sequence[NewCall],
        *,
        refused: Sequence[ToolResult] = (),
    ) -> None:
        await self._writer.run(lambda tx: steps.record_reply(tx, turn_id, reply, calls, refused))

    async def record_notes(self, turn_id: str, notes: Sequence[Note]) -> None:
        await self._writer.run(lambda tx: steps.record_notes(tx, turn_id, notes))

    async def ask_person(
        self, gate: Gate, cards: Sequence[Draft], *, beside: Sequence[Gate] = ()
    ) -> tuple[OutboxRow, ...]:
        return await self._writer.run(lambda tx: gate_open.ask_person(tx, (gate, *beside), cards))

    async def mark_running(
        self, turn_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        return await self._writer.run(
            lambda tx: steps.mark_running(tx, turn_id, call_id, check, limits=limits)
        )

    async def record_process(self, call_id: str, process: ProcessInfo) -> None:
        await self._writer.run(lambda tx: steps.record_process(tx, call_id, process))

    async def finish_calls(
        self, turn_id: str, results: Sequence[ToolResult], *, started_at: int | None = None
    ) -> None:
        await self._writer.run(lambda tx: steps.finish_calls(tx, turn_id, results, started_at))

    async def finish_turn_and_enqueue(
        self,
        turn_id: str,
        state: TurnState,
        answer: AssistantSaid | None,
        messages: Sequence[Draft],
        *,
        next_turn_id: str,
        error: str | None = None,
        send_now: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> TurnFinished:
        return await self._writer.run(
            lambda tx: turns.finish(
                tx, turn_id, state, answer, messages, next_turn_id, error, send_now=send_now
            ),
            meanwhile=meanwhile,
        )

    # --- recovery --------------------------------------------------------------------------------------

    async def recover(self) -> Recovery:
        return await self._writer.run(steps.recover)

    async def resume_turn(self, turn_id: str) -> TurnStart:
        return await self._writer.run(lambda tx: steps.resume_turn(tx, turn_id))

    async def release_turns(self, turn_ids: Sequence[str]) -> None:
        await self._writer.run(lambda tx: steps.release_turns(tx, turn_ids))

    async def start_waiting(self, thread_id: str, next_turn_id: str) -> TurnStart | None:
        return await self._writer.run(lambda tx: turns.start_next(tx, thread_id, next_turn_id))

    async def mark_unknown(self, call_id: str, gate: Gate, cards: Sequence[Draft]) -> tuple[OutboxRow, ...]:
        return await self._writer.run(lambda tx: gate_open.mark_unknown(tx, call_id, gate, cards))


# The audit as units of the store: implements core.store.port.Audit.


class AuditUnits:
    """See Audit."""

    _writer: Writer
    _reader: ReaderThread

    async def link_audit(self, limit: int) -> tuple[str | None, bool]:
        return await self._writer.run(lambda tx: audit.link(tx, limit))

    async def record_policy(self, detail: dict[str, Any]) -> bool:
        return await self._writer.run(lambda tx: audit.record_policy(tx, detail))

    async def prune_audit(self, before: int, limit: int) -> int:
        return await self._writer.run(lambda tx: audit.prune(tx, before, limit))

    async def audit_of(self, subjects: Sequence[str]) -> "Sequence[AuditRow]":
        return await self._reader.run(lambda tx: audit.about(tx, subjects))


# Grants and settings: implements core.store.facets.Consents.


class ConsentUnits:
    """The units for consent. Data a turn needs at once is read in the reader thread; lists use
    aiosqlite."""

    def __init__(self, writer: Writer, reader: ReaderThread, queries: SqliteReader) -> None:
        self._writer = writer
        self._reader = reader
        self._queries = queries

    async def grants(self, user_id: str | None) -> Sequence[Grant]:
        return await self._queries.grants(user_id)

    async def standing(self, user_id: str, thread_id: str) -> ConsentSettings:
        return await self._reader.run(lambda tx: grants.in_thread(tx, user_id, thread_id))

    async def set_thread_approvals(
        self, thread_id: str, settings: ApprovalSettings, *, by: str | None = None
    ) -> bool:
        return await self._writer.run(lambda tx: grants.set_thread_approvals(tx, thread_id, settings, by))

    async def set_person_approvals(self, user_id: str, settings: ApprovalSettings) -> bool:
        return await self._writer.run(lambda tx: grants.set_person_approvals(tx, user_id, settings))

    async def revoke_grant(self, grant_id: str, *, by: str | None = None) -> bool:
        return await self._writer.run(lambda tx: grants.revoke_grant(tx, grant_id, by))

    async def tool_settings(self, user_id: str | None) -> Sequence[ToolSettingRow]:
        return await self._queries.tool_settings(user_id)

    async def set_tool_setting(
        self, user_id: str, tool: str, setting: ToolSetting | None, *, by: str | None = None
    ) -> bool:
        return await self._writer.run(lambda tx: grants.set_tool_setting(tx, user_id, tool, setting, by))

    async def executions(self, thread_id: str, before: int | None, limit: int) -> Sequence[Execution]:
        return await self._queries.executions(thread_id, before, limit)


# Data that outlives a conversation, as units of the store.


class KeptUnits(FeedQueries):
    """The units of core.store.facets.Kept."""

    async def pause_tools(self, by: str, *, paused: bool) -> bool:
        return await self._writer.run(lambda tx: kill_switch.pause_tools(tx, by, paused=paused))

    async def tools_paused(self) -> bool:
        return await self._reader.run(kill_switch.tools_paused)

    async def count_model_call(self, user_id: str, day: str, most: int) -> bool:
        return await self._writer.run(lambda tx: kill_switch.count_model_call(tx, user_id, day, most))

    async def secrets(self, *, own: bool = False) -> Sequence[SealedSecret]:
        return await self._queries.secrets(own=own)

    async def keep_secrets(self, sealed: Sequence[SealedSecret], *, by: str | None = None) -> None:
        await self._writer.run(lambda tx: memory.keep(tx, sealed, by))

    async def drop_secret(self, name: str, *, by: str | None = None) -> bool:
        return await self._writer.run(lambda tx: memory.drop(tx, name, by))

    async def write_memory(self, user_id: str, key: str, text: str) -> None:
        await self._writer.run(lambda tx: memory.write_memory(tx, user_id, key, text))

    async def write_document(
        self, user_id: str, key: str, path: str, text: str, *, append: bool, most: int
    ) -> Document | None:
        return await self._writer.run(
            lambda tx: memory.write_document(tx, user_id, key, path, text, append=append, most=most)
        )

    async def document(self, user_id: str, path: str) -> MemoryNote | None:
        return await self._reader.run(lambda tx: memory.document(tx, user_id, path))

    async def documents(self, user_id: str, folder: str, limit: int) -> Sequence[Document]:
        return await self._reader.run(lambda tx: memory.documents(tx, user_id, folder, limit))

    async def search_memory(self, user_id: str, query: str, limit: int) -> Sequence[MemoryNote]:
        return await self._reader.run(lambda tx: memory.search_memory(tx, user_id, query, limit))


# The outbox as its senders use it, as units of the store.


class OutboxUnits(FeedQueries):
    """The units of core.ports.Outbox, except for failures (see NoticeUnits)."""

    async def pending_outbox(self, channel: str) -> Sequence[OutboxRow]:
        return await self._reader.run(lambda tx: outbox.pending(tx, channel))

    async def claim_outbox(self, row_id: int) -> OutboxRow:
        return await self._writer.run(lambda tx: outbox.claim(tx, row_id))

    async def sent_refs(self, row_id: int) -> tuple[MessageRef, ...]:
        return await self._reader.run(lambda tx: outbox.sent_refs(tx, row_id))

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        await self._writer.run(
            lambda tx: outbox.record_part_sent(tx, row_id, posted, last=last), unhurried=last
        )

    async def record_sent(self, row_id: int) -> None:
        await self._writer.run(lambda tx: outbox.record_sent(tx, row_id))

    async def retry_outbox(self, row_id: int, *, not_before: int, reason: str) -> None:
        await self._writer.run(lambda tx: outbox.retry(tx, row_id, not_before, reason))

    async def mark_ambiguous(self, row_id: int, reason: str, asked_by: int | None = None) -> OutboxRow:
        return await self._writer.run(lambda tx: outbox.mark_ambiguous(tx, row_id, reason, asked_by))

    async def begin_preview(self, turn_id: str, channel: str, address: Address) -> OutboxRow | None:
        return await self._writer.run(lambda tx: previews.begin(tx, turn_id, channel, address))

    async def record_preview(self, row_id: int, posted: Posted | None) -> None:
        await self._writer.run(lambda tx: previews.record(tx, row_id, posted))

    async def preview_shown(self, row_id: int) -> Posted | None:
        return await self._reader.run(lambda tx: previews.shown(tx, row_id))

    async def surroundings(self, row_id: int) -> PostContext:
        return await self._reader.run(lambda tx: surroundings(tx, row_id))


# People and their accounts, as units of the store.


class PeopleUnits(FeedQueries):
    """The units of core.store.port.People."""

    async def ensure_user(self, user_id: str, role: Role, name: str) -> Principal:
        return await self._writer.run(lambda tx: people.ensure_user(tx, user_id, role, name))

    async def user(self, user_id: str) -> Principal | None:
        return await self._queries.user(user_id)

    async def people(self) -> Sequence[Person]:
        return await self._queries.people()

    async def pairing_requests(self) -> Sequence[PairingRequest]:
        return await self._queries.pairing_requests()

    async def settle_pairing(
        self, channel: str | None, guesser: str, judge: Callable[[ClaimView], Decision]
    ) -> Settled:
        return await self._writer.run(lambda tx: pairing.settle(tx, channel, guesser, judge))

    async def revoke_account(self, channel: str, platform_user_id: str, *, by: str | None = None) -> bool:
        return await self._writer.run(lambda tx: people.revoke_account(tx, channel, platform_user_id, by))

    async def link_account(
        self, user_id: str, channel: str, platform_user_id: str, name: str, *, by: str | None = None
    ) -> Principal | None:
        sender = Sender(platform_user_id, name)
        return await self._writer.run(lambda tx: people.link_account(tx, user_id, channel, sender, by))

    async def timezone(self, user_id: str) -> str | None:
        return await self._reader.run(lambda tx: people.timezone(tx, user_id))

    async def set_timezone(self, user_id: str, timezone: str | None) -> bool:
        return await self._writer.run(lambda tx: people.set_timezone(tx, user_id, timezone))


# The journal of runs that use tools: implements core.store.routine_port.RunJournal.


class RunJournalUnits:
    """The units of RunJournal. Their implementation is imported on first use."""

    _writer: Writer
    _reader: ReaderThread

    async def run_steps(self, run_id: str) -> "RunSteps":
        return await self._reader.run(lambda tx: run_journal.steps(tx, run_id))

    async def run_standing(self, owner_id: str, thread_id: str | None) -> ConsentSettings:
        return await self._reader.run(lambda tx: run_journal.standing(tx, owner_id, thread_id))

    async def open_run_journal(self, run_id: str, scope: str, asked: Said) -> None:
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
        await self._writer.run(lambda tx: run_journal.record_reply(tx, run_id, reply, calls, spent, refused))

    async def record_run_note(self, run_id: str, note: Note) -> None:
        await self._writer.run(lambda tx: run_journal.record_note(tx, run_id, note))

    async def mark_run_call(
        self, run_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        return await self._writer.run(lambda tx: run_journal.mark_call(tx, run_id, call_id, check, limits))

    async def record_run_process(self, call_id: str, process: ProcessInfo) -> None:
        await self._writer.run(lambda tx: run_journal.record_process(tx, call_id, process))

    async def finish_run_call(self, run_id: str, result: ToolResult) -> None:
        await self._writer.run(lambda tx: run_journal.finish_call(tx, run_id, result))
