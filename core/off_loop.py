"""Work on text, kept away from the event loop where the text is long.

A short text is worked on where it is: handing it to a thread would take longer. A long one would take the
loop's time from everybody.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

ON_LOOP_CHARS = 4096
"""Texts up to this length are worked on where they are."""

T = TypeVar("T")


async def off_loop(chars: int, work: Callable[[], T]) -> T:
    """Return what `work` makes of a text of so many characters: here if it is short, else in a thread."""
    return work() if chars <= ON_LOOP_CHARS else await asyncio.to_thread(work)
