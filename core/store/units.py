"""Units of work: the transaction of each, and the engine that runs them on one database.

Statements are written once, in SQL that SQLite and PostgreSQL both read, with `?` or `?1` for parameters.
A facet is a class of units about one subject. A method marked `writes` or `reads` is a unit: callers await it
without `tx`. Listings are single statements, run by `Engine.ask` beside the units, so that a long one delays
no turn.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import field
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from core.audit_chain import ChainKeys
from core.clock import Clock
from core.errors import LeaseLost, StoreUnavailable
from core.ids import Ids
from core.lazy import dataclass
from core.store.conversations import WordSearch
from core.store.feed import ChangeLog
from core.store.lease import Lease
from core.usage import NO_BUDGET, Budget, Expected

if TYPE_CHECKING:
    from types import CoroutineType  # takes no parameters at run time

Row = Sequence[Any]
"""A row as the driver returns it, in the order of the statement's columns."""

MERGE_LIMIT = 10
HISTORY_LIMIT_CHARS = 1_000_000


@dataclass(slots=True)
class Spending:
    """What model calls may cost, which may be changed while the hub runs.

    `budget`: held to by every call. `first_call`: as a conversation's first one is reserved in advance."""

    budget: Budget = NO_BUDGET
    first_call: Expected | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The configuration of the store's units.

    `merge_inputs`: how many waiting messages of one person may become one turn.
    `history_limit_chars`: a turn is loaded with whole past turns until they exceed this.
    `holds_inputs`: hooks judge messages before a turn takes them.
    """

    merge_inputs: int = MERGE_LIMIT
    history_limit_chars: int = HISTORY_LIMIT_CHARS
    holds_inputs: bool = False
    spending: Spending = field(default_factory=Spending)


class NoteIndex(Protocol):
    """The words of people's notes and documents. How they are indexed differs from engine to engine."""

    def add(self, row_id: int, text: str) -> None:
        """Index a row of `memories`."""
        ...

    def remove(self, row_id: int, text: str) -> None:
        """Remove a row, with the text it was indexed by."""
        ...

    def find(self, user_id: str, phrases: Sequence[tuple[str, ...]], limit: int) -> list[Row]:
        """Return id, text, time and path of the person's rows that contain all phrases, newest first."""
        ...


class SaidIndex(WordSearch, Protocol):
    """The words of `said`: of the messages of threads, a turn at a time."""

    def add(self, row_id: int, texts: Sequence[str]) -> None:
        """Index a row by its messages."""
        ...

    def remove(self, row_id: int, texts: Sequence[str]) -> None:
        """Remove a row, with the messages it was indexed by."""
        ...


class Transaction(Protocol):
    """A unit's access to the database. Never kept beyond the unit."""

    @property
    def clock(self) -> Clock: ...

    @property
    def ids(self) -> Ids: ...

    @property
    def policy(self) -> Policy: ...

    @property
    def changes(self) -> ChangeLog:
        """The changes to report to listeners."""
        ...

    @property
    def chain(self) -> ChainKeys:
        """The keys that seal audit records."""
        ...

    @property
    def lease(self) -> Lease:
        """The lease this hub writes under."""
        ...

    @property
    def event(self) -> str | None:
        """The key of the inbound event being accepted, which audit records name."""
        ...

    @property
    def notes(self) -> NoteIndex: ...

    @property
    def said(self) -> SaidIndex: ...

    def accepting(self, event_key: str) -> "Transaction":
        """Return the same transaction for the effects of an inbound event."""
        ...

    def one(self, sql: str, *parameters: Any) -> Row | None:
        """Return the statement's first row."""
        ...

    def all(self, sql: str, *parameters: Any) -> list[Row]:
        """Return all rows of the statement."""
        ...

    def run(self, sql: str, *parameters: Any) -> int:
        """Run the statement and return the number of rows it changed."""
        ...

    def insert(self, sql: str, *parameters: Any) -> int:
        """Insert a row and return its number, its column `id`."""
        ...


T = TypeVar("T")
Unit = Callable[[Transaction], T]
"""One unit of work. It runs in a thread of the store, inside a transaction, and never waits."""


logger = logging.getLogger(__name__)

P = ParamSpec("P")

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 10.0


class Engine(Protocol):
    """One database."""

    @property
    def clock(self) -> Clock: ...

    async def write(
        self, unit: Unit[T], *, unhurried: bool = False, meanwhile: Callable[[], None] | None = None
    ) -> T:
        """Run a unit and return its result once it is durable. `unhurried`: a little later than possible.

        The callback runs in the event loop while the commit is in progress. Raises the unit's own exception,
        with nothing of it kept, and StoreUnavailable if the database cannot be written."""
        ...

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that changes nothing, on one consistent view of all commits so far."""
        ...

    @property
    def lease(self) -> Lease:
        """The lease all writes are made under."""
        ...

    @property
    def words(self) -> WordSearch: ...

    async def ask(self, sql: str, *parameters: Any) -> list[Row]:
        """Return all rows of one statement that changes nothing."""
        ...


class Facet:
    """The units about one subject."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def engine(self) -> Engine:
        """The database the units run on."""
        return self._engine


F = TypeVar("F", bound=Facet)


def writes(
    unit: Callable[Concatenate[F, Transaction, P], T],
) -> "Callable[Concatenate[F, P], CoroutineType[Any, Any, T]]":
    """Make a method one writing transaction."""

    @wraps(unit)
    async def method(self: F, *arguments: P.args, **named: P.kwargs) -> T:
        return await self.engine.write(lambda tx: unit(self, tx, *arguments, **named))

    return method


def reads(
    unit: Callable[Concatenate[F, Transaction, P], T],
) -> "Callable[Concatenate[F, P], CoroutineType[Any, Any, T]]":
    """Make a method one reading transaction."""

    @wraps(unit)
    async def method(self: F, *arguments: P.args, **named: P.kwargs) -> T:
        return await self.engine.read(lambda tx: unit(self, tx, *arguments, **named))

    return method


# Calls of units by services.


async def committed(unit: Coroutine[Any, Any, T], follow: Callable[[T], None]) -> T:
    """Await a unit and its follow-up, even if the caller is cancelled in between.

    The unit commits in any case, so its follow-up must run in any case. A cancellation is raised
    only after both.
    """

    async def unit_and_follow() -> T:
        result = await unit
        follow(result)
        return result

    task = asyncio.ensure_future(unit_and_follow())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled() and (failure := task.exception()) is not None:
            logger.info("store.abandoned_write_failed error=%s", failure)
        raise


async def patiently(unit: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Run a unit, and retry it while the database cannot be written. A failed unit leaves nothing
    behind, so repeating is safe.

    Values the caller holds in memory (a tool's result) are not lost."""
    wait_s = FIRST_WAIT_S
    while True:
        try:
            return await unit()
        except LeaseLost:
            raise
        except StoreUnavailable as error:
            logger.warning("store.write_retry delay_s=%g error=%s", wait_s, error)
        await clock.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
