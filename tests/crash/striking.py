"""Kill points struck beside each other, each in a directory of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

AT_ONCE = 4

P = TypeVar("P")


async def strike_all(
    directory: Path, points: Sequence[P], story: Callable[[Path, P], Awaitable[None]]
) -> list[str]:
    """Return what went wrong, a line for each point where something did. `story` is given an empty directory,
    plays
    with the hub killed at the point, and judges: it raises AssertionError or TimeoutError."""
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, point: P) -> str | None:
        async with at_once:
            return await _struck(directory / str(number), point, story)

    async with asyncio.TaskGroup() as group:
        strikes = [group.create_task(one(n, point)) for n, point in enumerate(points)]
    return [failure for task in strikes if (failure := task.result()) is not None]


async def _struck(directory: Path, point: P, story: Callable[[Path, P], Awaitable[None]]) -> str | None:
    directory.mkdir()
    said: list[str] = []
    try:
        await story(directory, point)
    except* (AssertionError, TimeoutError) as failures:
        said += [repr(failure) for failure in failures.exceptions]
    return f"{point}: {'; '.join(said)} (in {directory})" if said else None
