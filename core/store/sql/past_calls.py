"""Past calls with their outcomes, for judging them by other rules; and who was asked about the calls
of a turn, or let them run unasked."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from itertools import groupby

from core.audit_chain import AuditKind
from core.gates import Asked, ConsentSettings, RanUnder
from core.lazy import dataclass
from core.store.rows import CallRow, CallState
from core.store.sql.grants import in_thread
from core.store.sql.mapping import ASKED, PRINCIPAL, asked_of, marks, principal_of
from core.store.units import Engine, Row, Transaction
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


GRANTS_USED = "grants"
"""In the audit record of a call's start: the ids of the grants that let it run unasked."""
_STARTED = (
    "SELECT c.turn_id, s.detail FROM calls c JOIN audit s ON s.subject = c.id AND s.kind = '{started}'"
    " WHERE c.turn_id IN {turns} ORDER BY c.turn_id, c.seq, s.number"
)
_GIVEN = (
    # The record outlives the grant, and the grant may outlive its record.
    "SELECT r.subject, r.detail, '', '', r.thread_id IS NULL, r.at, r.actor, u.name FROM audit r"
    " LEFT JOIN users u ON u.id = r.actor WHERE r.kind = '{granted}' AND r.subject IN {grants}"
    " UNION ALL SELECT g.id, '', g.tool, g.pattern, g.thread_id IS NULL, g.created_at, g.granted_by, u.name"
    " FROM grants g LEFT JOIN users u ON u.id = g.granted_by WHERE g.id IN {grants}"
)


async def asked_in(engine: Engine, turns: Collection[str]) -> Mapping[str, tuple[Asked, ...]]:
    """Return the requests for approval that turns made, by turn."""
    rows = await engine.ask(
        f"SELECT g.turn_id, {ASKED} FROM gates g LEFT JOIN users u ON u.id = g.closed_by"
        f" WHERE g.turn_id IN {marks(turns)} AND g.kind = 'approval'"
        " ORDER BY g.turn_id, g.created_at, g.id",
        *turns,
    )
    by_turn = groupby(rows, key=lambda row: row[0])
    return {turn: tuple(asked_of(row[1:]) for row in of) for turn, of in by_turn}


async def ran_under(engine: Engine, turns: Collection[str]) -> Mapping[str, tuple[RanUnder, ...]]:
    """Return the grants that let calls of turns run unasked, by turn, each once."""
    started = await engine.ask(_STARTED.format(started=AuditKind.STARTED.value, turns=marks(turns)), *turns)
    used = [(turn, grant) for turn, detail in started for grant in json.loads(detail).get(GRANTS_USED, ())]
    ids = sorted({grant for _, grant in used})
    if not ids:
        return {}
    given = _GIVEN.format(granted=AuditKind.GRANTED.value, grants=marks(ids))
    known = {row[0]: _ran_under(row) for row in await engine.ask(given, *ids, *ids)}
    of_turn: dict[str, tuple[RanUnder, ...]] = {}
    for turn, grant in dict.fromkeys(used):
        if grant in known:
            of_turn[turn] = (*of_turn.get(turn, ()), known[grant])
    return of_turn


def _ran_under(row: Row) -> RanUnder:
    _, detail, tool, pattern, everywhere, at, by_id, by = row
    if detail:
        about = json.loads(detail)
        tool, pattern = about["tool"], about["pattern"]
    return RanUnder(tool, pattern, bool(everywhere), at, by_id or "", by or "")
