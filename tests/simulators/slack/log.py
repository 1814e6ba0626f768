"""Requests of apps, and every event and interaction with its deliveries; see ``request_log``.

A delivery of an event or interaction is ``{"at", "via": "socket" | "http", "connection"?, "envelope_id"?,
"retry", "reason", "result", "acked_at"?, "status"?}``; ``result`` is None while it waits, then ``acked``,
``timeout``, ``connection_failed``, ``closed`` or ``http_error``.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.request_log import AsJson, Request, RequestLog

Json = dict[str, Any]


@dataclass(slots=True, eq=False)
class RequestRecord(Request):
    """One request of an app; ``messages`` are pairs of channel and ts it created or changed.

    ``app_id`` is None for a request without a known token, and for uploads and downloads by URL.
    """

    app_id: str | None = None
    channel: str | None = None
    warning: str | None = None
    messages: list[tuple[str, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Taken and accepted (the client may or may not have learned it)."""
        return self.taken and self.status == 200 and self.error is None


@dataclass(slots=True, eq=False)
class DeliveryRecord(AsJson):
    """Something meant for one app: an event (kind ``events_api``), an interaction or a slash command.

    ``state``: ``pending``, ``acked`` (with ``response``, what the app answered) or ``failed``: no further
    delivery will be tried.
    """

    id: str
    app_id: str
    kind: str
    what: str
    payload: Json
    created_at: float
    accepts_response: bool = False
    state: str = "pending"
    response: Any = None
    deliveries: list[Json] = field(default_factory=list)


class Log(RequestLog[RequestRecord]):
    """Requests and deliveries; with ``limit`` only that many of the newest of each (numbers still grow)."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(RequestRecord, limit)
        self.deliveries: deque[DeliveryRecord] = deque(maxlen=limit)
