"""Ten thousand conversations and routines in a hub's database, made of a few: nobody waits until that many
people wrote."""

import contextlib
import sqlite3
import uuid
from pathlib import Path

SECOND_US = 1_000_000
LONG_NAME = "名字很长的人 with a name of two hundred characters " * 5
NAMES = ("Ordinary words", "部署计划与发布检查清单讨论", LONG_NAME[:200], "x" * 200)


def multiply(database: Path, template: str, count: int) -> None:
    """Copy a thread with what was said in it. The hub must not be running."""
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        thread = _columns(connection, "threads")
        entry = _columns(connection, "entries")
        for number in range(count):
            new = str(uuid.UUID(int=(1 << 120) + (7 << 76) + (2 << 62) + number))
            title = f"{number} {NAMES[number % len(NAMES)]}"[:200]
            changed = {
                "id": "?1",
                "scope": "?1",
                "title": "?2",
                "last_active_at": f"last_active_at - {(number + 1) * SECOND_US}",
            }
            _copy(connection, "threads", thread, changed, "id = ?3", (new, title, template))
            _copy(
                connection,
                "entries",
                entry,
                {"thread_id": "?1", "turn_id": "turn_id"},
                "thread_id = ?2",
                (new, template),
            )


def multiply_routines(database: Path, count: int) -> None:
    """Copy the routines there are until there are so many more. The hub must not be running."""
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        templates = [row[0] for row in connection.execute("SELECT id FROM routines ORDER BY name")]
        columns = _columns(connection, "routines")
        changed = {"id": "?1", "name": "?2", "definition": "json_set(definition, '$.name', ?2)"}
        for number in range(count):
            new = str(uuid.UUID(int=(2 << 120) + (7 << 76) + (2 << 62) + number))
            name = f"{number} {NAMES[number % len(NAMES)]}"[:100].strip()
            values = new, name, templates[number % len(templates)]
            _copy(connection, "routines", columns, changed, "id = ?3", values)


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _copy(
    connection: sqlite3.Connection,
    table: str,
    columns: list[str],
    changed: dict[str, str],
    where: str,
    values: tuple[str, ...],
) -> None:
    taken = ", ".join(changed.get(column, column) for column in columns)
    connection.execute(f"INSERT INTO {table} SELECT {taken} FROM {table} WHERE {where}", values)
