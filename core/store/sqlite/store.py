"""The Store port on one SQLite file."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from core.audit_chain import ChainKeys, PassingKeys
from core.clock import Clock
from core.errors import StoreUnavailable
from core.ids import Ids
from core.messages import Address, InboundEvent, InboundMessage, Message, MessageRef, Sender
from core.ports import OutboxRow, Posted, Seen, Surroundings
from core.prompts import Prompt
from core.store.accept import Accepted, Judge
from core.store.base import RunCheck
from core.store.changes import ChangeListener, ChangeLog
from core.store.pairing import ClaimView, Decision, NoiseRow, PairingRequest, Settled
from core.store.rows import (
    Draft,
    Explanation,
    LoadedTurn,
    NewCall,
    PromptView,
    Recovery,
    ThreadRow,
    TurnFinished,
    TurnStart,
    TurnState,
)
from core.store.sqlite import (
    opening,
    operator,
    outbox,
    pairing,
    people,
    previews,
    recovery,
    steps,
    turn_ends,
    turns,
)
from core.store.sqlite.accept import accept_event
from core.store.sqlite.auditing import AuditUnits
from core.store.sqlite.consenting import Consenting
from core.store.sqlite.hooking import HookUnits
from core.store.sqlite.kept import KeptUnits
from core.store.sqlite.notices import NoticeUnits
from core.store.sqlite.queries import SqliteReader
from core.store.sqlite.reader import ReaderThread
from core.store.sqlite.routine_store import RoutineUnits
from core.store.sqlite.run_units import RunJournalUnits
from core.store.sqlite.tending import PromptTending
from core.store.sqlite.transaction import HISTORY_LIMIT_CHARS, MERGE_LIMIT, Policy, Transaction
from core.store.sqlite.writer import Writer
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Entry, Note, ToolResult
from core.users import Person, Principal, Role

PROBE_BYTES = 1 << 18
"""A write that shows whether there is room again: a few bytes would fit on many a full disk."""


class SqliteStore(
    HookUnits, RoutineUnits, RunJournalUnits, NoticeUnits, Consenting, PromptTending, KeptUnits, AuditUnits
):
    """Implements core.store.base.Store; every method is described there.

    Units that write go through one writer thread, hot reads through a reader thread, listings through
    aiosqlite. Open with `open`, in the event loop that will use it; end with `close`.
    """

    def __init__(self, writer: Writer, reader: ReaderThread, queries: SqliteReader) -> None:
        super().__init__(writer, reader, queries)
        self._closed = False

    @classmethod
    async def open(
        cls,
        path: Path,
        clock: Clock,
        ids: Ids,
        *,
        queue: Literal["merge", "one_by_one"] = "merge",
        history_limit_chars: int = HISTORY_LIMIT_CHARS,
        chain: ChainKeys | None = None,
        holds_inputs: bool = False,
    ) -> "SqliteStore":
        """Open the database, made or upgraded as needed. Raises SchemaTooNew, StoreUnavailable.

        The caller holds the data directory's lock: there must be only one writing hub. `queue`: whether
        waiting messages of one person become one turn; `history_limit_chars`, `holds_inputs`: see Policy;
        `chain`: the audit's keys (None: they end with this store, so that its audit is of no use later).
        """
        policy = Policy(MERGE_LIMIT if queue == "merge" else 1, history_limit_chars, holds_inputs)
        keys = chain or PassingKeys()

        def begin(connection: sqlite3.Connection) -> Transaction:
            return Transaction(connection, clock, ids, policy, ChangeLog(), keys)

        writer = Writer(path, begin)
        await writer.open()
        queries = SqliteReader(path, clock)
        try:
            await queries.open()
        except BaseException:
            await writer.close()
            raise
        return cls(writer, ReaderThread(path, begin), queries)

    async def close(self) -> None:
        """Finish what was handed in, then let the database go. Closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        await self._queries.close()
        await self._reader.close()
        await self._writer.close()

    def watch(self, listener: ChangeListener) -> None:
        """See Store."""
        self._writer.watch(listener)

    async def healthy(self) -> bool:
        """Whether the last commit went through. If not, tries one, so that the store heals even while
        nothing else is handed in."""
        if not self._writer.healthy:
            try:
                await self._writer.run(_probe)
            except StoreUnavailable:
                return False
        return self._writer.healthy

    # --- coming in -------------------------------------------------------------------------------------

    async def accept_event(self, event: InboundEvent, judge: Judge, *, send_now: bool) -> Accepted:
        """See Store."""
        return await self._writer.run(lambda tx: accept_event(tx, event, judge, send_now=send_now))

    async def answer_as_operator(
        self, event: InboundMessage, by: Principal, thread_id: str, message: Message
    ) -> tuple[OutboxRow, ...]:
        """See Store."""
        return await self._writer.run(lambda tx: operator.answer(tx, event, by, thread_id, message))

    async def stop_thread(
        self, event: InboundMessage, by: Principal, thread_id: str, told: Callable[[int], str]
    ) -> Accepted:
        """See Store."""
        return await self._writer.run(lambda tx: operator.stop(tx, event, by, thread_id, told))

    async def take_up_thread(self, user_id: str, channel: str, external_id: str, thread_id: str) -> bool:
        """See Store."""
        return await self._writer.run(
            lambda tx: operator.take_up(tx, user_id, channel, external_id, thread_id)
        )

    # --- turns -----------------------------------------------------------------------------------------

    async def load_turn(self, start: TurnStart) -> LoadedTurn:
        """See Store."""
        return await self._reader.run(lambda tx: steps.load_turn(tx, start))

    async def record_reply_and_intents(
        self,
        turn_id: str,
        reply: AssistantSaid,
        calls: Sequence[NewCall],
        *,
        refused: Sequence[ToolResult] = (),
    ) -> None:
        """See Store."""
        await self._writer.run(lambda tx: steps.record_reply(tx, turn_id, reply, calls, refused))

    async def record_notes(self, turn_id: str, notes: Sequence[Note]) -> None:
        """See Store."""
        await self._writer.run(lambda tx: steps.record_notes(tx, turn_id, notes))

    async def ask_person(
        self, prompt: Prompt, cards: Sequence[Draft], *, beside: Sequence[Prompt] = ()
    ) -> tuple[OutboxRow, ...]:
        """See Store."""
        return await self._writer.run(lambda tx: opening.ask_person(tx, (prompt, *beside), cards))

    async def mark_running(
        self, turn_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        """See Store."""
        return await self._writer.run(
            lambda tx: steps.mark_running(tx, turn_id, call_id, check, limits=limits)
        )

    async def record_process(self, call_id: str, process: ProcessInfo) -> None:
        """See Store."""
        await self._writer.run(lambda tx: steps.record_process(tx, call_id, process))

    async def finish_calls(
        self, turn_id: str, results: Sequence[ToolResult], *, started_at: int | None = None
    ) -> None:
        """See Store."""
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
        """See Store."""
        return await self._writer.run(
            lambda tx: turn_ends.finish(
                tx, turn_id, state, answer, messages, next_turn_id, error, send_now=send_now
            ),
            meanwhile=meanwhile,
        )

    # --- starting again --------------------------------------------------------------------------------

    async def recover(self) -> Recovery:
        """See Store."""
        return await self._writer.run(recovery.recover)

    async def resume_turn(self, turn_id: str) -> TurnStart:
        """See Store."""
        return await self._writer.run(lambda tx: recovery.resume_turn(tx, turn_id))

    async def release_turns(self, turn_ids: Sequence[str]) -> None:
        """See Store."""
        await self._writer.run(lambda tx: recovery.release_turns(tx, turn_ids))

    async def start_waiting(self, thread_id: str, next_turn_id: str) -> TurnStart | None:
        """See Store."""
        return await self._writer.run(lambda tx: turns.start_next(tx, thread_id, next_turn_id))

    async def mark_unknown(
        self, call_id: str, prompt: Prompt, cards: Sequence[Draft]
    ) -> tuple[OutboxRow, ...]:
        """See Store."""
        return await self._writer.run(lambda tx: opening.mark_unknown(tx, call_id, prompt, cards))

    # --- people and consent ----------------------------------------------------------------------------

    async def ensure_user(self, user_id: str, role: Role, name: str) -> Principal:
        """See Store."""
        return await self._writer.run(lambda tx: people.ensure_user(tx, user_id, role, name))

    async def user(self, user_id: str) -> Principal | None:
        """See Store."""
        return await self._queries.user(user_id)

    async def people(self) -> Sequence[Person]:
        """See Store."""
        return await self._queries.people()

    async def pairing_requests(self) -> Sequence[PairingRequest]:
        """See Store."""
        return await self._queries.pairing_requests()

    async def settle_pairing(
        self, channel: str | None, guesser: str, judge: Callable[[ClaimView], Decision]
    ) -> Settled:
        """See Store."""
        return await self._writer.run(lambda tx: pairing.settle(tx, channel, guesser, judge))

    async def revoke_account(self, channel: str, platform_user_id: str, *, by: str | None = None) -> bool:
        """See Store."""
        return await self._writer.run(lambda tx: people.revoke_account(tx, channel, platform_user_id, by))

    async def link_account(
        self, user_id: str, channel: str, platform_user_id: str, name: str, *, by: str | None = None
    ) -> Principal | None:
        """See Store."""
        sender = Sender(platform_user_id, name)
        return await self._writer.run(lambda tx: people.link_account(tx, user_id, channel, sender, by))

    async def open_prompts(self) -> Sequence[PromptView]:
        """See Store."""
        return await self._queries.open_prompts()

    # --- going out -------------------------------------------------------------------------------------

    async def pending_outbox(self, channel: str) -> Sequence[OutboxRow]:
        """See Outbox."""
        return await self._reader.run(lambda tx: outbox.pending(tx, channel))

    async def claim_outbox(self, row_id: int) -> OutboxRow:
        """See Outbox."""
        return await self._writer.run(lambda tx: outbox.claim(tx, row_id))

    async def sent_refs(self, row_id: int) -> tuple[MessageRef, ...]:
        """See Outbox."""
        return await self._reader.run(lambda tx: outbox.sent_refs(tx, row_id))

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        """See Outbox."""
        await self._writer.run(
            lambda tx: outbox.record_part_sent(tx, row_id, posted, last=last), unhurried=last
        )

    async def record_sent(self, row_id: int) -> None:
        """See Outbox."""
        await self._writer.run(lambda tx: outbox.record_sent(tx, row_id))

    async def retry_outbox(self, row_id: int, *, not_before: int, reason: str) -> None:
        """See Outbox."""
        await self._writer.run(lambda tx: outbox.retry(tx, row_id, not_before, reason))

    async def mark_ambiguous(self, row_id: int, reason: str) -> OutboxRow:
        """See Outbox."""
        return await self._writer.run(lambda tx: outbox.mark_ambiguous(tx, row_id, reason))

    async def begin_preview(self, turn_id: str, channel: str, address: Address) -> OutboxRow | None:
        """See Outbox."""
        return await self._writer.run(lambda tx: previews.begin(tx, turn_id, channel, address))

    async def record_preview(self, row_id: int, posted: Posted | None) -> None:
        """See Outbox."""
        await self._writer.run(lambda tx: previews.record(tx, row_id, posted))

    async def preview_shown(self, row_id: int) -> Posted | None:
        """See Outbox."""
        return await self._reader.run(lambda tx: previews.shown(tx, row_id))

    async def surroundings(self, row_id: int) -> Surroundings:
        """See Outbox."""
        return await self._reader.run(lambda tx: previews.surroundings(tx, row_id))

    # --- what tools keep -------------------------------------------------------------------------------

    # --- looking ---------------------------------------------------------------------------------------

    async def thread(self, thread_id: str) -> ThreadRow | None:
        """See Store."""
        return await self._queries.thread(thread_id)

    async def threads(self, limit: int) -> Sequence[ThreadRow]:
        """See Store."""
        return await self._queries.threads(limit)

    async def entries(self, thread_id: str, limit: int) -> Sequence[Entry]:
        """See Store."""
        return await self._queries.entries(thread_id, limit)

    async def explain(self, event_key: str) -> Explanation | None:
        """See Store."""
        return await self._queries.explain(event_key)

    async def explain_recent(self, limit: int) -> Sequence[Explanation]:
        """See Store."""
        return await self._queries.explain_recent(limit)

    async def last_seen(self, channel: str, since: int) -> Sequence[Seen]:
        """See Store."""
        return await self._queries.last_seen(channel, since)

    async def noise(self, limit: int) -> Sequence[NoiseRow]:
        """See Store."""
        return await self._queries.noise(limit)


def _probe(tx: Transaction) -> None:
    tx.run(
        "INSERT INTO probe (id, at, filler) VALUES (1, ?, zeroblob(?))"
        " ON CONFLICT (id) DO UPDATE SET at = excluded.at, filler = excluded.filler",
        tx.clock.now(),
        PROBE_BYTES,
    )
