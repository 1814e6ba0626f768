"""Tells hooks that somebody's session began or ended."""

import logging

from core.clock import SECOND_US, Clock
from core.errors import StoreUnavailable
from core.hooks.chain import Chain
from core.hooks.values import HookEvent, Point
from core.store.base import Store

LOOK_EVERY_S = 30.0

logger = logging.getLogger(__name__)


class SessionHooks:
    """Looks now and then; a session ends after `idle_s` without a word of its person."""

    def __init__(
        self, begin: Chain | None, end: Chain | None, store: Store, clock: Clock, idle_s: float
    ) -> None:
        self._begin = begin
        self._end = end
        self._store = store
        self._clock = clock
        self._idle_us = int(idle_s * SECOND_US)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look()
            except StoreUnavailable as error:
                logger.info("sessions are looked at later: %s", error)
            await self._clock.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Tell what changed since the last look. Nothing can be said to it."""
        for change in await self._store.session_changes(self._idle_us):
            chain = self._begin if change.began else self._end
            point = Point.SESSION_START if change.began else Point.SESSION_END
            if chain is not None:
                await chain.judge(HookEvent(point, user_id=change.user_id))
