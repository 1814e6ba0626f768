"""The words of notes and documents, indexed by SQLite's FTS5."""

import sqlite3
from collections.abc import Sequence

from core.store.rows import is_prefix, note_terms
from core.store.transaction import Row


class SqliteNoteIndex:
    """Implements core.store.transaction.NoteIndex on the table `memory_terms`."""

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
    """Return an FTS5 phrase. Terms contain only letters and digits, so quotes need no escape."""
    return f'"{" ".join(phrase)}"{" *" if is_prefix(phrase) else ""}'
