"""The judge of promises: every request in order, every update with its deliveries.

Times are seconds on the simulator's wall clock. ``outcome`` of a request:

========== ==============================================================================================
pending    read from the wire, not finished (a waiting long poll, a slow answer)
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
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.request_log import RequestLog

Json = dict[str, Any]


@dataclass(slots=True, eq=False)
class RequestRecord:
    """One request of a bot; ``number`` grows by one per request over all bots and methods."""

    number: int
    bot_id: int
    method: str
    params: Json
    received_at: float
    chat_id: int | None = None
    taken: bool = False
    outcome: str = "pending"
    fault: int | None = None
    status: int | None = None
    error: str | None = None
    finished_at: float | None = None
    messages: list[tuple[int, int]] = field(default_factory=list)
    update_ids: list[int] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Taken and accepted (the client may or may not have learned it)."""
        return self.taken and self.status == 200

    def to_json(self) -> Json:
        """All fields; ``messages`` are pairs of chat and message id this request created or changed."""
        body = {name: getattr(self, name) for name in self.__slots__}
        body["messages"] = [list(pair) for pair in self.messages]
        body["ok"] = self.ok
        return body


@dataclass(slots=True, eq=False)
class UpdateRecord:
    """One update for one bot and what became of it."""

    update_id: int
    bot_id: int
    kind: str
    payload: Json
    created_at: float
    expires_at: float
    deliveries: list[Json] = field(default_factory=list)
    confirmed_at: float | None = None
    confirmed_by: int | None = None
    discarded: str | None = None

    def to_json(self) -> Json:
        """All fields. A delivery is ``{"at", "via": "poll" | "webhook", "request"?, "status"?}``."""
        return {name: getattr(self, name) for name in self.__slots__}


class Log(RequestLog[RequestRecord]):
    """Requests and updates.

    With ``limit`` only that many of the newest of each are kept (numbers still grow).
    """

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(limit)
        self.updates: deque[UpdateRecord] = deque(maxlen=limit)

    def open(self, bot_id: int, method: str, params: Json, now: float) -> RequestRecord:
        """Records a request that has been read from the wire."""
        record = RequestRecord(self.next_number(), bot_id, method, params, now)
        self.requests.append(record)
        return record

    def select_updates(self, matches: Callable[[UpdateRecord], bool] | None = None) -> list[UpdateRecord]:
        """Updates in order of creation."""
        return [record for record in self.updates if matches is None or matches(record)]
