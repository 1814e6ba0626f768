"""Switches that make the platform misbehave, each for some operations, channels or bots.

Of the kinds of fault in ``tests.simulators.faults``, these are worded in the platform's own way:

============= ===========================================================================================
rate_limit    429 with ``retry_after_s`` and ``scope`` (``user``, ``shared``, ``global``); no effect
server_error  ``status`` (default 500) with the platform's body, or HTML with ``html=True``; no effect
error         ``status``, ``code`` and ``message`` as given; no effect
============= ===========================================================================================

What befalls the gateway is an operation of its own (``cut_gateway``, ``ask_reconnect`` …).
"""

from dataclasses import dataclass

from tests.simulators import faults
from tests.simulators.discord.errors import ApiError

SCOPES = {"user", "shared", "global"}


@dataclass(slots=True, eq=False)
class Fault(faults.Fault):
    """One armed switch, for every channel and bot or only for one."""

    NARROWED_BY = ("channel_id", "bot_id")
    channel_id: int | None = None
    bot_id: int | None = None
    status: int = 500
    code: int = 0
    message: str = "500: Internal Server Error"
    scope: str = "user"
    html: bool = False

    def refusal(self) -> ApiError:
        """Return what ``error`` and ``server_error`` answer."""
        return ApiError(self.status, self.code, self.message)
