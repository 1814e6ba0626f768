"""The engine below the units: it runs them on one database, each in a transaction.

A facet is a class of units about one subject. A method marked `writes` or `reads` is a unit: callers await it
without `tx`. Listings are single statements, run by `Engine.ask` beside the units, so that a long one delays
no turn.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from core.clock import Clock
from core.errors import LeaseLost, StoreUnavailable
from core.store.lease import Lease
from core.store.search import WordSearch
from core.store.transaction import Row, Transaction, Unit

if TYPE_CHECKING:
    from types import CoroutineType  # takes no parameters at run time

logger = logging.getLogger(__name__)

T = TypeVar("T")
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
