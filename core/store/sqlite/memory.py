"""Notes and documents that people asked the hub to keep."""

from core.store.codec import storable
from core.store.kept import Document, MemoryNote
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
        tx.run("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", row[0], _terms(storable(text)))


def write_document(
    tx: Transaction, user_id: str, key: str, path: str, text: str, *, append: bool, most: int
) -> Document | None:
    """See Kept.write_document. A document's number grows with each change, so that newer ones come first."""
    old = tx.one(
        "SELECT id, text, key, created_at FROM memories WHERE user_id = ? AND path = ?", user_id, path
    )
    if old is not None and old[2] == key:
        return Document(path, len(old[1]), old[3])
    if old is None and _documents_of(tx, user_id) >= most:
        return None
    now, whole = tx.clock.now(), storable(text)
    if old is not None:
        whole = f"{old[1].rstrip()}\n{whole}" if append and old[1].strip() else whole
        tx.run(
            "INSERT INTO memory_terms (memory_terms, rowid, terms) VALUES ('delete', ?, ?)",
            old[0],
            _terms(old[1]),
        )
        tx.run("DELETE FROM memories WHERE id = ?", old[0])
    row_id = tx.insert(
        "INSERT INTO memories (user_id, key, text, created_at, path) VALUES (?, ?, ?, ?, ?)",
        user_id,
        key,
        whole,
        now,
        path,
    )
    tx.run("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", row_id, _terms(whole))
    return Document(path, len(whole), now)


def document(tx: Transaction, user_id: str, path: str) -> MemoryNote | None:
    """See Kept.document."""
    row = tx.one(
        "SELECT id, text, created_at, path FROM memories WHERE user_id = ? AND path = ?", user_id, path
    )
    return None if row is None else MemoryNote(str(row[0]), *row[1:])


def documents(tx: Transaction, user_id: str, folder: str, limit: int) -> tuple[Document, ...]:
    """See Kept.documents."""
    rows = tx.all(
        "SELECT path, length(text), created_at FROM memories WHERE user_id = ? AND path IS NOT NULL"
        " AND (? = '' OR path = ? OR substr(path, 1, length(?) + 1) = ? || '/') ORDER BY path LIMIT ?",
        user_id,
        folder,
        folder,
        folder,
        folder,
        limit,
    )
    return tuple(Document(*row) for row in rows)


def _documents_of(tx: Transaction, user_id: str) -> int:
    row = tx.one("SELECT count(*) FROM memories WHERE user_id = ? AND path IS NOT NULL", user_id)
    return 0 if row is None else row[0]


def _terms(text: str) -> str:
    return " ".join(note_terms(text))


def search_memory(tx: Transaction, user_id: str, query: str, limit: int) -> tuple[MemoryNote, ...]:
    """See Store.search_memory."""
    match = " AND ".join(_phrase(phrase) for phrase in query_phrases(storable(query)))
    if not match:
        rows = tx.all(
            "SELECT id, text, created_at, path FROM memories WHERE user_id = ? ORDER BY id DESC LIMIT ?",
            user_id,
            limit,
        )
    else:
        rows = tx.all(
            "SELECT m.id, m.text, m.created_at, m.path FROM memory_terms f JOIN memories m ON m.id = f.rowid"
            " WHERE f.memory_terms MATCH ? AND m.user_id = ? ORDER BY f.rowid DESC LIMIT ?",
            match,
            user_id,
            limit,
        )
    return tuple(MemoryNote(str(row[0]), *row[1:]) for row in rows)


def _phrase(phrase: tuple[str, ...]) -> str:
    """A phrase of FTS5; terms hold letters and digits alone, so quotes need no escape."""
    return f'"{" ".join(phrase)}"{" *" if is_prefix(phrase) else ""}'
