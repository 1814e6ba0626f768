"""Notes and documents that people asked the hub to keep."""

from collections.abc import Sequence
from pathlib import Path

from core.audit_chain import RETIRED, AuditKind
from core.errors import StoreUnavailable
from core.store.codecs import storable
from core.store.facets import Document, MemoryNote, SealedSecret
from core.store.rows import is_prefix, note_terms, query_phrases
from core.store.sqlite.audit import record
from core.store.sqlite.connection import Transaction
from core.store.sqlite.maintenance import snapshot
from core.store.sqlite.mapping import SEALED, secret_of


def write_memory(tx: Transaction, user_id: str, key: str, text: str) -> None:
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
    """A document's number grows with each change, so that newer ones come first."""
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
    row = tx.one(
        "SELECT id, text, created_at, path FROM memories WHERE user_id = ? AND path = ?", user_id, path
    )
    return None if row is None else MemoryNote(str(row[0]), *row[1:])


def documents(tx: Transaction, user_id: str, folder: str, limit: int) -> tuple[Document, ...]:
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
    """Return an FTS5 phrase. Terms contain only letters and digits, so quotes need no escape."""
    return f'"{" ".join(phrase)}"{" *" if is_prefix(phrase) else ""}'


# Secrets. This database stores them only sealed; the vault's key opens them.


def keep(tx: Transaction, sealed: Sequence[SealedSecret], by: str | None = None) -> None:
    for secret in sealed:
        tx.run(
            "INSERT INTO secrets (name, key_id, sealed, changed_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET key_id = excluded.key_id, sealed = excluded.sealed,"
            " changed_at = excluded.changed_at",
            secret.name,
            secret.key_id,
            secret.sealed,
            secret.changed_at,
        )
        record(tx, AuditKind.SECRET_SET, secret.name, actor=by, key=secret.key_id)


def drop(tx: Transaction, name: str, by: str | None = None) -> bool:
    if name.startswith(RETIRED) or not tx.run("DELETE FROM secrets WHERE name = ?", name):
        return False
    record(tx, AuditKind.SECRET_DELETED, name, actor=by)
    return True


def sealed_in(path: Path) -> tuple[SealedSecret, ...]:
    """Return the secrets of a database before a store is open on it. Empty if there is none yet.

    Raises StoreUnavailable if it cannot be read."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return ()
    except OSError as error:
        raise StoreUnavailable(f"can't read {path}: {error.strerror}") from error
    with snapshot(path, any_schema=True) as tx:
        return tuple(secret_of(row) for row in tx.all(f"SELECT {SEALED} FROM secrets ORDER BY name"))  # noqa: S608
