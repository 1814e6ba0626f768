"""Switches that make the platform misbehave, each for some methods, chats or bots, some times or some while.

Of the kinds of fault in ``tests.simulators.faults``, these are worded in the platform's own way:

============= ===========================================================================================
rate_limit    429 with ``retry_after_s`` (default: what is left of ``duration_s``); no effect
server_error  ``status`` (default 502) with the platform's body, or HTML with ``html=True``; no effect
error         ``status`` and ``description`` (and ``parameters``) as given; no effect
============= ===========================================================================================
"""

from dataclasses import dataclass
from typing import Any

from tests.simulators import faults

KINDS = faults.KINDS | {"late"}


@dataclass(slots=True, eq=False)
class Fault(faults.Fault):
    """One armed switch, for every chat and bot or only for one."""

    NARROWED_BY = ("chat_id", "bot_id")
    chat_id: int | None = None
    bot_id: int | None = None
    status: int = 502
    description: str = "Bad Gateway"
    parameters: dict[str, Any] | None = None
    html: bool = False
