"""Memory: notes and documents that people asked the hub to keep, and the search in conversations.

Messages are indexed a turn at a time.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from core.audit_chain import RETIRED, AuditKind
from core.ids import OWN_SECRET
from core.store.codecs import storable
from core.store.conversations import (
    INDEX_LIMIT_CHARS,
    SearchHit,
    SearchWanted,
    WordSearch,
    beginning,
    excerpt,
)
from core.store.facets import Document, MemoryNote, SealedSecret
from core.store.rows import query_phrases
from core.store.sql.audit import record
from core.store.sql.mapping import ACTIVE, SEALED, secret_of
from core.store.sql.people import put_away, taken_back
from core.store.units import Facet, Row, Transaction, reads, writes

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
            secret_of(row) for row in await self._engine.ask(f"SELECT {SEALED} FROM secrets ORDER BY name")
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


SPOKEN = "e.kind IN ('user', 'assistant', 'operator') AND e.text <> ''"


MOST_AT_ONCE = 100
"""The threads that one transaction makes searchable."""


UNSEARCHED = (
    "SELECT id, searched_seq, ended_seq FROM (SELECT t.id, t.searched_seq, t.last_active_at,"
    " COALESCE((SELECT min(e.seq) - 1 FROM runs a JOIN entries e ON e.turn_id = a.id"
    f" WHERE a.thread_id = t.id AND a.state IN {ACTIVE}), t.last_seq) AS ended_seq"
    " FROM threads t WHERE t.kind = 'chat' AND t.last_seq > t.searched_seq) AS w"
    " WHERE ended_seq > searched_seq ORDER BY last_active_at LIMIT ?"
)
"""The threads with new messages of ended turns, and the positions after and up to which to index them."""


def index_said(tx: Transaction, limit: int) -> bool:
    """Index the new messages of ended turns, in at most `limit` threads. Return whether there may be more."""
    waiting = tx.all(UNSEARCHED, limit)
    for thread_id, searched_seq, ended_seq in waiting:
        _index_thread(tx, thread_id, searched_seq, ended_seq)
    return len(waiting) == limit


def _index_thread(tx: Transaction, thread_id: str, after_seq: int, last_seq: int) -> None:
    rows = tx.all(
        f"SELECT e.turn_id, e.seq, e.at, substr(e.text, 1, {INDEX_LIMIT_CHARS}) FROM entries e"
        f" WHERE e.thread_id = ? AND e.seq > ? AND e.seq <= ? AND {SPOKEN} ORDER BY e.seq",
        thread_id,
        after_seq,
        last_seq,
    )
    for _, turn in groupby(rows, key=lambda row: row[0]):
        said = list(turn)
        row_id = tx.insert(
            "INSERT INTO said (thread_id, first_seq, last_seq, at) VALUES (?, ?, ?, ?)",
            thread_id,
            said[0][1],
            said[-1][1],
            said[-1][2],
        )
        tx.said.add(row_id, [row[3] for row in said])
    tx.run("UPDATE threads SET searched_seq = ? WHERE id = ?", last_seq, thread_id)


def forget_said(tx: Transaction, thread_id: str) -> None:
    """Remove a thread's words from the search. Call it while its entries are still there."""
    for row_id, first_seq, last_seq in tx.all(
        "SELECT id, first_seq, last_seq FROM said WHERE thread_id = ?", thread_id
    ):
        rows = tx.all(
            f"SELECT substr(e.text, 1, {INDEX_LIMIT_CHARS}) FROM entries e WHERE e.thread_id = ?"
            f" AND e.seq BETWEEN ? AND ? AND {SPOKEN} ORDER BY e.seq",
            thread_id,
            first_seq,
            last_seq,
        )
        tx.said.remove(row_id, [row[0] for row in rows])
    tx.run("DELETE FROM said WHERE thread_id = ?", thread_id)


def search_statement(words: WordSearch, wanted: SearchWanted) -> tuple[str, list[Any]]:
    """Return the statement of a search, newest first, with its parameters.

    Its rows are the messages of each turn that fits, for `hits_of`."""
    where, parameters = stretches_where(words, wanted)
    chosen = (
        f"SELECT s.id FROM said s JOIN threads t ON t.id = s.thread_id JOIN users u ON u.id = t.owner_id"
        f" WHERE {where} ORDER BY s.id DESC LIMIT ?"
    )
    statement = (
        "SELECT s.id, t.id, t.title, t.channel, t.owner_id, u.name, e.seq, e.at, e.kind,"
        f" substr(e.text, 1, {INDEX_LIMIT_CHARS}), e.undone FROM said s JOIN threads t ON t.id = s.thread_id"
        " JOIN users u ON u.id = t.owner_id JOIN entries e ON e.thread_id = s.thread_id"
        f" AND e.seq BETWEEN s.first_seq AND s.last_seq AND {SPOKEN}"
        f" WHERE s.id IN ({chosen}) ORDER BY s.id DESC, e.seq"
    )
    return statement, [*parameters, wanted.limit]


def stretches_where(words: WordSearch, wanted: SearchWanted) -> tuple[str, list[Any]]:
    """Return the condition on `said s`, `threads t` and `users u`, and its parameters."""
    conditions = ["t.kind = 'chat'", words.condition]
    parameters: list[Any] = [words.parameter(wanted.phrases)]
    compared = {
        "t.owner_id = ?": wanted.owner_id,
        "t.id = ?": wanted.thread_id,
        "t.channel = ?": wanted.channel,
        "s.at >= ?": wanted.after,
        "s.at < ?": wanted.before,
    }
    for condition, value in compared.items():
        if value is not None:
            conditions.append(condition)
            parameters.append(value)
    if wanted.asked_in is not None:
        conditions.append(
            "(t.id = ? OR NOT EXISTS (SELECT 1 FROM entries g"
            " WHERE g.thread_id = ? AND g.kind = 'user' AND g.name IS NOT NULL))"
        )
        parameters += [wanted.asked_in, wanted.asked_in]
    if wanted.person is not None:
        conditions.append("(lower(u.name) = lower(?) OR u.id = ?)")
        parameters += [wanted.person, wanted.person]
    return " AND ".join(conditions), parameters


def hits_of(rows: Sequence[Row], wanted: SearchWanted) -> tuple[SearchHit, ...]:
    """Return one hit for each turn: its first message with one of the words."""
    return tuple(_hit(list(turn), wanted) for _, turn in groupby(rows, key=lambda row: row[0]))


def _hit(turn: Sequence[Row], wanted: SearchWanted) -> SearchHit:
    for row in turn:
        part = excerpt(row[9], wanted.phrases)
        if part is not None:
            return _found(row, part)
    return _found(turn[0], beginning(turn[0][9]))


def _found(row: Row, part: str) -> SearchHit:
    _, thread_id, title, channel, owner_id, owner, seq, at, kind, _, undone = row
    return SearchHit(thread_id, title, channel, owner_id, owner, seq, at, kind, part, undone is not None)


def search(tx: Transaction, wanted: SearchWanted) -> tuple[SearchHit, ...]:
    """Search inside a transaction."""
    if not wanted.phrases:
        return ()
    statement, parameters = search_statement(tx.said, wanted)
    return hits_of(tx.all(statement, *parameters), wanted)
