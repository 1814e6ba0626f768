"""Requests of bots, and every update with its deliveries; see ``request_log``."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.request_log import AsJson, Request, RequestLog

Json = dict[str, Any]


@dataclass(slots=True, eq=False)
class RequestRecord(Request):
    """One request of a bot; ``messages`` are pairs of chat and message id it created or changed."""

    bot_id: int = 0
    chat_id: int | None = None
    messages: list[tuple[int, int]] = field(default_factory=list)
    update_ids: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class UpdateRecord(AsJson):
    """One update for one bot and what became of it.

    A delivery is ``{"at", "via": "poll" | "webhook", "request"?, "status"?}``.
    """

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


class Log(RequestLog[RequestRecord]):
    """Requests and updates; with ``limit`` only that many of the newest of each (numbers still grow)."""

    def __init__(self, limit: int | None = None) -> None:
        super().__init__(RequestRecord, limit)
        self.updates: deque[UpdateRecord] = deque(maxlen=limit)

    def select_updates(self, matches: Callable[[UpdateRecord], bool] | None = None) -> list[UpdateRecord]:
        """Updates in order of creation."""
        return [record for record in self.updates if matches is None or matches(record)]
