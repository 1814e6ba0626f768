"""A database as it is at one moment, with or without a running hub."""

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path

from core.clock import Clock
from core.errors import StoreUnavailable
from core.store.facets import SealedSecret
from core.store.sql.audit import AuditSnapshot
from core.store.sql.mapping import SEALED, secret_of
from core.store.sql.past_calls import PastCall, past_calls
from core.store.sqlite.maintenance import snapshot


@contextlib.contextmanager
def audit_in(path: Path) -> Generator[AuditSnapshot]:
    """Open a database's audit, with or without a running hub. Raises StoreUnavailable, SchemaTooNew,
    SchemaTooOld."""
    with snapshot(path) as tx:
        yield AuditSnapshot(tx)


def past_calls_in(path: Path, limit: int, clock: Clock) -> tuple[Sequence[PastCall], int]:
    """Read past calls without a hub; see past_calls. Raises StoreUnavailable, SchemaTooNew, SchemaTooOld."""
    with snapshot(path, clock) as tx:
        return past_calls(tx, limit)


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
