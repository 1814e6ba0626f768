"""The engine below the units: it runs them on one database, each in a transaction.

A facet is a class of units about one subject. A method marked `writes` or `reads` is a unit: callers await it
without `tx`. Listings are single statements, run by `Engine.ask` beside the units, so that a long one delays
no turn.
"""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from core.clock import Clock
from core.store.transaction import Row, Transaction, Unit

if TYPE_CHECKING:
    from types import CoroutineType  # takes no parameters at run time

T = TypeVar("T")
P = ParamSpec("P")


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
