"""Requests in order, as every platform's log keeps them."""

import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar


class Numbered(Protocol):
    """A request; ``number`` grows by one per request."""

    number: int
    method: str


R = TypeVar("R", bound=Numbered)


class RequestLog(Generic[R]):
    """With ``limit`` only that many of the newest requests are kept (numbers still grow)."""

    def __init__(self, limit: int | None = None) -> None:
        self.requests: deque[R] = deque(maxlen=limit)
        self.last_number = 0

    def next_number(self) -> int:
        """The number of the next request, which is given to one only."""
        self.last_number += 1
        return self.last_number

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
