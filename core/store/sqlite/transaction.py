"""What one unit of work gets: the connection inside a transaction, the time, and new ids."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from core.audit_chain import ChainKeys, PassingKeys
from core.clock import Clock
from core.ids import Ids
from core.store.changes import ChangeLog

Row = Sequence[Any]
"""A row as the driver returns it, in the order of the statement's columns."""


MERGE_LIMIT = 10
HISTORY_LIMIT_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class Policy:
    """What the configuration decides about the store's units.

    `merge_inputs`: so many waiting messages of one person become one turn. `history_limit_chars`: a turn
    is loaded with whole turns of its past until they hold more than that. `holds_inputs`: hooks are asked
    about messages before a turn takes them.
    """

    merge_inputs: int = MERGE_LIMIT
    history_limit_chars: int = HISTORY_LIMIT_CHARS
    holds_inputs: bool = False


@dataclass(frozen=True, slots=True)
class Transaction:
    """A unit's hands on the database. Never kept beyond the unit. `changes`: what onlookers are told of;
    `chain`: what seals the audit's records; `event`: the key of the inbound event that is being accepted,
    which those records name."""

    connection: sqlite3.Connection
    clock: Clock
    ids: Ids
    policy: Policy
    changes: ChangeLog = field(default_factory=ChangeLog)
    chain: ChainKeys = field(default_factory=PassingKeys)
    event: str | None = None

    def accepting(self, event_key: str) -> "Transaction":
        """Return the same transaction for what follows from an inbound event."""
        return Transaction(
            self.connection, self.clock, self.ids, self.policy, self.changes, self.chain, event_key
        )

    def one(self, sql: str, *parameters: Any) -> Row | None:
        """The statement's first row."""
        # All rows are fetched: a statement left half-way would hold the transaction open.
        rows = self.connection.execute(sql, parameters).fetchall()
        return rows[0] if rows else None

    def all(self, sql: str, *parameters: Any) -> list[Row]:
        """All rows of the statement."""
        return self.connection.execute(sql, parameters).fetchall()

    def run(self, sql: str, *parameters: Any) -> int:
        """How many rows the statement changed."""
        return self.connection.execute(sql, parameters).rowcount

    def insert(self, sql: str, *parameters: Any) -> int:
        """The number the new row got."""
        return self.connection.execute(sql, parameters).lastrowid or 0


T = TypeVar("T")
Unit = Callable[[Transaction], T]
"""One unit of work: runs in a thread of the store, inside a transaction, and never waits for anything."""
