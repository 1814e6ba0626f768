"""The switch that stops every tool at once: what runs is ended, and nothing begins until it is let go again.

It is in force as soon as it is on record, and holds over restarts: the transaction that marks a call running
reads it there. This is its other half, in the hub that runs: it ends what runs, and keeps back what was
marked just before. Waiting for a person's word goes on; a call that is agreed to meanwhile does not run.
"""

import contextlib
from collections.abc import Callable, Generator

from core.tool import TOOLS_PAUSED

REASON = TOOLS_PAUSED


class ToolHalt:
    """Whether tools may run, and those that do. `halted`: as it was recorded when the hub started."""

    def __init__(self, *, halted: bool = False) -> None:
        self._halted = halted
        self._running: set[Callable[[], None]] = set()

    @property
    def halted(self) -> bool:
        """Whether no tool may run."""
        return self._halted

    def set(self, *, halted: bool) -> None:
        """Stop everything, or let it go on. Whoever calls has recorded it."""
        self._halted = halted
        if halted:
            for end in tuple(self._running):
                end()

    @contextlib.contextmanager
    def ends(self, end: Callable[[], None]) -> Generator[None]:
        """What runs within is ended by the switch, by calling `end`."""
        self._running.add(end)
        try:
            yield
        finally:
            self._running.discard(end)
