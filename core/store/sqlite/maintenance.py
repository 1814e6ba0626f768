"""Maintenance of the database file: checks, backups, restores and upgrades.

Plain functions that take as long as the file is large; none needs a running event loop.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path

from core.clock import Clock, SystemClock
from core.errors import SchemaTooNew, SchemaTooOld, StoreUnavailable
from core.ids import RandomIds
from core.lazy import dataclass
from core.store.conversations import indexed_terms
from core.store.sqlite.connection import (
    SqliteTransaction,
    connect_reader,
    connect_writer,
    database_uri,
    what_to_do,
)
from core.store.units import Policy, Transaction

# The schema: one script that makes a new database, and numbered ones that upgrade older databases.

_SCRIPTS = Path(__file__).parents[1] / "schema" / "sqlite"


@dataclass(frozen=True, slots=True)
class Schema:
    """The scripts of this version.

    `version`: the schema they lead to.
    `new`: the script that makes an empty database one of that schema.
    `upgrades`: the last one upgrades to `version`, each from the schema before it.
    """

    version: int
    new: str
    upgrades: tuple[str, ...]

    @property
    def oldest(self) -> int:
        """The oldest schema that can be upgraded."""
        return self.version - len(self.upgrades)


@cache
def current_schema() -> Schema:
    """Return this version's schema. Script N upgrades a database from schema N - 1 to N."""
    numbers = sorted(int(file.stem) for file in _SCRIPTS.glob("[0-9]*.sql"))
    last = numbers[-1]
    if numbers != list(range(numbers[0], last + 1)):
        raise RuntimeError(f"schema scripts are not numbered without a gap: {numbers}")
    upgrades = tuple((_SCRIPTS / f"{number:04}.sql").read_text(encoding="utf-8") for number in numbers)
    return Schema(last, (_SCRIPTS / "new.sql").read_text(encoding="utf-8"), upgrades)


def migrate(connection: sqlite3.Connection, schema: Schema) -> None:
    """Bring the database to the schema, all or nothing, in one transaction under the database's write lock.

    Raises SchemaTooNew, SchemaTooOld.
    """
    connection.execute("PRAGMA legacy_alter_table = OFF")  # or a rename leaves references to the old name
    connection.create_function("search_terms", 1, _search_terms)
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = schema_version(connection)
        _refuse_unknown(version, schema)
        scripts = schema.upgrades[version - schema.oldest :] if version else (schema.new,)
        for script in scripts:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {schema.version}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _search_terms(texts: str) -> str:
    return indexed_terms(json.loads(texts))


def require_known(version: int) -> None:
    """Raise SchemaTooNew or SchemaTooOld for a schema that this version can neither use nor upgrade."""
    _refuse_unknown(version, current_schema())


def require_current(version: int) -> None:
    """Check the schema for a read-only client. Raises SchemaTooNew, SchemaTooOld, or StoreUnavailable if an
    upgrade is due."""
    current = current_schema()
    _refuse_unknown(version, current)
    if version < current.version:
        raise StoreUnavailable(
            f"the database has schema {version}, this version needs {current.version}: run: hubbub db upgrade"
        )


@contextlib.contextmanager
def snapshot(path: Path, clock: Clock | None = None, *, any_schema: bool = False) -> Generator[Transaction]:
    """Open a database for reading at one moment, with or without a running hub.

    `any_schema`: also one that an upgrade is due for, for statements that know its schema.
    Raises StoreUnavailable, SchemaTooNew, SchemaTooOld."""
    try:
        with contextlib.closing(connect_reader(path)) as connection:
            connection.execute("BEGIN")
            if not any_schema:
                require_current(schema_version(connection))
            yield SqliteTransaction(connection, clock or SystemClock(), RandomIds(), Policy())
    except sqlite3.Error as error:
        raise StoreUnavailable(f"can't read {path}: {error}") from error


def schema_version(connection: sqlite3.Connection) -> int:
    """Return the version of the database's schema; 0 for an empty database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _refuse_unknown(version: int, current: Schema) -> None:
    if version > current.version:
        raise SchemaTooNew(
            f"the database has schema {version}, this version knows {current.version}:"
            " install a newer version"
        )
    if 0 < version < current.oldest:
        raise SchemaTooOld(
            f"the database has schema {version}, this version upgrades from {current.oldest} or later:"
            f" install the version with schema {current.oldest}, run its hubbub db upgrade, then update again"
        )


def _statements(script: str) -> Iterator[str]:
    """Return the script's statements one by one: executescript would commit the transaction first."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        raise RuntimeError(f"schema script ends within a statement: {pending.strip()[:60]}")


Progress = Callable[[int, int], None]
"""A callback for progress: the pages done, and their total."""

PAGES_AT_ONCE = 512
"""2 MB: the longest copy step a writer has to wait for."""
SHOWN_PROBLEMS = 20

INVARIANTS = (
    ("a thread's last position is lower than an entry's", "SELECT t.id FROM threads t"
     " WHERE t.last_seq < (SELECT max(e.seq) FROM entries e WHERE e.thread_id = t.id)"),
    ("an entry is in another thread than its turn", "SELECT e.thread_id || ' ' || e.seq FROM entries e"
     " JOIN runs tn ON tn.id = e.turn_id WHERE tn.thread_id <> e.thread_id"),
    ("a waiting turn has no open gate", "SELECT tn.id FROM runs tn WHERE tn.state = 'waiting'"
     " AND NOT EXISTS (SELECT 1 FROM gates g WHERE g.turn_id = tn.id AND g.state = 'open')"),
    ("an open gate belongs to a turn that is not waiting", "SELECT g.id FROM gates g JOIN runs tn"
     " ON tn.id = g.turn_id WHERE g.state = 'open' AND tn.state <> 'waiting'"
     " AND g.kind NOT IN ('changes', 'credential')"),
    ("a secret is asked about for a job that has ended", "SELECT g.id FROM gates g JOIN runs tn"
     " ON tn.id = g.turn_id WHERE g.state = 'open' AND g.kind = 'credential' AND tn.state <> 'running'"),
    ("changes are asked about that no job submits", "SELECT g.id FROM gates g WHERE g.state = 'open'"
     " AND g.kind = 'changes' AND NOT EXISTS"
     " (SELECT 1 FROM jobs j WHERE j.id = g.turn_id AND j.state = 'submitted')"),
    ("a call is running in a turn that is not", "SELECT c.id FROM calls c JOIN runs tn ON tn.id = c.turn_id"
     " WHERE c.state = 'running' AND tn.state <> 'running'"),
    ("a call has an outcome and no result", "SELECT c.id FROM calls c WHERE c.state = 'ended' AND NOT EXISTS"
     " (SELECT 1 FROM entries e WHERE e.thread_id = c.thread_id AND e.call_id = c.id AND e.kind = 'result')"),
    ("a call has two results", "SELECT call_id FROM entries WHERE kind = 'result'"
     " GROUP BY thread_id, call_id HAVING count(*) > 1"),
    ("an undo and an entry have one position", "SELECT e.thread_id || ' ' || e.seq FROM entries e"
     " WHERE e.undone <= e.seq AND e.undone <> 0 OR EXISTS (SELECT 1 FROM entries x"
     " WHERE x.thread_id = e.thread_id AND x.seq = e.undone)"),
    ("a running turn was undone", "SELECT tn.id FROM runs tn JOIN entries e ON e.turn_id = tn.id"
     " WHERE tn.state IN ('running', 'waiting') AND e.undone IS NOT NULL"),
    ("a thread can undo more turns than it has", "SELECT t.id FROM threads t WHERE t.checkpoints > 20"
     " OR t.checkpoints > (SELECT count(DISTINCT e.turn_id) FROM entries e"
     " WHERE e.thread_id = t.id AND e.undone IS NULL AND e.kind <> 'summary') AND t.kind = 'chat'"),
    ("a sent message has no platform ID", "SELECT id FROM outbox"
     " WHERE state = 'sent' AND edit_of IS NULL AND json_array_length(refs) = 0"),
    ("a message cannot be read", "SELECT id FROM outbox WHERE NOT json_valid(message)"),
    ("audit records of a writer are missing", "SELECT w.writer FROM audit_writers w JOIN audit a"
     " ON a.writer = w.writer GROUP BY w.writer, w.number"
     " HAVING max(a.number) <> w.number OR count(*) <> max(a.number) - min(a.number) + 1"),
    ("the audit chain has gaps", "SELECT max(position) FROM audit WHERE position IS NOT NULL"
     " HAVING count(*) <> max(position) - min(position) + 1"),
    ("a routine's run is running without a journal or a job", "SELECT r.id FROM routine_runs r"
     " WHERE r.state = 'running' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.run_id = r.id)"
     " AND NOT EXISTS (SELECT 1 FROM runs tn WHERE tn.id = r.id AND tn.state = 'running')"),
    ("queued input has no thread", "SELECT key FROM inbox WHERE outcome = 'waiting' AND thread_id IS NULL"),
)  # fmt: skip
"""Invariants of every commit that the schema itself does not enforce, each with a query for
violations."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check. The database is sound if there are no `problems`."""

    schema: int
    size_bytes: int
    problems: tuple[str, ...]


def check(path: Path) -> Checked:
    """Check that the whole database is sound, as it is at one moment.

    Raises SchemaTooNew, SchemaTooOld, and StoreUnavailable if it is no database.
    """
    connection = connect_reader(path)
    try:
        connection.execute("BEGIN")
        version = schema_version(connection)
        require_known(version)
        size_bytes = _size_bytes(connection)
        problems = [*_damage(connection)]
        if not problems and version == current_schema().version:
            problems += _broken_rules(connection)
    except sqlite3.DatabaseError as error:
        raise StoreUnavailable(f"{path} is not an intact database: {error}{what_to_do(error)}") from error
    finally:
        connection.close()
    return Checked(version, size_bytes, tuple(problems))


def _size_bytes(connection: sqlite3.Connection) -> int:
    """Return the size of the whole database, including pages that are only in the write-ahead log."""
    ((pages,),) = connection.execute("PRAGMA page_count")
    ((page_bytes,),) = connection.execute("PRAGMA page_size")
    return int(pages) * int(page_bytes)


def _damage(connection: sqlite3.Connection) -> Iterator[str]:
    for (said,) in connection.execute(f"PRAGMA integrity_check({SHOWN_PROBLEMS})"):
        if said != "ok":
            yield f"damaged: {said}"
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check").fetchmany(SHOWN_PROBLEMS):
        yield f"row {row} of {table} refers to a missing row of {parent}"


def _broken_rules(connection: sqlite3.Connection) -> Iterator[str]:
    for rule, exceptions in INVARIANTS:
        for (name,) in connection.execute(exceptions).fetchmany(SHOWN_PROBLEMS):
            yield f"{rule}: {name}"


# --- backups ------------------------------------------------------------------------------------------


def back_up(path: Path, target: Path, progress: Progress) -> None:
    """Back up the database, as it is at one moment, to a new file readable by its user alone. The hub
    may be running.

    Raises FileExistsError, OSError, StoreUnavailable; leaves no partial backup.
    """
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        _copy(path, target, progress)
        _sync(target)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def restore(
    backup: Path, path: Path, kept_as: Path, progress: Progress, prepare: Callable[[Path], None]
) -> None:
    """Restore a backup. The current database is kept under another name.

    `prepare` changes the backup before it is put in place; its exceptions are passed on, and the
    database is then unchanged.

    The caller must hold the data directory's lock. Raises SchemaTooNew, SchemaTooOld, StoreUnavailable,
    OSError;
    the database is then unchanged.
    """
    unsound = check(backup).problems
    if unsound:
        raise StoreUnavailable(f"{backup} is damaged: {unsound[0]}")
    fresh = path.with_name(f"{path.name}.restoring")
    for left in ("", "-wal", "-shm"):  # left by a process that was killed
        fresh.with_name(f"{fresh.name}{left}").unlink(missing_ok=True)
    back_up(backup, fresh, progress)
    prepare(fresh)
    _empty_log(fresh)
    _sync(fresh)
    if path.exists():
        _empty_log(path)
        os.link(path, kept_as)
    for log in ("-wal", "-shm"):
        path.with_name(f"{path.name}{log}").unlink(missing_ok=True)
    fresh.rename(path)
    _sync(path.parent)


def _copy(path: Path, target: Path, progress: Progress) -> None:
    source = connect_reader(path)
    try:
        copy = sqlite3.connect(database_uri(target, read_only=False), uri=True)
        try:
            source.backup(
                copy, pages=PAGES_AT_ONCE, progress=lambda _, left, pages: progress(pages - left, pages)
            )
            # A backup is one file: opening it as a database switches it back to a write-ahead log.
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()
    except sqlite3.DatabaseError as error:
        raise StoreUnavailable(f"can't copy {path}: {error}{what_to_do(error)}") from error
    finally:
        source.close()


def _empty_log(path: Path) -> None:
    """Move the write-ahead log into the file itself, as far as possible."""
    connection = sqlite3.connect(database_uri(path, read_only=False), uri=True)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.DatabaseError:
        return  # damaged: the existing files are kept as they are
    finally:
        connection.close()


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


# --- upgrades -------------------------------------------------------------------------------------------


def version_of(path: Path) -> int:
    """Return the schema version of a database. Raises StoreUnavailable if it is no database."""
    try:
        connection = connect_reader(path)
        try:
            return schema_version(connection)
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise StoreUnavailable(f"{path} is not a database: {error}{what_to_do(error)}") from error


def upgrade(path: Path) -> None:
    """Upgrade the schema to the current version, as a starting hub does, all or nothing. Raises
    SchemaTooNew, SchemaTooOld.

    The caller must hold the data directory's lock.
    """
    try:
        connection = connect_writer(path)
        try:
            migrate(connection, current_schema())
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise StoreUnavailable(f"can't upgrade {path}: {error}{what_to_do(error)}") from error
