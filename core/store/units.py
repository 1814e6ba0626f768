"""Calls of store units by services: completed despite cancellation, or retried while the database
cannot be written."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from core.clock import Clock
from core.errors import StoreUnavailable

logger = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 10.0


async def committed(unit: Coroutine[Any, Any, T], follow: Callable[[T], None]) -> T:
    """Await a unit and its follow-up, even if the caller is cancelled in between.

    The unit commits in any case, so its follow-up must run in any case. A cancellation is raised
    only after both.
    """

    async def unit_and_follow() -> T:
        result = await unit
        follow(result)
        return result

    task = asyncio.ensure_future(unit_and_follow())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled() and (failure := task.exception()) is not None:
            logger.info("store.abandoned_write_failed error=%s", failure)
        raise


async def patiently(unit: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Run a unit, and retry it while the database cannot be written. A failed unit leaves nothing
    behind, so repeating is safe.

    Values the caller holds in memory (a tool's result) are not lost."""
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return await unit()
        except StoreUnavailable as error:
            logger.warning("store.write_retry delay_s=%g error=%s", wait_s, error)
        await clock.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
