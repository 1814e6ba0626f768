"""The record of every request a simulator took, in order, and the means to wait for what will be in it."""

import asyncio
import json
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

State = Literal["open", "held", "answered", "refused", "failed", "dropped", "client_gone"]

SECRET_HEADERS = frozenset({"authorization", "x-api-key", "api-key", "proxy-authorization", "cookie"})

Found = TypeVar("Found")


@dataclass(slots=True)
class Exchange:
    """One request and what became of it.

    `state`: "open" while being answered, "held" while a Hold waits, then exactly one of "answered" (the last
    byte was handed to the socket), "refused" (the request broke the provider's rules), "failed" (an error or
    a defective answer was scripted), "dropped" (the connection was cut by a fault), "client_gone".
    """

    number: int
    wire: str
    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    received_at: float
    """Seconds since the epoch."""
    state: State = "open"
    status: int | None = None
    stream: bool = False
    user_text: str = ""
    tool_results: tuple[str, ...] = ()
    reply: Any = None
    """The `Reply` chosen, if it came to that."""
    fault: Any = None
    counted: tuple[int, int, int, int] = (0, 0, 0, 0)
    """Its tokens: input, output, input read from the cache, and input written to it."""
    events_sent: int = 0
    was_held: bool = False

    @property
    def body(self) -> Any:
        """The request's JSON, decoded anew at each call; None where it is not JSON."""
        try:
            return json.loads(self.raw)
        except ValueError:
            return None

    def as_json(self) -> dict[str, Any]:
        """The exchange as the control API shows it."""
        return {
            "number": self.number,
            "wire": self.wire,
            "method": self.method,
            "path": self.path,
            "headers": self.headers,
            "body": self.body,
            "received_at": self.received_at,
            "state": self.state,
            "status": self.status,
            "stream": self.stream,
            "user_text": self.user_text,
            "tool_results": list(self.tool_results),
            "reply": repr(self.reply) if self.reply is not None else None,
            "fault": repr(self.fault) if self.fault is not None else None,
            "counted": list(self.counted),
            "events_sent": self.events_sent,
            "was_held": self.was_held,
        }


@dataclass(slots=True)
class Journal:
    """The last `limit` exchanges in order of arrival; numbers start at 1 and are never reused."""

    limit: int = 10_000
    taken: int = 0
    """How many requests were ever taken, including those no longer kept."""
    _kept: deque[Exchange] = field(init=False)
    _waiters: set[asyncio.Event] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._kept = deque(maxlen=self.limit)

    def __len__(self) -> int:
        return len(self._kept)

    def __getitem__(self, index: int) -> Exchange:
        return self._kept[index]

    def all(self) -> Sequence[Exchange]:
        return tuple(self._kept)

    def select(
        self, *, state: str | None = None, match: str | None = None, after: int = 0, limit: int | None = None
    ) -> list[Exchange]:
        """Exchanges with number > `after`, in `state` (several with "|"), whose user text matches `match`."""
        states = frozenset(state.split("|")) if state else None
        pattern = re.compile(match) if match else None
        found = [
            exchange
            for exchange in self._kept
            if exchange.number > after
            and (states is None or exchange.state in states)
            and (pattern is None or pattern.search(exchange.user_text))
        ]
        return found if limit is None else found[:limit]

    def open(self, wire: str, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Exchange:
        """Record a request the moment it is taken."""
        self.taken += 1
        shown = {
            name: "<redacted>" if name.lower() in SECRET_HEADERS else value for name, value in headers.items()
        }
        exchange = Exchange(self.taken, wire, method, path, shown, raw, time.time())
        self._kept.append(exchange)
        self.changed()
        return exchange

    def mark(self, exchange: Exchange, state: State, status: int | None = None) -> None:
        exchange.state = state
        if status is not None:
            exchange.status = status
        if state == "held":
            exchange.was_held = True
        self.changed()

    def changed(self) -> None:
        for waiter in self._waiters:
            waiter.set()

    def clear(self) -> None:
        """Forget the kept exchanges; numbers go on."""
        self._kept.clear()
        self.changed()

    async def wait_for(
        self, predicate: Callable[["Journal"], Found], timeout_s: float, *, what: str = ""
    ) -> Found:
        """Return the predicate's value as soon as it is true.

        Raises TimeoutError, telling the states seen, after `timeout_s`.
        """
        woken = asyncio.Event()
        self._waiters.add(woken)
        try:
            async with asyncio.timeout(timeout_s):
                while not (found := predicate(self)):
                    woken.clear()
                    await woken.wait()
                return found
        except TimeoutError:
            seen = [(e.number, e.state, e.user_text[:40]) for e in self._kept][-10:]
            raise TimeoutError(
                f"not within {timeout_s} s{what and ': ' + what}; last requests: {seen}"
            ) from None
        finally:
            self._waiters.discard(woken)
