"""Work that ends with its caller, whatever takes a cancellation for its own."""

import asyncio

import pytest

from core import off_loop


async def test_work_that_takes_a_cancellation_for_its_own_is_cancelled_again() -> None:
    taken: list[float] = []

    async def work() -> None:
        while len(taken) < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                taken.append(asyncio.get_running_loop().time())

    caller = asyncio.create_task(off_loop.end_with_caller(work(), "work"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    first, second = taken
    assert second - first > 4
