"""Chains the audit's records while the hub runs, and notes the heads of the chain outside the database.

Records lie in the database before they are chained, each with its seal; a hub that dies in between goes on
where the chain ends. The head is noted after its links are committed: the file may be behind the chain by
the last moments of a hub that died, never ahead of it.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from core.audit.heads import HeadFile
from core.clock import SECOND_US, Clock
from core.errors import StoreUnavailable
from core.store.audit import Audit
from core.store.changes import Changes

logger = logging.getLogger(__name__)

LINGER_S = 1.0
"""How long records wait for others, so that a busy hub chains many at once."""
RETRY_S = 10.0
AT_ONCE = 500
"""Records chained, or dropped, in one transaction: a turn waits no longer for it than for another turn."""
DAY_US = 24 * 3600 * SECOND_US


class AuditLinker:
    """Implements core.store.changes.ChangeListener. `keep_days`: records older than that are dropped, once a
    day (0: none). `policy`: what the operator laid down, as it is to be recorded."""

    def __init__(
        self,
        store: Audit,
        heads: HeadFile,
        clock: Clock,
        policy: Callable[[], dict[str, Any]],
        *,
        keep_days: int = 0,
        linger_s: float = LINGER_S,
    ) -> None:
        self._store = store
        self._heads = heads
        self._clock = clock
        self._policy = policy
        self._keep_us = keep_days * DAY_US
        self._linger_s = linger_s
        self._wanted = asyncio.Event()
        self._policy_changed = True
        self._noted: str | None = None
        self._pruned_at: int | None = None

    def changed(self, changes: Changes) -> None:
        """Told of every commit: records wait to be chained."""
        if changes.audit:
            self._wanted.set()

    def policy_changed(self) -> None:
        """What the operator laid down holds in another form from now on. Called in the event loop."""
        self._policy_changed = True
        self._wanted.set()

    async def run(self) -> None:
        """Chain what is written, until cancelled; then what is left."""
        self._wanted.set()  # what an earlier hub, or a command beside it, has left
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                await self._clock.sleep(self._linger_s)
                if not await self._tried():
                    await self._clock.sleep(RETRY_S)
                    self._wanted.set()
        finally:
            await asyncio.shield(self._tried())

    async def _tried(self) -> bool:
        try:
            await self.catch_up()
        except (StoreUnavailable, OSError) as error:
            logger.warning("the audit is not chained up to its end yet: %s", error)
            return False
        return True

    async def catch_up(self) -> None:
        """Chain everything there is, and note the head. Raises StoreUnavailable, OSError."""
        if self._policy_changed:
            await self._store.record_policy(self._policy())
            self._policy_changed = False
        await self._prune()
        more, head = True, None
        while more:
            head, more = await self._store.link_audit(AT_ONCE)
        if head is not None and head != self._noted:
            await asyncio.to_thread(self._note, head)
            self._noted = head

    def _note(self, head: str) -> None:
        newest = self._heads.newest() if self._noted is None else None
        if newest is not None and newest.number > int(head.partition(":")[0]):
            logger.error(
                "the audit's chain was longer before: its end is missing from the database, or an older"
                " database was put back; `hubbub audit verify` says more"
            )
        if newest is None or str(newest) != head:
            self._heads.append(head, self._clock.now())

    async def _prune(self) -> None:
        now = self._clock.now()
        if not self._keep_us or (self._pruned_at is not None and now - self._pruned_at < DAY_US):
            return
        self._pruned_at = now
        while await self._store.prune_audit(now - self._keep_us, AT_ONCE):
            await self._store.link_audit(AT_ONCE)  # that they were dropped is a record, too
