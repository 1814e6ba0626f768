"""The store on one SQLite file: for a hub, and for reading it without one."""

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Literal

from core.audit_chain import ChainKeys
from core.clock import Clock
from core.ids import Ids
from core.store.sql.store import SqlStore, SqlViews
from core.store.sqlite.engine import Listings, SqliteEngine
from core.store.transaction import HISTORY_LIMIT_CHARS, MERGE_LIMIT, Policy


async def open_store(
    path: Path,
    clock: Clock,
    ids: Ids,
    *,
    queue: Literal["merge", "one_by_one"] = "merge",
    history_limit_chars: int = HISTORY_LIMIT_CHARS,
    chain: ChainKeys | None = None,
    holds_inputs: bool = False,
) -> SqlStore:
    """Open the database, created or upgraded as needed. Raises SchemaTooNew, SchemaTooOld, StoreUnavailable.

    The caller must hold the data directory's lock: there must be only one writing hub.
    `queue`: whether waiting messages of one person become one turn.
    `history_limit_chars`, `holds_inputs`: see Policy.
    `chain`: the audit's keys (None: they end with this store, so that its audit cannot be verified later).
    """
    policy = Policy(MERGE_LIMIT if queue == "merge" else 1, history_limit_chars, holds_inputs)
    return SqlStore(await SqliteEngine.open(path, clock, ids, policy, chain))


@contextlib.asynccontextmanager
async def open_listings(path: Path, clock: Clock | None = None) -> AsyncGenerator[SqlViews]:
    """Open a database for listings, whether or not a hub runs on it.

    Raises StoreUnavailable, SchemaTooNew, SchemaTooOld."""
    async with Listings(path, clock) as listings:
        yield SqlViews(listings)
