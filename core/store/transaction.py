"""The context of one unit of work: statements inside a transaction, the time, and new ids.

Statements are written once, in SQL that SQLite and PostgreSQL both read, with `?` or `?1` for parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Protocol, TypeVar

from core.audit_chain import ChainKeys
from core.clock import Clock
from core.ids import Ids
from core.lazy_dataclass import dataclass
from core.store.feed import ChangeLog
from core.store.lease import Lease
from core.store.search import WordSearch
from core.usage import NO_BUDGET, Budget, Expected

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
