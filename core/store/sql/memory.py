"""Notes and documents that people asked the hub to keep."""

import json
from collections.abc import Sequence

from core.audit_chain import RETIRED, AuditKind
from core.ids import OWN_SECRET
from core.store.codecs import storable
from core.store.facets import Document, MemoryNote, SealedSecret
from core.store.rows import query_phrases
from core.store.sql.audit import record
from core.store.sql.mapping import SEALED, secret_of
from core.store.sql.people import put_away, taken_back
from core.store.transaction import Transaction
from core.store.units import Facet, reads, writes

_NOTE = ("id", "key", "text", "created_at", "path")


def _documents_of(tx: Transaction, user_id: str) -> int:
    row = tx.one("SELECT count(*) FROM memories WHERE user_id = ? AND path IS NOT NULL", user_id)
    return 0 if row is None else row[0]


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


class SecretUnits(Facet):
    """The units of Secrets."""

    async def secrets(self, *, own: bool = False) -> Sequence[SealedSecret]:
        found = [
            secret_of(row)
            for row in await self._engine.ask(f"SELECT {SEALED} FROM secrets ORDER BY name")  # noqa: S608
        ]
        return found if own else [secret for secret in found if not secret.name.startswith(OWN_SECRET)]

    @writes
    def set_secrets(self, tx: Transaction, sealed: Sequence[SealedSecret], *, by: str | None = None) -> None:
        return keep(tx, sealed, by)

    @writes
    def drop_secret(self, tx: Transaction, name: str, *, by: str | None = None) -> bool:
        if name.startswith(RETIRED) or not tx.run("DELETE FROM secrets WHERE name = ?", name):
            return False
        record(tx, AuditKind.SECRET_DELETED, name, actor=by)
        return True


def drop_secrets_of(tx: Transaction, wanted: str) -> None:
    """Delete the secrets that were stored for a change of the configuration file that is not made."""
    for name in json.loads(wanted).get("secrets", ()):
        if tx.run("DELETE FROM secrets WHERE name = ?", name):
            record(tx, AuditKind.SECRET_DELETED, name)


class MemoryUnits(Facet):
    """The units of Memory."""

    @writes
    def write_memory(self, tx: Transaction, user_id: str, key: str, text: str) -> None:
        row = tx.one(
            "INSERT INTO memories (user_id, key, text, created_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (user_id, key) DO NOTHING RETURNING id",
            user_id,
            key,
            storable(text),
            tx.clock.now(),
        )
        if row is not None:
            tx.notes.add(row[0], storable(text))

    @writes
    def write_document(
        self, tx: Transaction, user_id: str, key: str, path: str, text: str, *, append: bool, most: int
    ) -> Document | None:
        # A document's number grows with each change, so that newer ones come first.
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
            tx.notes.remove(old[0], old[1])
            tx.run("DELETE FROM memories WHERE id = ?", old[0])
        row_id = tx.insert(
            "INSERT INTO memories (user_id, key, text, created_at, path) VALUES (?, ?, ?, ?, ?)",
            user_id,
            key,
            whole,
            now,
            path,
        )
        tx.notes.add(row_id, whole)
        return Document(path, len(whole), now)

    @reads
    def document(self, tx: Transaction, user_id: str, path: str) -> MemoryNote | None:
        row = tx.one(
            "SELECT id, text, created_at, path FROM memories WHERE user_id = ? AND path = ?", user_id, path
        )
        return None if row is None else MemoryNote(str(row[0]), *row[1:])

    @reads
    def documents(self, tx: Transaction, user_id: str, folder: str, limit: int) -> Sequence[Document]:
        rows = tx.all(
            "SELECT path, length(text), created_at FROM memories WHERE user_id = ?1 AND path IS NOT NULL"
            " AND (?2 = '' OR path = ?2 OR substr(path, 1, length(?2) + 1) = ?2 || '/') ORDER BY"
            " path LIMIT ?3",
            user_id,
            folder,
            limit,
        )
        return tuple(Document(*row) for row in rows)

    @reads
    def search_memory(self, tx: Transaction, user_id: str, query: str, limit: int) -> Sequence[MemoryNote]:
        phrases = query_phrases(storable(query))
        if phrases:
            rows = tx.notes.find(user_id, phrases, limit)
        else:
            rows = tx.all(
                "SELECT id, text, created_at, path FROM memories WHERE user_id = ? ORDER BY id DESC LIMIT ?",
                user_id,
                limit,
            )
        return tuple(MemoryNote(str(row[0]), *row[1:]) for row in rows)

    @reads
    def memory_note(self, tx: Transaction, user_id: str, note_id: str) -> MemoryNote | None:
        row = tx.one(
            "SELECT id, text, created_at, path FROM memories WHERE user_id = ? AND id = ?",
            user_id,
            int(note_id),
        )
        return None if row is None else MemoryNote(str(row[0]), *row[1:])

    @writes
    def forget_memory(self, tx: Transaction, user_id: str, note_id: str) -> str | None:
        row = tx.one(
            "DELETE FROM memories WHERE user_id = ? AND id = ? RETURNING id, key, text, created_at, path",
            user_id,
            int(note_id),
        )
        if row is None:
            return None
        tx.notes.remove(row[0], row[2])
        return put_away(tx, "memory", user_id, dict(zip(_NOTE, row, strict=True)))

    @writes
    def restore_memory(self, tx: Transaction, user_id: str, undo: str) -> bool:
        held = tx.one("SELECT removed FROM undos WHERE id = ? AND user_id = ?", undo, user_id)
        if held is None:
            return False
        was = json.loads(held[0])
        known = tx.one(
            "SELECT 1 FROM memories WHERE user_id = ? AND (path = ? OR key = ?)",
            user_id,
            was["path"],
            was["key"],
        )
        found = None if known else taken_back(tx, "memory", undo)
        if found is None:
            return False
        note = found[1]
        tx.run(
            "INSERT INTO memories (id, key, text, created_at, path, user_id) VALUES (?, ?, ?, ?, ?, ?)",
            *(note[name] for name in _NOTE),
            user_id,
        )
        tx.notes.add(note["id"], note["text"])
        return True
