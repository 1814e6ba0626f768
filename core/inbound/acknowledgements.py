"""Acknowledgements of messages that have waited behind a turn for a while.

They are a courtesy: nothing depends on them, they delay nothing, and they are lost when the hub
stops.
"""

import asyncio
import logging
from collections import deque

from core.clock import SECOND_US, Clock
from core.errors import StoreError
from core.lazy_dataclass import dataclass
from core.messages import InboundMessage, MessageRef
from core.ports import Acknowledger
from core.store.accept import WAITING
from core.store.feed import Explanations

logger = logging.getLogger(__name__)

ACKNOWLEDGE_AFTER_S = 1.0
"""The wait before an acknowledgement. Messages processed sooner need none."""
MAX_EXPECTED = 256
"""The number of messages watched at a time. Others get no acknowledgement."""


@dataclass(frozen=True, slots=True)
class _Queued:
    key: str
    channel: str
    ref: MessageRef
    album: str | None
    due_us: int


class Acknowledgements:
    """A watcher that checks queued messages after one second and acknowledges those still waiting."""

    def __init__(self, explanations: Explanations, acknowledger: Acknowledger, clock: Clock) -> None:
        self._explanations = explanations
        self._acknowledger = acknowledger
        self._clock = clock
        self._queued: deque[_Queued] = deque()
        self._some = asyncio.Event()

    def expect(self, message: InboundMessage) -> None:
        """Watch a queued message. Never blocks or fails. Of an album, only the first part is watched."""
        if message.ref is None or len(self._queued) >= MAX_EXPECTED:
            return
        if message.album is not None and any(queued.album == message.album for queued in self._queued):
            return
        due_us = self._clock.now() + int(ACKNOWLEDGE_AFTER_S * SECOND_US)
        self._queued.append(_Queued(message.key, message.channel, message.ref, message.album, due_us))
        self._some.set()

    async def run(self) -> None:
        """Acknowledge messages until cancelled."""
        while True:
            await self._some.wait()
            if not self._queued:
                self._some.clear()
                continue
            wait_us = self._queued[0].due_us - self._clock.now()
            if wait_us > 0:
                await self._clock.sleep(wait_us / SECOND_US)
            else:
                await self._look(self._queued.popleft())

    async def _look(self, queued: _Queued) -> None:
        try:
            found = await self._explanations.explain(queued.key)
        except StoreError as error:
            logger.info("inbox.acknowledge_failed event=%s error=%s", queued.key, error)
            return
        except Exception:  # a defect met by one message: the others continue
            logger.exception("inbox.acknowledge_crashed event=%s", queued.key)
            return
        if found is not None and found.outcome == WAITING:
            self._acknowledger.acknowledge(queued.channel, queued.ref)
