"""Past calls with their outcomes, for judging them by other rules."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from enum import StrEnum

from core.gates import ConsentSettings
from core.lazy_dataclass import dataclass
from core.store.rows import CallRow, CallState
from core.store.sql.grants import in_thread
from core.store.sql.mapping import PRINCIPAL, principal_of
from core.store.transaction import Row, Transaction
from core.tool import Effect
from core.users import Principal


class Was(StrEnum):
    """The outcome of a call before any person decided on it."""

    RUNS = "runs"
    ASKS = "asks"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PastCall:
    """A call as the model made it, the person it was made for, and that person's current grants and
    settings."""

    at: int
    thread_id: str
    call: CallRow
    principal: Principal
    standing: ConsentSettings
    was: Was


_CALLS = (
    f"SELECT e.at, c.thread_id, c.id, c.turn_id, c.seq, c.tool, e.text, c.effect, {PRINCIPAL},"
    " EXISTS (SELECT 1 FROM gates g WHERE g.kind = 'approval'"
    " AND (g.id = c.gate_id OR g.call_id = c.id)),"
    " c.status, c.started_at IS NOT NULL,"
    " (SELECT r.text FROM entries r WHERE r.thread_id = c.thread_id AND r.seq > c.seq AND r.kind = 'result'"
    " AND r.call_id = c.id LIMIT 1)"
    " FROM calls c JOIN entries e ON e.thread_id = c.thread_id AND e.seq = c.seq"
    " JOIN runs tn ON tn.id = c.turn_id JOIN users u ON u.id = tn.principal_id"
    " WHERE tn.kind = 'chat' ORDER BY e.at DESC, c.id DESC LIMIT ?"
)
_NOT_BY_RULE = "Not run:"
"""The prefix of refusals that no consent rule made: tools were paused, used too often, or it was
too late."""


def past_calls(tx: Transaction, limit: int) -> tuple[Sequence[PastCall], int]:
    """Return the newest judged calls, oldest first, and how many of the calls read were not judged, or
    not by a rule."""
    rows = tx.all(_CALLS, limit)
    found = [call for row in reversed(rows) if (call := _past_call(tx, row)) is not None]
    return found, len(rows) - len(found)


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
