"""The judge of promises: every request in order, every gateway event with its deliveries.

Times are seconds on the simulator's wall clock. ``outcome`` of a request:

========== ==============================================================================================
pending    read from the wire, not finished (a slow answer)
held       taken or not (see ``taken``), waiting to be released
answered   the whole answer was handed to the socket while the client was still connected
dropped    the connection was cut on purpose
gone       the client went away before the answer
silent     left without an answer on purpose, the connection open
========== ==============================================================================================

``taken`` says whether the request had its effect on the world (or, for a query, was evaluated); a taken
request that was not answered is what a client must treat as ambiguous.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.request_log import RequestLog

Json = dict[str, Any]


@dataclass(slots=True, eq=False)
class RequestRecord:
    """One request; ``number`` grows by one per request over all bots. ``bot_id`` 0: no valid token given.

    ``method`` is the operation's name (``createMessage``), ``path`` what was asked for. ``messages`` are the
    ids this request created or changed. ``code`` is the platform's error code.
    """

    number: int
    bot_id: int
    method: str
    path: str
    params: Any
    received_at: float
    channel_id: int | None = None
    taken: bool = False
    outcome: str = "pending"
    fault: int | None = None
    status: int | None = None
    code: int | None = None
    error: str | None = None
    finished_at: float | None = None
    messages: list[int] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Taken and accepted (the client may or may not have learned it)."""
        return self.taken and self.status is not None and self.status < 300

    def to_json(self) -> Json:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__} | {"ok": self.ok}


@dataclass(slots=True, eq=False)
class EventRecord:
    """One event of one gateway session. ``sent_at``: each time it went out (again: a resume)."""

    bot_id: int
    session_id: str
    seq: int
    name: str
    data: Any
    created_at: float
    sent_at: list[float] = field(default_factory=list)

    def to_json(self) -> Json:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class GatewayRecord:
    """Something that happened on a gateway connection: connected, identified, resumed, heartbeat, closed …"""

    at: float
    bot_id: int
    what: str
    detail: Any = None

    def to_json(self) -> Json:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}


class Log(RequestLog[RequestRecord]):
    """Requests, events and what happened on the gateway; with ``limit`` only the newest of each."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(limit)
        self.events: deque[EventRecord] = deque(maxlen=limit)
        self.gateway: deque[GatewayRecord] = deque(maxlen=limit)

    def open(self, bot_id: int, method: str, path: str, params: Any, now: float) -> RequestRecord:
        """Records a request that has been read from the wire."""
        record = RequestRecord(self.next_number(), bot_id, method, path, params, now)
        self.requests.append(record)
        return record
