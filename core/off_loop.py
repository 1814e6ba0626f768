"""Text processing that keeps long texts off the event loop.

A short text is processed at once: handing it to a thread would take longer. A long one would
block the loop for everyone.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

ON_LOOP_CHARS = 4096
"""Maximum length of texts that are processed on the event loop."""

T = TypeVar("T")


async def off_loop(chars: int, work: Callable[[], T]) -> T:
    """Return the result of `work` on a text of `chars` characters: here if it is short, else in a
    thread."""
    return work() if chars <= ON_LOOP_CHARS else await asyncio.to_thread(work)
