"""The hub's store on one SQLite file: a writer thread, a reader thread, and a connection for listings."""

import sqlite3
from pathlib import Path
from typing import Literal, TypeVar

from core.audit_chain import ChainKeys, PassingKeys
from core.clock import Clock
from core.ids import Ids
from core.store.feed import ChangeListener, ChangeLog
from core.store.lease import Lease
from core.store.sql.store import SqlStore
from core.store.sqlite.connection import (
    ReaderThread,
    SqliteTransaction,
)
from core.store.sqlite.offline import Listings
from core.store.sqlite.writer import Writer
from core.store.transaction import HISTORY_LIMIT_CHARS, MERGE_LIMIT, Policy

T = TypeVar("T")


class SqliteEngine:
    """Units that write use one writer thread, units that read a reader thread, listings aiosqlite.

    Implements core.store.units.Engine. Open with `open`, in the event loop that will use it; end with
    `close`."""

    def __init__(self, writer: Writer, reader: ReaderThread, listings: Listings, lease: Lease) -> None:
        self.clock = listings.clock
        self.lease = lease
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
) -> SqlStore:
    """Open the database, created or upgraded as needed. Raises SchemaTooNew, SchemaTooOld, StoreUnavailable.

    The caller must hold the data directory's lock: there must be only one writing hub.
    `queue`: whether waiting messages of one person become one turn.
    `history_limit_chars`, `holds_inputs`: see Policy.
    `chain`: the audit's keys (None: they end with this store, so that its audit cannot be verified later).
    """
    policy = Policy(MERGE_LIMIT if queue == "merge" else 1, history_limit_chars, holds_inputs)
    return SqlStore(await SqliteEngine.open(path, clock, ids, policy, chain))
