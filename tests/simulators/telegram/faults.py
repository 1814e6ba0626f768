"""Switches that make the platform misbehave, each for some methods, chats or bots, some times or some while.

Kinds of fault (``when`` is ``"before"`` or ``"after"`` the request takes effect):

============= ===========================================================================================
rate_limit    429 with ``retry_after_s`` (default: what is left of ``duration_s``); no effect
server_error  ``status`` (default 502) with the platform's body, or HTML with ``html=True``; no effect
error         ``status`` and ``description`` (and ``parameters``) as given; no effect
garbage       HTTP 200 with a body that is no JSON; takes effect when ``when="after"``
drop          the connection is cut; ``when`` decides whether the request took effect
hold          waits for release or until the client goes away, then answers (or drops: ``then="drop"``)
slow          waits ``delay_s``, then answers
silent        never answers; the connection stays open until the client or the simulator closes it
============= ===========================================================================================
"""

import asyncio
import itertools
import math
import time
from dataclasses import dataclass, field
from typing import Any

from tests.simulators.telegram.log import RequestRecord

KINDS = {"rate_limit", "server_error", "error", "garbage", "drop", "hold", "slow", "silent"}
_NO_EFFECT = {"rate_limit", "server_error", "error", "silent"}


@dataclass(slots=True, eq=False)
class Fault:
    """One armed switch. ``skip`` matching requests pass first; ``count`` then are hit (None: no end)."""

    id: int
    kind: str
    method: str = "*"
    when: str = "after"
    chat_id: int | None = None
    bot_id: int | None = None
    skip: int = 0
    count: int | None = None
    until: float | None = None
    retry_after_s: int | None = None
    status: int = 502
    description: str = "Bad Gateway"
    parameters: dict[str, Any] | None = None
    html: bool = False
    delay_s: float = 0.0
    then: str = "answer"
    hits: list[int] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def matches(self, record: RequestRecord) -> bool:
        """Whether this switch is meant for this request (not whether its turn has come)."""
        return (
            (self.method == "*" or self.method.lower() == record.method.lower())
            and (self.chat_id is None or self.chat_id == record.chat_id)
            and (self.bot_id is None or self.bot_id == record.bot_id)
        )

    @property
    def retry_after(self) -> int:
        """What a 429 asks for: as armed, else what is left of the fault's duration, at least a second."""
        if self.retry_after_s is not None:
            return self.retry_after_s
        return 1 if self.until is None else max(1, math.ceil(self.until - time.monotonic()))

    @property
    def spent(self) -> bool:
        """Whether it will not hit again."""
        return self.count == 0 or (self.until is not None and time.monotonic() >= self.until)

    def to_json(self) -> dict[str, Any]:
        """What was armed and the numbers of the requests it hit."""
        names = ("id", "kind", "method", "when", "chat_id", "bot_id", "skip", "count", "hits")
        return {name: getattr(self, name) for name in names}


class FaultBook:
    """The armed switches; the oldest that fits a request hits it."""

    def __init__(self) -> None:
        self._faults: dict[int, Fault] = {}
        self._ids = itertools.count(1)

    def arm(self, kind: str, *, duration_s: float | None = None, **fields: Any) -> Fault:
        """Adds a switch.

        Raises ``ValueError`` for an unknown kind or ``when``, ``TypeError`` for unknown fields.
        """
        if kind not in KINDS:
            raise ValueError(f"unknown fault {kind!r}; one of {', '.join(sorted(KINDS))}")
        if kind in _NO_EFFECT:
            fields["when"] = "before"
        if fields.get("when", "after") not in {"before", "after"}:
            raise ValueError('when is "before" or "after"')
        until = None if duration_s is None else time.monotonic() + duration_s
        fault = Fault(id=next(self._ids), kind=kind, until=until, **fields)
        self._faults[fault.id] = fault
        return fault

    def clear(self, fault_id: int | None = None) -> None:
        """Takes back one switch or all; requests they hold are released."""
        for fault in [f for f in self._faults.values() if fault_id in {None, f.id}]:
            fault.released.set()
            del self._faults[fault.id]

    def release(self, fault_id: int | None = None) -> None:
        """Lets the requests held by one switch (or all) go on; the switch stays armed for later requests."""
        for fault in self._faults.values():
            if fault_id in {None, fault.id}:
                fault.released.set()
                fault.released = asyncio.Event()

    def hit(self, record: RequestRecord) -> Fault | None:
        """The switch that hits this request, counted."""
        if not self._faults:
            return None
        for fault in list(self._faults.values()):
            if fault.spent:
                continue
            if not fault.matches(record):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            if fault.count is not None:
                fault.count -= 1
            fault.hits.append(record.number)
            return fault
        return None

    def all(self) -> list[Fault]:
        """Every armed switch, spent ones included."""
        return list(self._faults.values())
