"""The Store port on one SQLite file."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from core.audit_chain import ChainKeys, PassingKeys
from core.clock import Clock
from core.errors import StoreUnavailable
from core.ids import Ids
from core.messages import InboundEvent, InboundMessage, Message
from core.ports import OutboxRow, Seen
from core.store.accept import Accepted, Judge
from core.store.feed import ChangeListener, ChangeLog
from core.store.pairing import NoiseRow
from core.store.rows import Explanation, GateView, ThreadRow
from core.store.sqlite import accept
from core.store.sqlite.accept import accept_event
from core.store.sqlite.connection import HISTORY_LIMIT_CHARS, MERGE_LIMIT, Policy, ReaderThread, Transaction
from core.store.sqlite.gate_timers import GateTimers, NoticeUnits
from core.store.sqlite.hooks import HookUnits
from core.store.sqlite.queries import SqliteReader
from core.store.sqlite.routine_store import RoutineUnits
from core.store.sqlite.units import (
    AuditUnits,
    ConsentUnits,
    KeptUnits,
    OutboxUnits,
    PeopleUnits,
    RunJournalUnits,
    TurnUnits,
)
from core.store.sqlite.writer import Writer
from core.transcript import Entry
from core.users import Principal

PROBE_BYTES = 1 << 18
"""The size of a test write. A few bytes would fit on many full disks, so it must be larger."""


class SqliteStore(
    HookUnits,
    RoutineUnits,
    RunJournalUnits,
    NoticeUnits,
    TurnUnits,
    OutboxUnits,
    PeopleUnits,
    ConsentUnits,
    GateTimers,
    KeptUnits,
    AuditUnits,
):
    """The Store port on one SQLite file; implements core.store.port.Store.

    Units that write use one writer thread, hot reads a reader thread, listings aiosqlite. Open with
    `open`, in the event loop that will use it; end with `close`.
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
        """Open the database, created or upgraded as needed. Raises SchemaTooNew, SchemaTooOld,
        StoreUnavailable.

        The caller must hold the data directory's lock: there must be only one writing hub.
        `queue`: whether waiting messages of one person become one turn.
        `history_limit_chars`, `holds_inputs`: see Policy.
        `chain`: the audit's keys (None: they end with this store, so that its audit cannot be verified
        later).
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
        """Finish all units already submitted, then close the database. Closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        await self._queries.close()
        await self._reader.close()
        await self._writer.close()

    def watch(self, listener: ChangeListener) -> None:
        self._writer.watch(listener)

    async def healthy(self) -> bool:
        """Return True if the last commit succeeded. If not, try one, so that the store recovers even while
        no unit is submitted."""
        if not self._writer.healthy:
            try:
                await self._writer.run(_probe)
            except StoreUnavailable:
                return False
        return self._writer.healthy

    # --- inbound events --------------------------------------------------------------------------------

    async def accept_event(self, event: InboundEvent, judge: Judge, *, send_now: bool) -> Accepted:
        return await self._writer.run(lambda tx: accept_event(tx, event, judge, send_now=send_now))

    async def answer_as_operator(
        self, event: InboundMessage, by: Principal, thread_id: str, message: Message
    ) -> tuple[OutboxRow, ...]:
        return await self._writer.run(lambda tx: accept.answer(tx, event, by, thread_id, message))

    async def stop_thread(
        self, event: InboundMessage, by: Principal, thread_id: str, told: Callable[[int], str]
    ) -> Accepted:
        return await self._writer.run(lambda tx: accept.stop(tx, event, by, thread_id, told))

    async def take_up_thread(self, user_id: str, channel: str, external_id: str, thread_id: str) -> bool:
        return await self._writer.run(lambda tx: accept.take_up(tx, user_id, channel, external_id, thread_id))

    # --- queries ---------------------------------------------------------------------------------------

    async def open_gates(self) -> Sequence[GateView]:
        return await self._queries.open_gates()

    async def thread(self, thread_id: str) -> ThreadRow | None:
        return await self._queries.thread(thread_id)

    async def threads(self, limit: int) -> Sequence[ThreadRow]:
        return await self._queries.threads(limit)

    async def entries(self, thread_id: str, limit: int) -> Sequence[Entry]:
        return await self._queries.entries(thread_id, limit)

    async def explain(self, event_key: str) -> Explanation | None:
        return await self._queries.explanations.of(event_key)

    async def explain_recent(self, limit: int) -> Sequence[Explanation]:
        return await self._queries.explanations.recent(limit)

    async def last_seen(self, channel: str, since: int) -> Sequence[Seen]:
        return await self._queries.last_seen(channel, since)

    async def noise(self, limit: int) -> Sequence[NoiseRow]:
        return await self._queries.noise(limit)


def _probe(tx: Transaction) -> None:
    tx.run(
        "INSERT INTO probe (id, at, filler) VALUES (1, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET at = excluded.at, filler = excluded.filler",
        tx.clock.now(),
        bytes(PROBE_BYTES),
    )
