"""Prompts do not wait for ever: past their time they count as not approved."""

import logging

from core.actors import ThreadActors
from core.clock import Clock
from core.consent.cards import expired_text, settled_card
from core.errors import StoreUnavailable
from core.ports import OutboxListener
from core.store.base import Store

logger = logging.getLogger(__name__)

CHECK_EVERY_S = 5.0


class PromptExpiry:
    """Closes expired prompts and lets their turns go on."""

    def __init__(self, store: Store, actors: ThreadActors, listener: OutboxListener, clock: Clock) -> None:
        self._store = store
        self._actors = actors
        self._listener = listener
        self._clock = clock

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            try:
                await self.expire()
            except StoreUnavailable:
                pass  # said by the store already; the next look finds the same prompts
            except Exception:
                # A defect met by one look must not end the hub: the prompts wait for the next.
                logger.exception("looking for expired prompts failed")
            await self._clock.sleep(CHECK_EVERY_S)

    async def expire(self) -> None:
        """Close what has expired by now."""
        expired = await self._store.expire_prompts(
            self._clock.now(), expired_text, lambda prompt: settled_card(prompt, expired_text(prompt))
        )
        if expired.outbox:
            self._listener.outbox_ready(expired.outbox)
        for start in expired.started:
            self._actors.start(start)
