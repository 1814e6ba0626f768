"""Cancellations with details, and work that outlasts them. Separate from core.errors, which processes
without an event loop load too."""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
AGAIN_AFTER_S = 5.0
"""How long work has to end before it is cancelled again: longer than a farewell to a server."""


class LeftRunning(asyncio.CancelledError):
    """The caller was cancelled, and its tool could not be stopped: it may still take effect."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"{tool} could not be stopped")
        self.tool = tool


async def finish(work: Coroutine[Any, Any, T], name: str) -> T:
    """Run work in a task of that name, to its end. Cancellations of the caller do not cut it short; the last
    one is raised afterwards."""
    task = asyncio.create_task(work, name=name)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()


async def end_with_caller(work: Coroutine[Any, Any, T], name: str) -> T:
    """Run work in a task of that name, and end it with the caller. It is cancelled until it ends: a library's
    own scope inside may take one cancellation for its own, and go on."""
    task = asyncio.create_task(work, name=name)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task}, timeout=AGAIN_AFTER_S)
        if not task.cancelled():
            task.exception()  # its caller is gone
        raise
