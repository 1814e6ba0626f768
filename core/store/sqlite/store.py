"""The store on one SQLite file: a writer thread, a reader thread, and a connection for listings."""

import contextlib
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import aiosqlite

from core.audit_chain import ChainKeys, PassingKeys
from core.clock import Clock, SystemClock
from core.errors import StoreUnavailable
from core.ids import Ids
from core.store.feed import ChangeListener, ChangeLog
from core.store.sql.store import SqlStore, SqlViews
from core.store.sqlite.connection import (
    BUSY_TIMEOUT_S,
    ReaderThread,
    SqliteTransaction,
    database_uri,
    is_failure_of_the_disk,
    what_to_do,
)
from core.store.sqlite.maintenance import require_current
from core.store.sqlite.writer import Writer
from core.store.transaction import HISTORY_LIMIT_CHARS, MERGE_LIMIT, Policy, Row, Unit

T = TypeVar("T")


class Listings:
    """A read-only connection for single statements, with or without a running hub; used as `async with`."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self._path = path
        self._clock = clock or SystemClock()
        self._opened: aiosqlite.Connection | None = None

    @property
    def clock(self) -> Clock:
        """The time listings are made at."""
        return self._clock

    async def open(self) -> None:
        """Open the database for reading, whether or not a hub runs on it.

        Raises StoreUnavailable if there is none or it needs an upgrade first, SchemaTooNew or SchemaTooOld if
        this version doesn't know its schema.
        """
        # aiosqlite leaves its thread running if connecting fails; a thread that outlives the loop
        # complains.
        if not os.access(self._path, os.R_OK):
            raise StoreUnavailable("it is not readable; run this as the hub's user")
        try:
            self._opened = await aiosqlite.connect(
                database_uri(self._path, read_only=True),
                uri=True,
                timeout=BUSY_TIMEOUT_S,
                isolation_level=None,
            )
            rows = await self.ask("PRAGMA user_version")
            require_current(int(rows[0][0]))
        except sqlite3.Error as error:
            await self.close()
            raise _unreadable(error) from error
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the database."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def write(
        self, unit: Unit[T], *, unhurried: bool = False, meanwhile: Callable[[], None] | None = None
    ) -> T:
        """Refuse: this connection only reads."""
        del unit, unhurried, meanwhile
        raise StoreUnavailable("the database is open for listings only")

    async def read(self, unit: Unit[T]) -> T:
        """Refuse: this connection runs single statements."""
        del unit
        raise StoreUnavailable("the database is open for listings only")

    async def ask(self, sql: str, *parameters: Any) -> list[Row]:
        """Return all rows of one statement."""
        if self._opened is None:
            raise StoreUnavailable("the store is closed")
        try:
            return list(await self._opened.execute_fetchall(sql, parameters))
        except sqlite3.Error as error:
            if is_failure_of_the_disk(error):
                raise _unreadable(error) from error
            raise


class SqliteEngine:
    """Units that write use one writer thread, units that read a reader thread, listings aiosqlite.

    Implements core.store.engine.Engine. Open with `open`, in the event loop that will use it; end with
    `close`."""

    def __init__(self, writer: Writer, reader: ReaderThread, listings: Listings) -> None:
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
        keys = chain or PassingKeys()

        def begin(connection: sqlite3.Connection) -> SqliteTransaction:
            return SqliteTransaction(connection, clock, ids, policy, ChangeLog(), keys)

        writer = Writer(path, begin)
        await writer.open()
        listings = Listings(path, clock)
        try:
            await listings.open()
        except BaseException:
            await writer.close()
            raise
        return cls(writer, ReaderThread(path, begin), listings)

    @property
    def clock(self) -> Clock:
        """The hub's."""
        return self._listings.clock

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


def _unreadable(error: sqlite3.Error) -> StoreUnavailable:
    return StoreUnavailable(f"it is not readable: {error}{what_to_do(error)}")


async def open_store(
    path: Path,
    clock: Clock,
    ids: Ids,
    *,
    queue: Literal["merge", "one_by_one"] = "merge",
    history_limit_chars: int = HISTORY_LIMIT_CHARS,
    chain: ChainKeys | None = None,
    holds_inputs: bool = False,
) -> SqlStore:
    """Open the database, created or upgraded as needed. Raises SchemaTooNew, SchemaTooOld, StoreUnavailable.

    The caller must hold the data directory's lock: there must be only one writing hub.
    `queue`: whether waiting messages of one person become one turn.
    `history_limit_chars`, `holds_inputs`: see Policy.
    `chain`: the audit's keys (None: they end with this store, so that its audit cannot be verified later).
    """
    policy = Policy(MERGE_LIMIT if queue == "merge" else 1, history_limit_chars, holds_inputs)
    return SqlStore(await SqliteEngine.open(path, clock, ids, policy, chain))


@contextlib.asynccontextmanager
async def open_listings(path: Path, clock: Clock | None = None) -> AsyncGenerator[SqlViews]:
    """Open a database for listings, whether or not a hub runs on it.

    Raises StoreUnavailable, SchemaTooNew, SchemaTooOld."""
    async with Listings(path, clock) as listings:
        yield SqlViews(listings)
