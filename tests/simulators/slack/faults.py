"""Switches that make the platform misbehave, each for some methods, channels or apps, some times or some
while.

Kinds of fault (``when`` is ``"before"`` or ``"after"`` the request takes effect):

============= ===========================================================================================
rate_limit    429 ``ratelimited`` with ``retry_after_s`` (default: what is left of ``duration_s``); no effect
server_error  ``status`` (default 500) with a plain body, or HTML with ``html=True``; no effect
error         HTTP 200 with ``error`` (``internal_error``, ``fatal_error``, anything); no effect
garbage       HTTP 200 with a body that is no JSON; takes effect when ``when="after"``
drop          the connection is cut; ``when`` decides whether the request took effect
hold          waits for release or until the client goes away, then answers (or drops: ``then="drop"``)
slow          waits ``delay_s``, then answers
silent        never answers; the connection stays open until the client or the simulator closes it
============= ===========================================================================================

``method`` is a Web API method, ``upload``, ``download`` or ``response_url``.
"""

from dataclasses import dataclass
from typing import Any

from tests.simulators import faults
from tests.simulators.slack.log import RequestRecord

KINDS = {"rate_limit", "server_error", "error", "garbage", "drop", "hold", "slow", "silent"}
NO_EFFECT = {"rate_limit", "server_error", "error", "silent"}


@dataclass(slots=True, eq=False)
class Fault(faults.Fault):
    """One armed switch, for every channel and app or only for one."""

    channel: str | None = None
    app_id: str | None = None
    status: int = 500
    error: str = "internal_error"
    html: bool = False

    def concerns(self, record: RequestRecord) -> bool:
        """Whether this switch is meant for the request's channel and app."""
        return self.channel in {None, record.channel} and self.app_id in {None, record.app_id}

    def to_json(self) -> dict[str, Any]:
        """What was armed and the numbers of the requests it hit."""
        return faults.Fault.to_json(self) | {"channel": self.channel, "app_id": self.app_id}


def fault_book() -> faults.FaultBook[Fault]:
    """An empty book of this platform's switches."""
    return faults.FaultBook(Fault, KINDS, NO_EFFECT)
