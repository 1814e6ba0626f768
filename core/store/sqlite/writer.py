"""The writer: a thread that owns the connection and commits all waiting units as one group.

Group commit makes synchronous=FULL affordable: the write-ahead log is synced once for all units
submitted during the previous commit. Each unit has a separate savepoint, so a failing unit
rolls back only itself. Callers learn of a unit only after the commit it is part of.
"""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from core.errors import LeaseLost, StoreUnavailable
from core.store.sqlite.connection import SqliteTransaction, connect_writer, is_failure_of_the_disk
from core.store.sqlite.maintenance import current_schema, migrate
from core.store.transaction import Unit
from core.store.wakes import Wake, Wakes

logger = logging.getLogger(__name__)

T = TypeVar("T")

GROUP_LIMIT = 256
"""Maximum number of units in one commit. It bounds how long the first of them waits for the last."""
QUEUE_LIMIT = 1024
"""Maximum number of units submitted and not yet answered; further callers wait."""
LINGER_S = 0.005
"""The time an unhurried unit may wait for others to share one sync: the receipt of a sent message,
and the next message.

If the hub is killed in that time, it finds the message as possibly sent."""


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
        self._wakes: Wakes | None = None
        self._thread = threading.Thread(target=self._work, name="store writer", daemon=True)

    @property
    def healthy(self) -> bool:
        """True if the last commit that wrote anything succeeded."""
        return self._healthy

    def tell(self, wakes: Wakes) -> None:
        """Tell of every later commit."""
        self._wakes = wakes

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
        while len(group) < GROUP_LIMIT:
            alone = len(group) == 1 and first.unhurried
            try:
                handed = self._queue.get(timeout=self._linger_s) if alone else self._queue.get_nowait()
            except Empty:
                break
            if handed is None:
                return group, True
            group.append(handed)
        return group, False

    def _commit(self, transaction: SqliteTransaction, group: list[_Handed]) -> None:
        connection = transaction.connection
        execute, wakes = connection.execute, transaction.changes.wakes
        written = connection.total_changes
        execute("BEGIN IMMEDIATE")
        self._require_lease(transaction)
        for handed in group:
            execute("SAVEPOINT unit")
            woken = len(wakes)
            try:
                handed.result = handed.unit(transaction)
            except Exception as error:
                if is_failure_of_the_disk(error) or not connection.in_transaction:
                    raise
                handed.error = error
                del wakes[woken:]
                execute("ROLLBACK TO unit")
            execute("RELEASE unit")
            if handed.meanwhile is not None and handed.error is None:
                self._tell(handed.meanwhile)
        execute("COMMIT")
        if connection.total_changes != written and not self._healthy:
            self._healthy = True
            logger.info("store.write_recovered")

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

    def _deliver(self, group: list[_Handed], wakes: Sequence[Wake]) -> None:
        for handed in group:
            self._slots.release()
            if handed.caller.done():
                if handed.error is not None:
                    logger.warning("store.abandoned_write_failed error=%r", handed.error)
            elif handed.error is not None:
                handed.caller.set_exception(handed.error)
            else:
                handed.caller.set_result(handed.result)
        if self._wakes is not None:
            for wake in wakes:
                self._wakes.wake(wake)


def _unavailable(error: Exception) -> Exception:
    """Return the error the caller can act on: StoreUnavailable (try later) for a failing disk or
    database, others unchanged."""
    if is_failure_of_the_disk(error) or isinstance(error, (sqlite3.Error, OSError)):
        unavailable = StoreUnavailable(f"the database can't be written: {error}")
        unavailable.__cause__ = error
        return unavailable
    return error


def _succeed(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _fail(future: asyncio.Future[None], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
