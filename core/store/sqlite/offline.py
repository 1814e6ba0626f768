"""A database beside a running hub or without one: as it is at one moment, and for listings. Its past calls
with their outcomes are for judging them by other rules."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import contextlib
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import aiosqlite

from core.clock import Clock, SystemClock
from core.errors import StoreUnavailable
from core.gates import ConsentSettings
from core.lazy import dataclass
from core.store.facets import SealedSecret
from core.store.lease import Lease
from core.store.rows import CallRow, CallState
from core.store.sql.audit import AuditSnapshot
from core.store.sql.grants import in_thread
from core.store.sql.mapping import PRINCIPAL, SEALED, principal_of, secret_of
from core.store.sql.store import SqlViews
from core.store.sqlite.connection import (
    BUSY_TIMEOUT_S,
    SqliteWordSearch,
    database_uri,
    is_failure_of_the_disk,
    what_to_do,
)
from core.store.sqlite.maintenance import require_current, snapshot
from core.store.units import Row, Transaction, Unit
from core.tool import Effect
from core.users import Principal

T = TypeVar("T")


@contextlib.contextmanager
def audit_in(path: Path) -> Generator[AuditSnapshot]:
    """Open a database's audit, with or without a running hub. Raises StoreUnavailable, SchemaTooNew,
    SchemaTooOld."""
    with snapshot(path) as tx:
        yield AuditSnapshot(tx)


class Was(StrEnum):
    """The outcome of a call before any person decided on it."""

    RUNS = "runs"
    ASKS = "asks"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call as the model made it, the person it was made for, and that person's current grants and
    settings."""

    at: int
    thread_id: str
    call: CallRow
    principal: Principal
    standing: ConsentSettings
    was: Was


_CALLS = (
    f"SELECT e.at, c.thread_id, c.id, c.turn_id, c.seq, c.tool, e.text, c.effect, {PRINCIPAL},"
    " EXISTS (SELECT 1 FROM gates g WHERE g.kind = 'approval'"
    " AND (g.id = c.gate_id OR g.call_id = c.id)),"
    " c.status, c.started_at IS NOT NULL,"
    " (SELECT r.text FROM entries r WHERE r.thread_id = c.thread_id AND r.seq > c.seq AND r.kind = 'result'"
    " AND r.call_id = c.id LIMIT 1)"
    " FROM calls c JOIN entries e ON e.thread_id = c.thread_id AND e.seq = c.seq"
    " JOIN runs tn ON tn.id = c.turn_id JOIN users u ON u.id = tn.principal_id"
    " WHERE tn.kind = 'chat' ORDER BY e.at DESC, c.id DESC LIMIT ?"
)
_NOT_BY_RULE = "Not run:"
"""The prefix of refusals that no consent rule made: tools were paused, used too often, or it was
too late."""


def _past_call(tx: Transaction, row: Row) -> PastCall | None:
    was = _was(*row[11:15])
    if was is None:
        return None
    at, thread_id, call_id, turn_id, seq, tool, arguments, effect = row[:8]
    principal = principal_of(row[8:11])
    call = CallRow(call_id, turn_id, seq, tool, arguments, CallState.INTENT, Effect(effect))
    return PastCall(at, thread_id, call, principal, in_thread(tx, principal.user_id, thread_id), was)


def _was(asked: int, status: str | None, ran: int, said: str | None) -> Was | None:
    if asked:
        return Was.ASKS
    if status == "denied":
        return None if (said or "").startswith(_NOT_BY_RULE) else Was.REFUSED
    return Was.RUNS if ran else None


def past_calls_in(path: Path, limit: int, clock: Clock) -> tuple[Sequence[PastCall], int]:
    """Return the newest judged calls, oldest first, and how many of the calls read were not judged, or
    not by a rule. Raises StoreUnavailable, SchemaTooNew, SchemaTooOld."""
    with snapshot(path, clock) as tx:
        rows = tx.all(_CALLS, limit)
        found = [call for row in reversed(rows) if (call := _past_call(tx, row)) is not None]
    return found, len(rows) - len(found)


def sealed_in(path: Path) -> tuple[SealedSecret, ...]:
    """Return the secrets of a database before a store is open on it. Empty if there is none yet.

    Raises StoreUnavailable if it cannot be read."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return ()
    except OSError as error:
        raise StoreUnavailable(f"can't read {path}: {error.strerror}") from error
    with snapshot(path, any_schema=True) as tx:
        return tuple(secret_of(row) for row in tx.all(f"SELECT {SEALED} FROM secrets ORDER BY name"))


class Listings:
    """A read-only connection for single statements, with or without a running hub; used as `async with`."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self._path = path
        self.clock = clock or SystemClock()
        self._opened: aiosqlite.Connection | None = None
        self.lease = Lease()
        self.words = SqliteWordSearch()

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


@contextlib.asynccontextmanager
async def open_listings(path: Path, clock: Clock | None = None) -> AsyncGenerator[SqlViews]:
    """Open a database for listings, whether or not a hub runs on it.

    Raises StoreUnavailable, SchemaTooNew, SchemaTooOld."""
    async with Listings(path, clock) as listings:
        yield SqlViews(listings)


def _unreadable(error: sqlite3.Error) -> StoreUnavailable:
    return StoreUnavailable(f"it is not readable: {error}{what_to_do(error)}")
