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

import itertools
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

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


class Log:
    """Requests and deliveries.

    With ``limit`` only that many of the newest of each are kept (numbers still grow).
    """

    def __init__(self, limit: int | None = None) -> None:
        self.requests: deque[RequestRecord] = deque(maxlen=limit)
        self.deliveries: deque[DeliveryRecord] = deque(maxlen=limit)
        self.last_number = 0
        self._numbers = itertools.count(1)

    def open(self, app_id: str | None, method: str, params: Json, now: float) -> RequestRecord:
        """Records a request that has been read from the wire."""
        self.last_number = next(self._numbers)
        record = RequestRecord(self.last_number, app_id, method, params, now)
        self.requests.append(record)
        return record

    def select(self, *, method: str | None = None, since: int = 0, **wanted: Any) -> list[RequestRecord]:
        """Requests with a number above ``since`` that match every given value but None, in order."""
        given = {name: value for name, value in wanted.items() if value is not None}
        return [
            record
            for record in self._after(since)
            if (method is None or record.method.lower() == method.lower())
            and all(getattr(record, name) == value for name, value in given.items())
        ]

    def _after(self, since: int) -> Iterator[RequestRecord]:
        if since <= 0:
            return iter(self.requests)
        newest_first = itertools.takewhile(lambda record: record.number > since, reversed(self.requests))
        return reversed(list(newest_first))
