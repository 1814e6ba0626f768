"""The hub's store on one SQLite file: a writer thread, a reader thread, and a connection for listings.

The writer owns its connection and commits all waiting units as one group.

Group commit makes synchronous=FULL affordable: the write-ahead log is synced once for all units
submitted during the previous commit. Each unit has a separate savepoint, so a failing unit
rolls back only itself. Callers learn of a unit only after the commit it is part of.
"""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal, TypeVar

from core.audit_chain import ChainKeys, PassingKeys
from core.clock import Clock
from core.errors import LeaseLost, StoreUnavailable
from core.ids import Ids
from core.store.feed import ChangeListener, ChangeLog, Changes
from core.store.lease import Lease
from core.store.sql.store import SqlStore
from core.store.sqlite.connection import (
    ReaderThread,
    SqliteTransaction,
    SqliteWordSearch,
    connect_writer,
    is_failure_of_the_disk,
)
from core.store.sqlite.maintenance import current_schema, migrate
from core.store.sqlite.offline import Listings
from core.store.units import HISTORY_LIMIT_CHARS, MERGE_LIMIT, Policy, Spending, Unit
from core.usage import NO_BUDGET, Budget, Expected

T = TypeVar("T")

logger = logging.getLogger(__name__)

GROUP_LIMIT = 256
"""Maximum number of units in one commit. It bounds how long the first of them waits for the last."""
QUEUE_LIMIT = 1024
"""Maximum number of units submitted and not yet answered; further callers wait."""
LINGER_S = 0.005
"""The time an unhurried unit may wait for others to share one sync: the receipt of a sent message,
and the next message.

If the hub is killed in that time, it finds the message as possibly sent."""
BUSY_UNITS = 4
"""The number of units in a commit after which the next commit waits for more: then many callers are at work,
and a commit for each few of them costs all of them more than that wait."""
GATHER_S = 0.004
"""The time that commit waits for units that are about to come."""


@dataclass(slots=True)
class _Handed:
    """A submitted unit with its result."""

    unit: Unit[Any]
    caller: asyncio.Future[Any]
    unhurried: bool = False
    meanwhile: Callable[[], None] | None = None
    result: Any = None
    error: BaseException | None = None


class Writer:
    """A thread that runs units one after the other, in the order they were submitted."""

    def __init__(
        self, path: Path, begin: Callable[[sqlite3.Connection], SqliteTransaction], linger_s: float = LINGER_S
    ) -> None:
        self._linger_s = linger_s
        self._path = path
        self._begin = begin
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Handed | None] = SimpleQueue()
        self._slots = asyncio.Semaphore(QUEUE_LIMIT)
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        self._closing = False
        self._healthy = True
        self._busy = False
        self._listener: ChangeListener | None = None
        self._thread = threading.Thread(target=self._work, name="store writer", daemon=True)

    @property
    def healthy(self) -> bool:
        """True if the last commit that wrote anything succeeded."""
        return self._healthy

    def watch(self, listener: ChangeListener) -> None:
        """Report every later commit that changed something visible."""
        self._listener = listener

    async def open(self) -> None:
        """Open the database and bring its schema up to date. Raises SchemaTooNew, SchemaTooOld,
        StoreUnavailable."""
        self._thread.start()
        await asyncio.shield(self._opened)

    async def run(
        self, unit: Unit[T], *, unhurried: bool = False, meanwhile: Callable[[], None] | None = None
    ) -> T:
        """Run a unit and return its result once it is on disk. `unhurried`: up to LINGER_S later than
        possible.

        The callback runs in the event loop when the commit is about to be synced. The event loop is
        idle then, so its work costs the caller no time.

        Raises the unit's own exception, with nothing of it kept, and StoreUnavailable if the commit
        failed. Once submitted, the unit is carried out even if this call is cancelled.
        """
        await self._slots.acquire()
        if self._closing:
            self._slots.release()
            raise StoreUnavailable("the store is closed")
        handed = _Handed(unit, self._loop.create_future(), unhurried, meanwhile)
        self._queue.put(handed)
        return await handed.caller

    async def close(self) -> None:
        """Finish all submitted units, then close the database."""
        if not self._closing:
            self._closing = True
            self._queue.put(None)
        if self._thread.ident is not None:
            await asyncio.shield(self._ended)

    # --- in the writer's thread ------------------------------------------------------------------------

    def _work(self) -> None:
        try:
            connection = connect_writer(self._path)
        except Exception as error:
            self._tell(_fail, self._opened, _unavailable(error))
            self._tell(_succeed, self._ended)
            return
        try:
            if self._prepare(connection):
                self._serve(connection)
        finally:
            connection.close()
            self._tell(_succeed, self._ended)

    def _prepare(self, connection: sqlite3.Connection) -> bool:
        try:
            migrate(connection, current_schema())
        except Exception as error:
            self._tell(_fail, self._opened, _unavailable(error))
            return False
        self._tell(_succeed, self._opened)
        return True

    def _serve(self, connection: sqlite3.Connection) -> None:
        transaction = self._begin(connection)
        last = False
        while not last:
            first = self._queue.get()
            if first is None:
                return
            group, last = self._group(first)
            try:
                self._commit(transaction, group)
            except Exception as error:
                self._fail_group(connection, group, error)
                transaction.changes.take()
            self._tell(self._deliver, group, transaction.changes.take())

    def _group(self, first: _Handed) -> tuple[list[_Handed], bool]:
        group = [first]
        if self._busy and not self._closing:
            time.sleep(GATHER_S)  # one wake-up for all of them
        while len(group) < GROUP_LIMIT:
            alone = len(group) == 1 and first.unhurried
            try:
                handed = self._queue.get(timeout=self._linger_s) if alone else self._queue.get_nowait()
            except Empty:
                break
            if handed is None:
                return group, True
            group.append(handed)
        self._busy = len(group) >= BUSY_UNITS
        return group, False

    def _commit(self, transaction: SqliteTransaction, group: list[_Handed]) -> None:
        connection = transaction.connection
        execute = connection.execute
        written = connection.total_changes
        execute("BEGIN IMMEDIATE")
        self._require_lease(transaction)
        before = connection.total_changes
        for handed in group:
            # Without a change before it, the whole transaction is the unit's own: it needs no savepoint.
            first = connection.total_changes == before
            if not first:
                execute("SAVEPOINT unit")
            try:
                handed.result = handed.unit(transaction)
            except Exception as error:
                if is_failure_of_the_disk(error) or not connection.in_transaction:
                    raise
                handed.error = error
                self._undo(transaction, first=first)
            if not first:
                execute("RELEASE unit")
        ahead = [handed.meanwhile for handed in group if handed.meanwhile is not None and not handed.error]
        if ahead:  # at once: each by itself would wake the event loop, and run beside the units
            self._tell(_call_each, ahead)
        execute("COMMIT")
        if connection.total_changes != written and not self._healthy:
            self._healthy = True
            logger.info("store.write_recovered")

    def _undo(self, transaction: SqliteTransaction, *, first: bool) -> None:
        """Undo a unit that failed, and nothing of those before it. `first`: they changed nothing."""
        execute = transaction.connection.execute
        if not first:
            execute("ROLLBACK TO unit")
            return
        execute("ROLLBACK")
        execute("BEGIN IMMEDIATE")
        self._require_lease(transaction)

    def _require_lease(self, transaction: SqliteTransaction) -> None:
        """Refuse whatever is to be written once another hub has ended the lease."""
        lease = transaction.lease
        if lease.fence and not transaction.all("SELECT 1 FROM leases WHERE fence = ?", lease.fence):
            self._tell(lease.lost.set)
            raise LeaseLost("another hub has taken over this one's work")

    def _fail_group(self, connection: sqlite3.Connection, group: list[_Handed], error: Exception) -> None:
        if self._healthy:
            logger.error("store.write_failed error=%s", error)
        self._healthy = False
        for handed in group:
            handed.result, handed.error = None, _unavailable(error)
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            logger.exception("store.rollback_failed")

    def _tell(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            # The loop is gone, and with it all waiting callers.
            logger.debug("store.loop_closed")

    # --- in the event loop -----------------------------------------------------------------------------

    def _deliver(self, group: list[_Handed], changes: Changes | None) -> None:
        for handed in group:
            self._slots.release()
            if handed.caller.done():
                if handed.error is not None:
                    logger.warning("store.abandoned_write_failed error=%r", handed.error)
            elif handed.error is not None:
                handed.caller.set_exception(handed.error)
            else:
                handed.caller.set_result(handed.result)
        if changes is not None and self._listener is not None:
            self._listener.changed(changes)


def _unavailable(error: Exception) -> Exception:
    """Return the error the caller can act on: StoreUnavailable (try later) for a failing disk or
    database, others unchanged."""
    if is_failure_of_the_disk(error) or isinstance(error, (sqlite3.Error, OSError)):
        unavailable = StoreUnavailable(f"the database can't be written: {error}")
        unavailable.__cause__ = error
        return unavailable
    return error


def _call_each(callbacks: Sequence[Callable[[], None]]) -> None:
    for callback in callbacks:
        callback()


def _succeed(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _fail(future: asyncio.Future[None], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


class SqliteEngine:
    """Units that write use one writer thread, units that read a reader thread, listings aiosqlite.

    Implements core.store.units.Engine. Open with `open`, in the event loop that will use it; end with
    `close`."""

    def __init__(self, writer: Writer, reader: ReaderThread, listings: Listings, lease: Lease) -> None:
        self.clock = listings.clock
        self.lease = lease
        self.words = SqliteWordSearch()
        self._writer = writer
        self._reader = reader
        self._listings = listings
        self.write = writer.run
        self.read = reader.run
        self.ask = listings.ask
        self._closed = False

    @classmethod
    async def open(
        cls, path: Path, clock: Clock, ids: Ids, policy: Policy, chain: ChainKeys | None = None
    ) -> "SqliteEngine":
        """Open the database, created or upgraded as needed. Raises SchemaTooNew, SchemaTooOld,
        StoreUnavailable.

        The caller must hold the data directory's lock: there must be only one writing hub.
        `chain`: the audit's keys (None: they end with this engine)."""
        keys, lease = chain or PassingKeys(), Lease()

        def begin(connection: sqlite3.Connection) -> SqliteTransaction:
            return SqliteTransaction(connection, clock, ids, policy, ChangeLog(), keys, lease)

        writer = Writer(path, begin)
        await writer.open()
        listings = Listings(path, clock)
        try:
            await listings.open()
        except BaseException:
            await writer.close()
            raise
        return cls(writer, ReaderThread(path, begin), listings, lease)

    @property
    def healthy(self) -> bool:
        """True if the last commit that wrote anything succeeded."""
        return self._writer.healthy

    def watch(self, listener: ChangeListener) -> None:
        """Report every later commit that changed something visible."""
        self._writer.watch(listener)

    async def close(self) -> None:
        """Finish all units already submitted, then close the database. Closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        await self._listings.close()
        await self._reader.close()
        await self._writer.close()


async def open_store(
    path: Path,
    clock: Clock,
    ids: Ids,
    *,
    queue: Literal["merge", "one_by_one"] = "merge",
    history_limit_chars: int = HISTORY_LIMIT_CHARS,
    chain: ChainKeys | None = None,
    holds_inputs: bool = False,
    budget: Budget = NO_BUDGET,
    first_call: Expected | None = None,
) -> SqlStore:
    """Open the database, created or upgraded as needed. Raises SchemaTooNew, SchemaTooOld, StoreUnavailable.

    The caller must hold the data directory's lock: there must be only one writing hub.
    `queue`: whether waiting messages of one person become one turn.
    `history_limit_chars`, `holds_inputs`: see Policy. `budget`, `first_call`: see Spending.
    `chain`: the audit's keys (None: they end with this store, so that its audit cannot be verified later).
    """
    merged = MERGE_LIMIT if queue == "merge" else 1
    policy = Policy(merged, history_limit_chars, holds_inputs, Spending(budget, first_call))
    return SqlStore(await SqliteEngine.open(path, clock, ids, policy, chain))
