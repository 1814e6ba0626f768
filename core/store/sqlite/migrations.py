"""Numbered schema changes, each applied once, in one transaction, under the database's write lock."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from core.errors import SchemaTooNew, StoreUnavailable

_SCHEMA = Path(__file__).parents[1] / "schema" / "sqlite"


def migrate(connection: sqlite3.Connection, scripts: Sequence[str]) -> None:
    """Bring the database to the schema of the last script; all or nothing. Raises SchemaTooNew."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = schema_version(connection)
        _refuse_newer(version, len(scripts))
        for script in scripts[version:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(scripts)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def require_known(version: int) -> None:
    """Raises SchemaTooNew for a schema of a later version."""
    _refuse_newer(version, len(schema_scripts()))


def require_current(version: int) -> None:
    """For those who only read: raises SchemaTooNew, or StoreUnavailable where an upgrade is due."""
    current = len(schema_scripts())
    _refuse_newer(version, current)
    if version < current:
        raise StoreUnavailable(
            f"the database has schema {version}, this version needs {current}: run: hubbub db upgrade"
        )


def schema_version(connection: sqlite3.Connection) -> int:
    """The number of the last script that was applied; 0 for an empty database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _refuse_newer(version: int, current: int) -> None:
    if version > current:
        raise SchemaTooNew(
            f"the database has schema {version}, this version knows {current}: install a newer version"
        )


def schema_scripts() -> list[str]:
    """This version's scripts; number N brings a database from schema N - 1 to N."""
    files = sorted(file.name for file in _SCHEMA.glob("*.sql"))
    if files != [f"{number:04}.sql" for number in range(1, len(files) + 1)]:
        raise RuntimeError(f"schema scripts are not numbered from 0001 without a gap: {files}")
    return [(_SCHEMA / name).read_text(encoding="utf-8") for name in files]


def _statements(script: str) -> Iterator[str]:
    """The script's statements one by one: executescript would commit the transaction first."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        raise RuntimeError(f"schema script ends within a statement: {pending.strip()[:60]}")
