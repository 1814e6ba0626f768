"""Setup of connections to the database file, and the meaning of their errors."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from core.audit_chain import ChainKeys, PassingKeys
from core.clock import Clock
from core.errors import StoreUnavailable
from core.ids import Ids
from core.lazy import dataclass
from core.store.conversations import Phrase, indexed_terms
from core.store.feed import ChangeLog
from core.store.lease import Lease
from core.store.rows import is_prefix, note_terms
from core.store.units import Policy, Row, Unit

BUSY_TIMEOUT_S = 5.0
"""The time a writer waits for another process's transaction (a command line while the hub runs)."""
_LOOK_AGAIN_S = 0.01
OLDEST_SQLITE = (3, 37, 0)
"""The oldest supported version, needed for STRICT tables; RETURNING is older."""

_FAILURES_OF_THE_DISK = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_PROTOCOL,
    }
)

_RESTORE = "stop the hub and restore a backup: hubbub db restore FILE"
_ADVICE = {
    sqlite3.SQLITE_CORRUPT: _RESTORE,
    sqlite3.SQLITE_NOTADB: _RESTORE,
    sqlite3.SQLITE_FULL: "free up space on its disk",
    sqlite3.SQLITE_IOERR: "its disk is full or failing: free up space, or check the system log",
    sqlite3.SQLITE_READONLY: "make it and its directory writable by the hub's user",
    sqlite3.SQLITE_CANTOPEN: "make it and its directory readable by the hub's user",
    sqlite3.SQLITE_BUSY: "another program has locked it: stop that program",
    sqlite3.SQLITE_LOCKED: "another program has locked it: stop that program",
}


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open the one connection that writes. Its commits are on disk when they return
    (synchronous=FULL).

    The file is created for its owner alone; the write-ahead log inherits its mode.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreUnavailable(f"SQLite {sqlite3.sqlite_version} is too old: 3.37 or newer is needed")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = _connect(database_uri(path, read_only=False))
    _keep_a_log(connection)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -8192")
    # Pages that change again and again are copied into the database once in 16 MB of log, not in 4.
    connection.execute("PRAGMA wal_autocheckpoint = 4096")
    # The log is cut back to this after a burst; a checkpoint empties it without giving the space back.
    connection.execute("PRAGMA journal_size_limit = 67108864")
    return connection


def _keep_a_log(connection: sqlite3.Connection) -> None:
    """Turn the write-ahead log on. Another process may be doing so, for which SQLite itself does not wait."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_LOOK_AGAIN_S)
        else:
            return


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a read-only connection. It sees every commit made before its transaction began."""
    return _connect(database_uri(path, read_only=True))


def database_uri(path: Path, *, read_only: bool) -> str:
    """Return the file's URI for SQLite. Opening it read-only never creates the file."""
    return f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, cached_statements=512)


def what_to_do(error: BaseException | None) -> str:
    """Return advice on the error for the operator, after a semicolon, or "" if there is none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    advice = _ADVICE.get(code & 0xFF) if code is not None else None
    return f"; {advice}" if advice else ""


def is_failure_of_the_disk(error: BaseException) -> bool:
    """Return True if the database could not be read or written now, as opposed to a wrong statement."""
    if not isinstance(error, sqlite3.Error):
        return False
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF) in _FAILURES_OF_THE_DISK


class SqliteNoteIndex:
    """Implements core.store.units.NoteIndex by FTS5, in the table `memory_terms`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, row_id: int, text: str) -> None:
        terms = " ".join(note_terms(text))
        self._connection.execute("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", (row_id, terms))

    def remove(self, row_id: int, text: str) -> None:
        # The table keeps no texts, so it has to be told which terms to take out.
        self._connection.execute(
            "INSERT INTO memory_terms (memory_terms, rowid, terms) VALUES ('delete', ?, ?)",
            (row_id, " ".join(note_terms(text))),
        )

    def find(self, user_id: str, phrases: Sequence[tuple[str, ...]], limit: int) -> list[Row]:
        return self._connection.execute(
            "SELECT m.id, m.text, m.created_at, m.path FROM memory_terms f JOIN memories m ON m.id = f.rowid"
            " WHERE f.memory_terms MATCH ? AND m.user_id = ? ORDER BY f.rowid DESC LIMIT ?",
            (" AND ".join(map(_phrase, phrases)), user_id, limit),
        ).fetchall()


def _phrase(phrase: tuple[str, ...]) -> str:
    return _quoted(phrase, prefix=is_prefix(phrase))


def _quoted(terms: Sequence[str], *, prefix: bool) -> str:
    """Return an FTS5 phrase. Terms contain only letters and digits, so quotes need no escape."""
    return f'"{" ".join(terms)}"{" *" if prefix else ""}'


class SqliteWordSearch:
    """Implements core.store.conversations.WordSearch by FTS5, in the table `said_terms`."""

    condition = "s.id IN (SELECT rowid FROM said_terms WHERE said_terms MATCH ?)"

    def parameter(self, phrases: Sequence[Phrase]) -> str:
        return " AND ".join(_quoted(phrase.terms, prefix=phrase.prefix) for phrase in phrases)


class SqliteSaidIndex(SqliteWordSearch):
    """Implements core.store.units.SaidIndex."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add(self, row_id: int, texts: Sequence[str]) -> None:
        self._connection.execute(
            "INSERT INTO said_terms (rowid, terms) VALUES (?, ?)", (row_id, indexed_terms(texts))
        )

    def remove(self, row_id: int, texts: Sequence[str]) -> None:
        self._connection.execute(
            "INSERT INTO said_terms (said_terms, rowid, terms) VALUES ('delete', ?, ?)",
            (row_id, indexed_terms(texts)),
        )


@dataclass(frozen=True, slots=True)
class SqliteTransaction:
    """A unit's access to one connection; implements core.store.units.Transaction."""

    connection: sqlite3.Connection
    clock: Clock
    ids: Ids
    policy: Policy
    changes: ChangeLog = field(default_factory=ChangeLog)
    chain: ChainKeys = field(default_factory=PassingKeys)
    lease: Lease = field(default_factory=Lease)
    event: str | None = None

    @property
    def notes(self) -> SqliteNoteIndex:
        return SqliteNoteIndex(self.connection)

    @property
    def said(self) -> SqliteSaidIndex:
        return SqliteSaidIndex(self.connection)

    def accepting(self, event_key: str) -> "SqliteTransaction":
        """Return the same transaction for the effects of an inbound event."""
        return SqliteTransaction(
            self.connection,
            self.clock,
            self.ids,
            self.policy,
            self.changes,
            self.chain,
            self.lease,
            event_key,
        )

    def one(self, sql: str, *parameters: Any) -> Row | None:
        """Return the statement's first row."""
        # All rows are fetched: an unfinished statement would hold the transaction open.
        rows = self.connection.execute(sql, parameters).fetchall()
        return rows[0] if rows else None

    def all(self, sql: str, *parameters: Any) -> list[Row]:
        """Return all rows of the statement."""
        return self.connection.execute(sql, parameters).fetchall()

    def run(self, sql: str, *parameters: Any) -> int:
        """Run the statement and return the number of rows it changed."""
        return self.connection.execute(sql, parameters).rowcount

    def insert(self, sql: str, *parameters: Any) -> int:
        """Insert a row and return its number."""
        return self.connection.execute(sql, parameters).lastrowid or 0


T = TypeVar("T")


# Hot reads: whole units in a separate thread, each on one consistent view of the database.

QUEUE_LIMIT = 256
"""Maximum number of reads submitted and not yet answered; further callers wait."""


class ReaderThread:
    """A thread that runs reading units one after the other, in parallel to the writer."""

    def __init__(self, path: Path, begin: Callable[[sqlite3.Connection], SqliteTransaction]) -> None:
        self._path = path
        self._begin = begin
        self._slots = asyncio.Semaphore(QUEUE_LIMIT)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store reader")
        self._transaction: SqliteTransaction | None = None

    async def run(self, unit: Unit[T]) -> T:
        """Run a unit and return its result. It sees every commit whose caller was answered."""
        async with self._slots:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, unit)

    async def close(self) -> None:
        """Answer all submitted reads, then close the connection."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown(wait=False)

    def _read(self, unit: Unit[T]) -> T:
        try:
            transaction = self._transaction
            if transaction is None:
                transaction = self._transaction = self._begin(connect_reader(self._path))
            transaction.connection.execute("BEGIN")
            try:
                return unit(transaction)
            finally:
                transaction.connection.execute("COMMIT")
        except sqlite3.Error as error:
            if is_failure_of_the_disk(error):
                raise StoreUnavailable(f"the database can't be read: {error}") from error
            raise

    def _disconnect(self) -> None:
        if self._transaction is not None:
            self._transaction.connection.close()
            self._transaction = None
