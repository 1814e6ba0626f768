"""Switches that make the platform misbehave, each for some methods, chats or bots, some times or some while.

Kinds of fault (``when`` is ``"before"`` or ``"after"`` the request takes effect):

============= ===========================================================================================
rate_limit    429 with ``retry_after_s`` (default: what is left of ``duration_s``); no effect
server_error  ``status`` (default 502) with the platform's body, or HTML with ``html=True``; no effect
error         ``status`` and ``description`` (and ``parameters``) as given; no effect
garbage       HTTP 200 with a body that is no JSON; takes effect when ``when="after"``
drop          the connection is cut; ``when`` decides whether the request took effect
hold          waits for release or until the client goes away, then answers (or drops: ``then="drop"``)
slow          waits ``delay_s``, then answers
silent        never answers; the connection stays open until the client or the simulator closes it
late          waits for release, whatever the client does meanwhile, and only then takes effect
============= ===========================================================================================
"""

from dataclasses import dataclass
from typing import Any

from tests.simulators import faults
from tests.simulators.telegram.log import RequestRecord

KINDS = {"rate_limit", "server_error", "error", "garbage", "drop", "hold", "slow", "silent", "late"}
NO_EFFECT = {"rate_limit", "server_error", "error", "silent"}


@dataclass(slots=True, eq=False)
class Fault(faults.Fault):
    """One armed switch, for every chat and bot or only for one."""

    chat_id: int | None = None
    bot_id: int | None = None
    status: int = 502
    description: str = "Bad Gateway"
    parameters: dict[str, Any] | None = None
    html: bool = False

    def concerns(self, record: RequestRecord) -> bool:
        """Whether this switch is meant for the request's chat and bot."""
        return self.chat_id in {None, record.chat_id} and self.bot_id in {None, record.bot_id}

    def to_json(self) -> dict[str, Any]:
        """What was armed and the numbers of the requests it hit."""
        return faults.Fault.to_json(self) | {"chat_id": self.chat_id, "bot_id": self.bot_id}


def fault_book() -> faults.FaultBook[Fault]:
    """An empty book of this platform's switches."""
    return faults.FaultBook(Fault, KINDS, NO_EFFECT)
