"""Requests in order, as every platform's log keeps them: the judge of promises.

Times are seconds on the simulator's wall clock. ``outcome`` of a request:

========== ==============================================================================================
pending    read from the wire, not finished (a waiting long poll, a slow answer)
held       taken or not (see ``taken``), waiting to be released
answered   the whole answer was handed to the socket while the client was still connected
dropped    the connection was cut on purpose
gone       the client went away before the answer
silent     left without an answer on purpose, the connection open
========== ==============================================================================================

``taken`` says whether the request had its effect on the world (was refused by it, or, for a query, was
evaluated); a taken request that was not answered is what a client must treat as ambiguous.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar, cast

Json = dict[str, Any]


class AsJson:
    """Shown by the control API with all its fields."""

    __slots__ = ()

    def to_json(self) -> Json:
        """All fields."""
        return {field.name: getattr(self, field.name) for field in fields(cast("Any", self))}


@dataclass(slots=True, eq=False)
class Request(AsJson):
    """One request; ``number`` grows by one per request over all accounts and methods."""

    number: int
    method: str
    params: Any
    received_at: float
    taken: bool = False
    outcome: str = "pending"
    fault: int | None = None
    status: int | None = None
    error: str | None = None
    finished_at: float | None = None

    @property
    def ok(self) -> bool:
        """Taken and accepted (the client may or may not have learned it)."""
        return self.taken and self.status is not None and self.status < 300

    def to_json(self) -> Json:
        """All fields."""
        return AsJson.to_json(self) | {"ok": self.ok}


R = TypeVar("R", bound=Request)


class RequestLog(Generic[R]):
    """With ``limit`` only that many of the newest requests are kept (numbers still grow)."""

    def __init__(self, make: Callable[..., R], limit: int | None = None) -> None:
        self._make = make
        self.requests: deque[R] = deque(maxlen=limit)
        self.last_number = 0

    def open(self, method: str, params: Any, now: float, **of: Any) -> R:
        """Records a request that has been read from the wire."""
        self.last_number += 1
        record = self._make(self.last_number, method, params, now, **of)
        self.requests.append(record)
        return record

    def select(self, *, method: str | None = None, since: int = 0, **wanted: Any) -> list[R]:
        """Requests with a number above ``since`` that match every given value but None, in order."""
        given = {name: value for name, value in wanted.items() if value is not None}
        return [
            record
            for record in self._after(since)
            if (method is None or record.method.lower() == method.lower())
            and all(getattr(record, name) == value for name, value in given.items())
        ]

    def _after(self, since: int) -> Iterator[R]:
        if since <= 0:
            return iter(self.requests)
        newest_first = itertools.takewhile(lambda record: record.number > since, reversed(self.requests))
        return reversed(list(newest_first))
