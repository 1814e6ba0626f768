"""Secrets, of which this database holds only what the vault's key opens."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from core.audit_chain import RETIRED, AuditKind
from core.errors import StoreUnavailable
from core.store.kept import SealedSecret
from core.store.sqlite.audit import record
from core.store.sqlite.connection import connect_reader
from core.store.sqlite.mapping import SEALED, secret_of
from core.store.sqlite.transaction import Transaction


def keep(tx: Transaction, sealed: Sequence[SealedSecret], by: str | None = None) -> None:
    """See Kept.keep_secrets."""
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
    """See Kept.drop_secret."""
    if name.startswith(RETIRED) or not tx.run("DELETE FROM secrets WHERE name = ?", name):
        return False
    record(tx, AuditKind.SECRET_DELETED, name, actor=by)
    return True


def sealed_in(path: Path) -> tuple[SealedSecret, ...]:
    """What a database holds before any store is open on it; nothing where there is none, or it is older than
    secrets are. Raises StoreUnavailable if it cannot be read."""
    try:
        if not path.is_file():
            return ()
        connection = connect_reader(path)
        try:
            if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'secrets'").fetchone() is None:
                return ()
            rows = connection.execute(f"SELECT {SEALED} FROM secrets ORDER BY name").fetchall()  # noqa: S608
        finally:
            connection.close()
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StoreUnavailable(f"{path} cannot be read: {why}") from error
    return tuple(secret_of(row) for row in rows)
