"""Cancellations with details. Separate from core.errors, which processes without an event loop
load too."""

import asyncio


class LeftRunning(asyncio.CancelledError):
    """The caller was cancelled, and its tool could not be stopped: it may still take effect."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"{tool} could not be stopped")
        self.tool = tool
