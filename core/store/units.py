"""How services call the store's units: to the end, and again when the database takes no writes."""

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
    """Await a unit and what follows from it, also when the caller is cancelled meanwhile.

    The unit commits in any case, so its consequences must happen in any case; a cancellation is raised
    only after them.
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
            logger.info("a unit of a cancelled caller failed: %s", failure)
        raise


async def patiently(unit: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Run a unit; while the database takes no writes, wait and run it again. Nothing of a failed one was
    kept, so repeating is safe, and what the caller holds in memory (a tool's result) is not lost."""
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return await unit()
        except StoreUnavailable as error:
            logger.warning("the database takes no writes, trying again in %g s: %s", wait_s, error)
        await clock.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
