"""Calls of the past with what was decided about them, for whoever judges them by other rules."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from core.clock import Clock
from core.errors import StoreUnavailable
from core.ids import RandomIds
from core.prompts import Standing
from core.store.rows import CallRow, CallState
from core.store.sqlite.connection import connect_reader
from core.store.sqlite.mapping import PRINCIPAL, principal_of
from core.store.sqlite.migrations import require_current, schema_version
from core.store.sqlite.standing import in_thread
from core.store.sqlite.transaction import Policy, Row, Transaction
from core.tool import Effect
from core.users import Principal


class Was(StrEnum):
    """What became of a call before anybody had a say."""

    RUNS = "runs"
    ASKS = "asks"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call as the model made it, for whom, and what they have allowed and forbidden by now."""

    at: int
    thread_id: str
    call: CallRow
    principal: Principal
    standing: Standing
    was: Was


_CALLS = (
    f"SELECT e.at, c.thread_id, c.id, c.turn_id, c.seq, c.tool, e.text, c.effect, {PRINCIPAL},"
    " EXISTS (SELECT 1 FROM prompts p WHERE p.kind = 'approval'"
    " AND (p.id = c.prompt_id OR p.call_id = c.id)),"
    " c.status, c.started_at IS NOT NULL,"
    " (SELECT r.text FROM entries r WHERE r.thread_id = c.thread_id AND r.seq > c.seq AND r.kind = 'result'"
    " AND r.call_id = c.id LIMIT 1)"
    " FROM calls c JOIN entries e ON e.thread_id = c.thread_id AND e.seq = c.seq"
    " JOIN turns tn ON tn.id = c.turn_id JOIN users u ON u.id = tn.principal_id"
    " ORDER BY e.at DESC, c.id DESC LIMIT ?"
)
_NOT_BY_RULE = "Not run:"
"""How refusals begin that no rule of consent made: tools were paused, used too often, or it was too late."""


def past_calls(path: Path, limit: int, clock: Clock) -> tuple[Sequence[PastCall], int]:
    """The newest calls that were judged, oldest first; and how many of as many were not, or not by a rule.

    Raises StoreUnavailable, SchemaTooNew.
    """
    try:
        with contextlib.closing(connect_reader(path)) as connection:
            connection.execute("BEGIN")
            require_current(schema_version(connection))
            tx = Transaction(connection, clock, RandomIds(), Policy())
            rows = tx.all(_CALLS, limit)
            found = [call for row in reversed(rows) if (call := _past_call(tx, row)) is not None]
            return found, len(rows) - len(found)
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{path} cannot be read: {error}") from error


def _past_call(tx: Transaction, row: Row) -> PastCall | None:
    was = _was(*row[11:15])
    if was is None:
        return None
    at, thread_id, call_id, turn_id, seq, tool, arguments, effect = row[:8]
    principal = principal_of(row[8:11])
    call = CallRow(call_id, turn_id, seq, tool, arguments, CallState.INTENT, Effect(effect))
    return PastCall(at, thread_id, call, principal, in_thread(tx, principal.user_id, thread_id), was)


def _was(asked: int, status: str | None, ran: int, said: str | None) -> Was | None:
    if asked:
        return Was.ASKS
    if status == "denied":
        return None if (said or "").startswith(_NOT_BY_RULE) else Was.REFUSED
    return Was.RUNS if ran else None
