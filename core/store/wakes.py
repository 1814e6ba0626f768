"""Wakes: what a commit lets move next, and the bus that carries them from the store to whoever moves it.

A unit notes its wakes as it writes; they are told after the commit it is part of, in order. A wake is a hint:
what it says is in the store, and whoever missed it finds it there at its next look (see core.runs.leases).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from core.ports import OutboxReady
from core.store.rows import TurnStart

if TYPE_CHECKING:
    from core.store.routine_rows import RoutineRow

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunMayStart:
    """A turn begins or continues; the hub that committed it has it in hand."""

    start: TurnStart


@dataclass(frozen=True, slots=True)
class RunStopped:
    """A person stopped a running turn."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class InputWaiting:
    """Input of a thread waits: for the rest of an album until then (microseconds UTC), or for hooks
    (core.store.facets.HELD)."""

    thread_id: str
    until: int


@dataclass(frozen=True, slots=True)
class RoutineChanged:
    """A routine was created, changed or deleted.

    `row`: the routine as it is now; None if it is deleted.
    `change`: counts all changes of routines, so that a missed one shows.
    """

    routine_id: str
    row: "RoutineRow | None"
    change: int


@dataclass(frozen=True, slots=True)
class RoutinesFired:
    """Runs of routines may begin: some were claimed, or one that ran has ended."""


@dataclass(frozen=True, slots=True)
class ToolsPaused:
    """A person paused all tools, or let them run again."""

    paused: bool


@dataclass(frozen=True, slots=True)
class AuditWritten:
    """Audit records wait to be chained."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Something that people look at changed. It may name slightly more than actually changed.

    `threads`: ids of threads with something new to show.
    `gates`: ids of gates opened, changed or closed, each with its thread's.
    `people`: pairing requests changed.
    `routines`: ids of routines that were created, changed or deleted.
    `runs`: ids of routines whose runs were queued, began or ended.
    `tools`: all tools were paused or unpaused.
    """

    threads: frozenset[str] = frozenset()
    gates: Mapping[str, str] = field(default_factory=dict[str, str])
    people: bool = False
    routines: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    tools: bool = False


Wake = (
    OutboxReady
    | RunMayStart
    | RunStopped
    | InputWaiting
    | RoutineChanged
    | RoutinesFired
    | ToolsPaused
    | AuditWritten
    | Changes
)
W = TypeVar("W", bound=Wake)


class Wakes(Protocol):
    """The bus of one hub."""

    def wake(self, wake: Wake) -> None:
        """Tell all who listen to this kind, in the order in which they began to. Never blocks and never
        fails. Called in the event loop."""
        ...

    def listen(self, kind: type[W], listener: Callable[[W], None]) -> None:
        """Tell `listener` of every later wake of this kind. It must not block."""
        ...


class LocalWakes:
    """Implements Wakes within this process: listeners are called at once, so no wake is ever kept."""

    def __init__(self) -> None:
        self._listeners: dict[type[Any], list[Callable[[Any], None]]] = {}

    def wake(self, wake: Wake) -> None:
        for listener in self._listeners.get(type(wake), ()):
            try:
                listener(wake)
            except Exception:  # a defect of one listener: the others are still to be told
                logger.exception("wake.listener_crashed wake=%s", type(wake).__name__)

    def listen(self, kind: type[W], listener: Callable[[W], None]) -> None:
        self._listeners.setdefault(kind, []).append(listener)


@dataclass(slots=True)
class ChangeLog:
    """A collector of what the units of one commit changed, and of their wakes in order."""

    threads: set[str] = field(default_factory=set[str])
    gates: dict[str, str] = field(default_factory=dict[str, str])
    people: bool = False
    routines: set[str] = field(default_factory=set[str])
    runs: set[str] = field(default_factory=set[str])
    audit: bool = False
    tools: bool = False
    wakes: list[Wake] = field(default_factory=list[Wake])

    def take(self) -> Sequence[Wake]:
        """Return the wakes of the commit and clear them."""
        taken, self.wakes = self.wakes, []
        if self.threads or self.gates or self.routines or self.runs or self.people or self.tools:
            taken.append(
                Changes(
                    frozenset(self.threads),
                    self.gates,
                    self.people,
                    frozenset(self.routines),
                    frozenset(self.runs),
                    self.tools,
                )
            )
            self.threads.clear()
            self.gates = {}
            self.routines.clear()
            self.runs.clear()
            self.people = self.tools = False
        if self.audit:
            self.audit = False
            taken.append(AuditWritten())
        return taken
