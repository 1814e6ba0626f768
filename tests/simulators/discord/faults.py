"""Switches that make the platform misbehave, each for some operations, channels or bots.

Kinds of fault (``when`` is ``"before"`` or ``"after"`` the request takes effect):

============= ===========================================================================================
rate_limit    429 with ``retry_after_s`` and ``scope`` (``user``, ``shared``, ``global``); no effect
server_error  ``status`` (default 500) with the platform's body, or HTML with ``html=True``; no effect
error         ``status``, ``code`` and ``message`` as given; no effect
garbage       HTTP 200 with a body that is no JSON; takes effect when ``when="after"``
drop          the connection is cut; ``when`` decides whether the request took effect
hold          waits for release or until the client goes away, then answers (or drops: ``then="drop"``)
slow          waits ``delay_s``, then answers
silent        never answers; the connection stays open until the client or the simulator closes it
============= ===========================================================================================

What befalls the gateway is an operation of its own (``cut_gateway``, ``ask_reconnect`` …).
"""

from dataclasses import dataclass
from typing import Any

from tests.simulators import faults
from tests.simulators.discord.errors import ApiError
from tests.simulators.discord.log import RequestRecord

KINDS = {"rate_limit", "server_error", "error", "garbage", "drop", "hold", "slow", "silent"}
NO_EFFECT = {"rate_limit", "server_error", "error", "silent"}
SCOPES = {"user", "shared", "global"}


@dataclass(slots=True, eq=False)
class Fault(faults.Fault):
    """One armed switch, for every channel and bot or only for one."""

    channel_id: int | None = None
    bot_id: int | None = None
    status: int = 500
    code: int = 0
    message: str = "500: Internal Server Error"
    scope: str = "user"
    html: bool = False

    def concerns(self, record: RequestRecord) -> bool:
        """Whether this switch is meant for the request's channel and bot."""
        return self.channel_id in {None, record.channel_id} and self.bot_id in {None, record.bot_id}

    def refusal(self) -> ApiError:
        """What ``error`` and ``server_error`` answer."""
        return ApiError(self.status, self.code, self.message)

    def to_json(self) -> dict[str, Any]:
        """What was armed and the numbers of the requests it hit."""
        return faults.Fault.to_json(self) | {"channel_id": self.channel_id, "bot_id": self.bot_id}


def fault_book() -> faults.FaultBook[Fault]:
    """An empty book of this platform's switches."""
    return faults.FaultBook(Fault, KINDS, NO_EFFECT)
