"""Which thread a ThreadKey leads to."""

from core.store.sqlite.transaction import Transaction
from core.thread_key import ThreadKey


def leads_to(tx: Transaction, key: ThreadKey, thread_id: str) -> bool:
    """Whether the key leads to this thread already."""
    row = tx.one(
        "SELECT 1 FROM thread_keys WHERE owner_id = ? AND channel = ? AND scope = ? AND thread_id = ?",
        key.user_id,
        key.channel,
        key.scope,
        thread_id,
    )
    return row is not None


def lead_to(tx: Transaction, key: ThreadKey, thread_id: str) -> None:
    """Let the key lead to this thread from now on."""
    tx.run(
        "INSERT INTO thread_keys (owner_id, channel, scope, thread_id) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (owner_id, channel, scope) DO UPDATE SET thread_id = excluded.thread_id",
        key.user_id,
        key.channel,
        key.scope,
        thread_id,
    )
