"""Requests, and every gateway event with its deliveries; see ``request_log``."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.request_log import AsJson, Request, RequestLog


@dataclass(slots=True, eq=False)
class RequestRecord(Request):
    """One request. ``bot_id`` 0: no valid token given.

    ``method`` is the operation's name (``createMessage``), ``path`` what was asked for. ``messages`` are the
    ids this request created or changed. ``code`` is the platform's error code.
    """

    bot_id: int = 0
    path: str = ""
    channel_id: int | None = None
    code: int | None = None
    messages: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class EventRecord(AsJson):
    """One event of one gateway session. ``sent_at``: each time it went out (again: a resume)."""

    bot_id: int
    session_id: str
    seq: int
    name: str
    data: Any
    created_at: float
    sent_at: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class GatewayRecord(AsJson):
    """Something that happened on a gateway connection: connected, identified, resumed, heartbeat, closed …"""

    at: float
    bot_id: int
    what: str
    detail: Any = None


class Log(RequestLog[RequestRecord]):
    """Requests, events and what happened on the gateway; with ``limit`` only the newest of each."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(RequestRecord, limit)
        self.events: deque[EventRecord] = deque(maxlen=limit)
        self.gateway: deque[GatewayRecord] = deque(maxlen=limit)
