"""How every connection to the database file is set up, and what its errors mean."""

import os
import sqlite3
from pathlib import Path

from core.errors import StoreUnavailable

BUSY_TIMEOUT_S = 5.0
"""How long a writer waits for another process's transaction (a command line beside the hub)."""
OLDEST_SQLITE = (3, 37, 0)
"""STRICT tables; RETURNING is older."""

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

_RESTORE = "stop the hub and put a backup in its place: hubbub db restore FILE"
_ADVICE = {
    sqlite3.SQLITE_CORRUPT: _RESTORE,
    sqlite3.SQLITE_NOTADB: _RESTORE,
    sqlite3.SQLITE_FULL: "make room on its disk",
    sqlite3.SQLITE_IOERR: "its disk fails or is full: make room, or look at the system's log",
    sqlite3.SQLITE_READONLY: "make it and its directory writable for the user the hub runs as",
    sqlite3.SQLITE_CANTOPEN: "make it and its directory readable for the user the hub runs as",
    sqlite3.SQLITE_BUSY: "another program holds it: end that one",
    sqlite3.SQLITE_LOCKED: "another program holds it: end that one",
}


def connect_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes. A commit on it is on disk when it returns (synchronous=FULL).

    The file is made for its owner alone; the write-ahead log takes its mode from it.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreUnavailable(f"SQLite {sqlite3.sqlite_version} is too old: 3.37 or newer is needed")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = _connect(database_uri(path, read_only=False))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -8192")
    # Pages that change again and again are copied into the database once in 16 MB of log, not in 4.
    connection.execute("PRAGMA wal_autocheckpoint = 4096")
    # The log is cut back to this after a burst; a checkpoint empties it without giving the space back.
    connection.execute("PRAGMA journal_size_limit = 67108864")
    return connection


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection that only reads; it sees every commit made before its transaction began."""
    return _connect(database_uri(path, read_only=True))


def database_uri(path: Path, *, read_only: bool) -> str:
    """The file as SQLite is told of it; it is never made by looking at it."""
    return f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, cached_statements=512)


def what_to_do(error: BaseException | None) -> str:
    """The advice that fits, after a semicolon, for whoever looks after the file; "" where there is none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    advice = _ADVICE.get(code & 0xFF) if code is not None else None
    return f"; {advice}" if advice else ""


def is_failure_of_the_disk(error: BaseException) -> bool:
    """Whether the database could not write (or read) now, as opposed to a statement being wrong."""
    if not isinstance(error, sqlite3.Error):
        return False
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF) in _FAILURES_OF_THE_DISK
