"""Waiting for something to come to pass, without polling."""

import asyncio
from collections.abc import Callable
from typing import Literal, TypeVar

from tests.patience import PATIENCE_S

T = TypeVar("T")


class Changes:
    """Wakes who waits whenever something changed. One event loop; not thread-safe."""

    def __init__(self) -> None:
        self._changed: asyncio.Future[None] | None = None

    def changed(self) -> None:
        """Wakes everyone in ``wait_for``; called after every change of the world or the log."""
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def wait_for(
        self, predicate: Callable[[], T | Literal[False] | None], timeout_s: float = PATIENCE_S
    ) -> T:
        """Returns the predicate's first true value, looked at now and after every change.

        Raises ``TimeoutError`` after ``timeout_s``.
        """
        async with asyncio.timeout(timeout_s):
            while not (value := predicate()):
                if self._changed is None or self._changed.done():
                    self._changed = asyncio.get_running_loop().create_future()
                await asyncio.shield(self._changed)
        return value
