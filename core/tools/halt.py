"""The switch that stops every tool at once: what runs is ended, and nothing begins until it is let go again.

It is in force as soon as it is on record, and holds over restarts. Waiting for a person's word goes on; a
call that is agreed to meanwhile does not run.
"""

import asyncio
import contextlib
from collections.abc import Generator

REASON = "all tools are paused by the owner; only the owner can let them go on, with /resume"


class ToolHalt:
    """Whether tools may run, and those that do. `halted`: as it was recorded when the hub started."""

    def __init__(self, *, halted: bool = False) -> None:
        self._halted = halted
        self._running: set[asyncio.Timeout] = set()

    @property
    def halted(self) -> bool:
        """Whether no tool may run."""
        return self._halted

    def set(self, *, halted: bool) -> None:
        """Stop everything, or let it go on. Whoever calls has recorded it."""
        self._halted = halted
        if halted:
            now = asyncio.get_running_loop().time()
            for deadline in self._running:
                if not deadline.expired():
                    deadline.reschedule(now)

    @contextlib.contextmanager
    def ends(self, deadline: asyncio.Timeout) -> Generator[None]:
        """What runs within is ended by the switch as it is by its deadline."""
        self._running.add(deadline)
        try:
            yield
        finally:
            self._running.discard(deadline)
