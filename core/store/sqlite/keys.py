"""Keys to the API: see core.store.keys."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from core.audit_chain import AuditKind
from core.store.keys import KeyKind
from core.store.sqlite.audit import record
from core.store.sqlite.mapping import PRINCIPAL, principal_of
from core.store.sqlite.transaction import Transaction
from core.users import Principal


def keep(tx: Transaction, hash_: str, kind: KeyKind, user_id: str, expires_at: int | None) -> None:
    """See Keys. Keys past their time make room."""
    now = tx.clock.now()
    tx.run("DELETE FROM api_keys WHERE expires_at <= ?", now)
    tx.run(
        "INSERT INTO api_keys (hash, kind, user_id, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
        hash_,
        kind.value,
        user_id,
        now,
        expires_at,
    )
    made = AuditKind.LOGIN if kind is KeyKind.SESSION else AuditKind.TOKEN_MADE
    record(tx, made, user_id, actor=user_id, expires_at=expires_at)


def holder(tx: Transaction, hash_: str, kind: KeyKind) -> Principal | None:
    """See Keys."""
    row = tx.one(
        f"SELECT {PRINCIPAL} FROM api_keys k JOIN users u ON u.id = k.user_id"
        " WHERE k.hash = ? AND k.kind = ? AND (k.expires_at IS NULL OR k.expires_at > ?)",
        hash_,
        kind.value,
        tx.clock.now(),
    )
    return None if row is None else principal_of(row)


def drop(tx: Transaction, hash_: str) -> None:
    """See Keys."""
    row = tx.one("DELETE FROM api_keys WHERE hash = ? RETURNING user_id", hash_)
    if row is not None:
        record(tx, AuditKind.LOGOUT, row[0], actor=row[0])


def drop_of(tx: Transaction, user_id: str, kind: KeyKind) -> int:
    """See Keys."""
    dropped = tx.run("DELETE FROM api_keys WHERE user_id = ? AND kind = ?", user_id, kind.value)
    if dropped:
        record(tx, AuditKind.TOKENS_REVOKED, user_id, what=kind.value, keys=dropped)
    return dropped
