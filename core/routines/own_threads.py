"""A thread of its own for a routine's notices, where the platform has threads: opened with its first notice.

It is opened at the place where the notices would go otherwise, once; what cannot be opened now is tried with
the next notice. A hub that is killed in between may leave an empty one behind.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from core.errors import ChannelError
from core.messages import Address
from core.notices import Recipient, ToAddress
from core.store.base import Store
from core.store.notices import Place
from core.store.routines import DueNotice

logger = logging.getLogger(__name__)

OPENED_WITHIN_S = 8.0
"""Other routines wait meanwhile."""

Places = Callable[[Recipient], Awaitable[Sequence[Place]]]
"""See core.notices.Notices.places."""


class ThreadOpener(Protocol):
    """See channels.manager.ChannelManager.open_thread."""

    def __call__(self, channel: str, at: Address, title: str, nonce: str) -> Awaitable[Address | None]:
        """The address of a new thread there; None where there are none. Raises ChannelError."""
        ...


class OwnThreads:
    """Where they are is kept with the routine; one that was opened at another place is left behind."""

    def __init__(self, store: Store, places: Places, open_thread: ThreadOpener) -> None:
        self._store = store
        self._places = places
        self._open_thread = open_thread

    async def of(self, notice: DueNotice, otherwise: Recipient) -> ToAddress | None:
        """The routine's thread at that place; None if it has none there now. Raises StoreError."""
        places = await self._places(otherwise)
        if not places:
            return None
        channel, at = places[0].channel, places[0].address
        known = json.loads(notice.own_place) if notice.own_place else None
        if known is not None and known[:2] == [channel, at]:
            return None if known[2] is None else ToAddress(channel, Address(known[2]))
        try:
            async with asyncio.timeout(OPENED_WITHIN_S):
                opened = await self._open_thread(
                    channel, at, notice.routine_name, f"t{notice.routine_id}"[:25]
                )
        except (ChannelError, TimeoutError) as error:
            logger.info("no thread for routine %s at %s now: %s", notice.routine_name, channel, error)
            return None
        await self._store.keep_own_place(notice.routine_id, json.dumps([channel, at, opened]))
        return None if opened is None else ToAddress(channel, opened)
