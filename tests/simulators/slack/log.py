"""The judge of promises: every request in order, every event and interaction with its deliveries.

Times are seconds on the simulator's wall clock. ``outcome`` of a request:

========== ==============================================================================================
pending    read from the wire, not finished
held       taken or not (see ``taken``), waiting to be released
answered   the whole answer was handed to the socket while the client was still connected
dropped    the connection was cut on purpose
gone       the client went away before the answer
silent     left without an answer on purpose, the connection open
========== ==============================================================================================

``taken`` says whether the request had its effect on the world (or was refused by it).

A delivery of an event or interaction is ``{"at", "via": "socket" | "http", "connection"?, "envelope_id"?,
"retry", "reason", "result", "acked_at"?, "status"?}``; ``result`` is None while it waits, then ``acked``,
``timeout``, ``connection_failed``, ``closed`` or ``http_error``.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.request_log import RequestLog

Json = dict[str, Any]


@dataclass(slots=True, eq=False)
class RequestRecord:
    """One request of an app; ``number`` grows by one per request over all apps and methods.

    ``app_id`` is None for a request without a known token, and for uploads and downloads by URL.
    """

    number: int
    app_id: str | None
    method: str
    params: Json
    received_at: float
    channel: str | None = None
    taken: bool = False
    outcome: str = "pending"
    fault: int | None = None
    status: int | None = None
    error: str | None = None
    warning: str | None = None
    finished_at: float | None = None
    messages: list[tuple[str, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Taken and accepted (the client may or may not have learned it)."""
        return self.taken and self.status == 200 and self.error is None

    def to_json(self) -> Json:
        """All fields; ``messages`` are pairs of channel and ts this request created or changed."""
        body = {name: getattr(self, name) for name in self.__slots__}
        body["messages"] = [list(pair) for pair in self.messages]
        body["ok"] = self.ok
        return body


@dataclass(slots=True, eq=False)
class DeliveryRecord:
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

    def to_json(self) -> Json:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}


class Log(RequestLog[RequestRecord]):
    """Requests and deliveries.

    With ``limit`` only that many of the newest of each are kept (numbers still grow).
    """

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(limit)
        self.deliveries: deque[DeliveryRecord] = deque(maxlen=limit)

    def open(self, app_id: str | None, method: str, params: Json, now: float) -> RequestRecord:
        """Records a request that has been read from the wire."""
        record = RequestRecord(self.next_number(), app_id, method, params, now)
        self.requests.append(record)
        return record
