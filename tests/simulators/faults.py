"""Switches that make a simulated platform misbehave, each for some requests, some times or some while.

A platform's own module says how it words them, adds what narrows them (a chat, an account) and subclasses
``Fault``. Kinds of fault (``when`` is ``"before"`` or ``"after"`` the request takes effect):

============= ===========================================================================================
rate_limit    429 with ``retry_after_s`` (default: what is left of ``duration_s``); no effect
server_error  a status of 500 and above; no effect
error         any other refusal; no effect
garbage       HTTP 200 with a body that is no JSON; takes effect when ``when="after"``
drop          the connection is cut; ``when`` decides whether the request took effect
hold          waits for release or until the client goes away, then answers (or drops: ``then="drop"``)
slow          waits ``delay_s``, then answers
silent        never answers; the connection stays open until the client or the simulator closes it
late          waits for release, whatever the client does meanwhile, and only then takes effect
============= ===========================================================================================
"""

import asyncio
import itertools
import math
import time
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar


class FaultyRequest(Protocol):
    """The parts of a request a switch looks at: its number and method."""

    number: int
    method: str


@dataclass(slots=True, eq=False)
class Fault:
    """One armed switch. ``skip`` matching requests pass first; ``count`` then are hit (None: no end).
    ``NARROWED_BY``: fields that a request's record has, too.
    """

    NARROWED_BY: ClassVar[tuple[str, ...]] = ()
    id: int
    kind: str
    method: str = "*"
    when: str = "after"
    skip: int = 0
    count: int | None = None
    until: float | None = None
    retry_after_s: int | None = None
    delay_s: float = 0.0
    then: str = "answer"
    hits: list[int] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def concerns(self, record: Any) -> bool:
        """Return whether this switch is meant for the request's account and place."""
        return all(getattr(self, name) in {None, getattr(record, name)} for name in self.NARROWED_BY)

    def matches(self, record: FaultyRequest) -> bool:
        """Return whether this switch is meant for this request (not whether its turn has come)."""
        wanted = self.method == "*" or self.method.lower() == record.method.lower()
        return wanted and self.concerns(record)

    @property
    def retry_after(self) -> int:
        """Return what a 429 asks for: as armed, else what is left of the fault's duration, at least a
        second."""
        if self.retry_after_s is not None:
            return self.retry_after_s
        return 1 if self.until is None else max(1, math.ceil(self.until - time.monotonic()))

    @property
    def spent(self) -> bool:
        """Return whether it will not hit again."""
        return self.count == 0 or (self.until is not None and time.monotonic() >= self.until)

    def to_json(self) -> dict[str, Any]:
        """Return what was armed and the numbers of the requests it hit."""
        names = ("id", "kind", "method", "when", "skip", "count", "hits", *self.NARROWED_BY)
        return {name: getattr(self, name) for name in names}


F = TypeVar("F", bound=Fault)
NO_EFFECT = {"rate_limit", "server_error", "error", "silent"}
KINDS = NO_EFFECT | {"garbage", "drop", "hold", "slow"}


class FaultBook(Generic[F]):
    """The armed switches; the oldest that fits a request hits it."""

    def __init__(self, make: Callable[..., F], kinds: Set[str] = KINDS) -> None:
        self._make = make
        self._kinds = kinds
        self._faults: dict[int, F] = {}
        self._ids = itertools.count(1)

    def arm(self, kind: str, *, duration_s: float | None = None, **fields: Any) -> F:
        """Adds a switch.

        Raises ``ValueError`` for an unknown kind or ``when``, ``TypeError`` for unknown fields.
        """
        if kind not in self._kinds:
            raise ValueError(f"unknown fault {kind!r}; one of {', '.join(sorted(self._kinds))}")
        if kind in NO_EFFECT:
            fields["when"] = "before"
        if fields.get("when", "after") not in {"before", "after"}:
            raise ValueError('when is "before" or "after"')
        until = None if duration_s is None else time.monotonic() + duration_s
        fault = self._make(id=next(self._ids), kind=kind, until=until, **fields)
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

    def hit(self, record: FaultyRequest) -> F | None:
        """The switch that hits this request, counted."""
        if not self._faults:
            return None
        for fault in list(self._faults.values()):
            if fault.spent or not fault.matches(record):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            if fault.count is not None:
                fault.count -= 1
            fault.hits.append(record.number)
            return fault
        return None

    def all(self) -> list[F]:
        """Every armed switch, spent ones included."""
        return list(self._faults.values())
