"""Switches that make the platform misbehave, each for some methods, channels or apps, some times or some
while.

Of the kinds of fault in ``tests.simulators.faults``, these are worded in the platform's own way:

============= ===========================================================================================
rate_limit    429 ``ratelimited`` with ``retry_after_s`` (default: what is left of ``duration_s``); no effect
server_error  ``status`` (default 500) with a plain body, or HTML with ``html=True``; no effect
error         HTTP 200 with ``error`` (``internal_error``, ``fatal_error``, anything); no effect
============= ===========================================================================================

``method`` is a Web API method, ``upload``, ``download`` or ``response_url``.
"""

from dataclasses import dataclass

from tests.simulators import faults


@dataclass(slots=True, eq=False)
class Fault(faults.Fault):
    """One armed switch, for every channel and app or only for one."""

    NARROWED_BY = ("channel", "app_id")
    channel: str | None = None
    app_id: str | None = None
    status: int = 500
    error: str = "internal_error"
    html: bool = False
