"""Notes that people asked the hub to keep."""

from core.store.codec import storable
from core.store.rows import MemoryNote
from core.store.sqlite.transaction import Transaction
from core.store.terms import is_prefix, note_terms, query_phrases


def write_memory(tx: Transaction, user_id: str, key: str, text: str) -> None:
    """See Store.write_memory."""
    row = tx.one(
        "INSERT INTO memories (user_id, key, text, created_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (user_id, key) DO NOTHING RETURNING id",
        user_id,
        key,
        storable(text),
        tx.clock.now(),
    )
    if row is not None:
        terms = " ".join(note_terms(storable(text)))
        tx.run("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", row[0], terms)


def search_memory(tx: Transaction, user_id: str, query: str, limit: int) -> tuple[MemoryNote, ...]:
    """See Store.search_memory."""
    match = " AND ".join(_phrase(phrase) for phrase in query_phrases(storable(query)))
    if not match:
        rows = tx.all(
            "SELECT id, text, created_at FROM memories WHERE user_id = ? ORDER BY id DESC LIMIT ?",
            user_id,
            limit,
        )
    else:
        rows = tx.all(
            "SELECT m.id, m.text, m.created_at FROM memory_terms f JOIN memories m ON m.id = f.rowid"
            " WHERE f.memory_terms MATCH ? AND m.user_id = ? ORDER BY f.rowid DESC LIMIT ?",
            match,
            user_id,
            limit,
        )
    return tuple(MemoryNote(str(row[0]), row[1], row[2]) for row in rows)


def _phrase(phrase: tuple[str, ...]) -> str:
    """A phrase of FTS5; terms hold letters and digits alone, so quotes need no escape."""
    return f'"{" ".join(phrase)}"{" *" if is_prefix(phrase) else ""}'
