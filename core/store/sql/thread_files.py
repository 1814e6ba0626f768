"""What threads keep outside the database: it is removed once its thread is deleted.

The transaction that deletes a thread notes its files, so that a hub which dies before it removed them finds
them at its next start. A file that another thread refers to is left; it goes with the last of them.
"""

# ruff: noqa: S608 - statements are constants, values are always bound

import re
import uuid
from collections.abc import Sequence

from core.store.codecs import event_extra_from_json, said_from_columns
from core.store.feed import ARCHIVES, DeletedFile, FileKind
from core.store.transaction import Row, Transaction
from core.transcript import UserSaid

_ARCHIVE = re.compile(rf"{ARCHIVES}/([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})")

NOTED = (
    "SELECT f.kind, f.name, CASE f.kind WHEN 'upload' THEN"
    " EXISTS (SELECT 1 FROM entries e WHERE e.kind = 'user'"
    " AND lower(e.extra) LIKE lower('%' || f.name || '%'))"
    " OR EXISTS (SELECT 1 FROM inbox i WHERE lower(i.extra) LIKE lower('%' || f.name || '%'))"
    " WHEN 'outputs' THEN 0"
    " ELSE EXISTS (SELECT 1 FROM threads t WHERE t.id = f.name)"
    " OR EXISTS (SELECT 1 FROM entries e WHERE e.kind = 'summary'"
    f" AND lower(e.text) LIKE lower('%{ARCHIVES}/' || f.name || '%'))"
    " END FROM deleted_files f ORDER BY f.kind, f.name LIMIT ?"
)
"""Reads the notes. Those of uploads are looked for in all messages: threads are seldom deleted."""
KNOWN_CALLS = (
    "SELECT id FROM calls WHERE id IN ",
    "SELECT call_id FROM entries WHERE kind = 'result' AND call_id IN ",  # a branch has no more of a call
)
"""Read which calls are known; the second reads all messages, for the calls that the first doesn't find."""


def note(tx: Transaction, thread_id: str) -> None:
    """Note the files of a thread that is about to be deleted."""
    said = tx.all(
        "SELECT kind, text, call_id, name, extra FROM entries"
        " WHERE thread_id = ? AND kind = 'user' AND extra IS NOT NULL",
        thread_id,
    )
    files = [
        file
        for row in said
        if isinstance(one := said_from_columns(*row), UserSaid)
        for file in one.attachments
    ]
    came = tx.all("SELECT extra FROM inbox WHERE thread_id = ? AND extra IS NOT NULL", thread_id)
    files += [file for (extra,) in came for file in event_extra_from_json(extra).attachments]
    noted = {(FileKind.UPLOAD, file.handle) for file in files if _is_id(file.handle)}
    summaries = tx.all("SELECT text FROM entries WHERE thread_id = ? AND kind = 'summary'", thread_id)
    archives = {thread_id, *(found for (text,) in summaries for found in _ARCHIVE.findall(text))}
    noted |= {(FileKind.ARCHIVE, name) for name in archives} | {(FileKind.OUTPUTS, thread_id)}
    for kind, name in sorted(noted):
        tx.run(
            "INSERT INTO deleted_files (kind, name) VALUES (?, ?) ON CONFLICT (kind, name) DO NOTHING",
            kind.value,
            name,
        )


def noted(rows: Sequence[Row]) -> Sequence[DeletedFile]:
    """Return what `NOTED` reads."""
    return [DeletedFile(FileKind(kind), name, bool(wanted)) for kind, name, wanted in rows]


def forget(tx: Transaction, files: Sequence[DeletedFile]) -> None:
    """Drop the notes of these files."""
    for file in files:
        tx.run("DELETE FROM deleted_files WHERE kind = ? AND name = ?", file.kind.value, file.name)


def _is_id(handle: str) -> bool:
    """Return whether a file's handle may be an upload's. Platforms name their files otherwise."""
    try:
        return str(uuid.UUID(handle)) == handle
    except ValueError:
        return False
