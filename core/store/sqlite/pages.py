"""Pages of threads and gates for the console, each one statement.

The rows of a page are chosen first and completed afterwards, so that a page costs no more with
ten thousand threads.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import Any

from core.clock import Clock
from core.gates import ConsentSettings
from core.store.codecs import refs_from_json, strings_to_json
from core.store.feed import GateGlance, GatesWanted, ThreadGlance, ThreadsWanted
from core.store.rows import CallRow, CallState, Delivery, Explanation
from core.store.sqlite.connection import Row, Transaction
from core.store.sqlite.grants import in_thread
from core.store.sqlite.maintenance import snapshot
from core.store.sqlite.mapping import (
    ACTIVE_TURN,
    GATE_VIEW,
    GATE_VIEW_FROM,
    PRINCIPAL,
    THREAD,
    gate_views_of,
    holds,
    like,
    principal_of,
    thread_of,
)
from core.tool import Effect
from core.users import Principal

Ask = Callable[..., Awaitable[list[Row]]]
"""A function that runs a statement with its parameters and returns the rows."""

PREVIEW_CHARS = 200

_SPOKEN = "e.thread_id = t.id AND e.kind IN ('user', 'assistant', 'operator') AND e.text <> ''"
_GLANCE = (
    f"{THREAD}, {PRINCIPAL},"
    f" (SELECT substr(e.text, 1, {PREVIEW_CHARS}) FROM entries e WHERE {_SPOKEN} ORDER BY e.seq DESC"
    " LIMIT 1), (SELECT e.name IS NOT NULL FROM entries e WHERE e.thread_id = t.id AND e.kind = 'user'"
    " ORDER BY e.seq DESC LIMIT 1), a.stop_requested,"
    " (SELECT count(*) FROM gates g WHERE g.thread_id = t.id AND g.state = 'open'), t.last_seq"
)
_GLANCE_FROM = f"threads t JOIN users u ON u.id = t.owner_id {ACTIVE_TURN}"
_GATE = f"rq.name, coalesce(ca.edited, ce.text), cb.name, g.closed_at, {GATE_VIEW}"
_GATE_FROM = (
    f"{GATE_VIEW_FROM} JOIN users rq ON rq.id = g.requester_id"
    " LEFT JOIN users cb ON cb.id = g.closed_by LEFT JOIN calls ca ON ca.id = g.call_id"
    " LEFT JOIN entries ce ON ce.thread_id = ca.thread_id AND ce.seq = ca.seq"
)
_OWN_COLUMNS = 4
"""The number of columns before those of GATE_VIEW."""


class Pages:
    """See core.store.feed.Feeds."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def thread_glance(self, thread_id: str) -> ThreadGlance | None:
        rows = await self._ask(f"SELECT {_GLANCE} FROM {_GLANCE_FROM} WHERE t.id = ?", thread_id)
        return _glance_of(rows[0]) if rows else None

    async def thread_glances(self, wanted: ThreadsWanted) -> Sequence[ThreadGlance]:
        conditions, parameters = _threads_where(wanted)
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        page = (
            f"SELECT t.id FROM threads t JOIN users u ON u.id = t.owner_id {where}"
            " ORDER BY t.last_active_at DESC, t.id DESC LIMIT ?"
        )
        rows = await self._ask(
            f"SELECT {_GLANCE} FROM {_GLANCE_FROM} WHERE t.id IN ({page})"
            " ORDER BY t.last_active_at DESC, t.id DESC",
            *parameters,
            wanted.limit,
        )
        return [_glance_of(row) for row in rows]

    async def gate_glance(self, gate_id: str) -> GateGlance | None:
        found = await self._gates("g.id = ?", "g.id", gate_id)
        return found[0] if found else None

    async def open_gates_of(self, thread_id: str) -> Sequence[GateGlance]:
        return await self._gates("g.thread_id = ? AND g.state = 'open'", "g.created_at, g.id", thread_id)

    async def gate_glances(self, wanted: GatesWanted) -> Sequence[GateGlance]:
        at, order, beyond = ("created_at", "", ">") if wanted.open else ("closed_at", " DESC", "<")
        conditions = [f"x.state = '{'open' if wanted.open else 'closed'}'"]
        parameters: list[Any] = []
        if wanted.before is not None:
            conditions.append(f"(x.{at}, x.id) {beyond} (?, ?)")
            parameters += wanted.before
        if wanted.concerning is not None:
            conditions.append(
                f"(x.requester_id = ? OR {holds('x.approvers')}"
                f" OR x.escalated = 1 AND {holds('x.escalate_to')})"
            )
            listed = strings_to_json((wanted.concerning,))[1:-1]
            parameters += [wanted.concerning, listed, listed]
        page = (
            f"SELECT x.id FROM gates x WHERE {' AND '.join(conditions)}"
            f" ORDER BY x.{at}{order}, x.id{order} LIMIT ?"
        )
        return await self._gates(
            f"g.id IN ({page})", f"g.{at}{order}, g.id{order}", *parameters, wanted.limit
        )

    async def _gates(self, condition: str, order: str, *parameters: Any) -> Sequence[GateGlance]:
        sql = f"SELECT {_GATE} FROM {_GATE_FROM} WHERE {condition} ORDER BY {order}, v.at"
        rows = await self._ask(sql, *parameters)
        return [_gate_of(list(group)) for _, group in groupby(rows, key=lambda row: row[_OWN_COLUMNS])]


def _contains(column: str) -> str:
    return f"lower({column}) LIKE lower(?) ESCAPE '\\'"


def _threads_where(wanted: ThreadsWanted) -> tuple[list[str], list[Any]]:
    conditions: list[str] = []
    parameters: list[Any] = []
    if wanted.before is not None:
        conditions.append("(t.last_active_at, t.id) < (?, ?)")
        parameters += wanted.before
    if wanted.owner_id is not None:
        conditions.append("t.owner_id = ?")
        parameters.append(wanted.owner_id)
    if wanted.channel is not None:
        conditions.append("t.channel = ?")
        parameters.append(wanted.channel)
    if wanted.text:
        part = like(wanted.text)
        said = f"EXISTS (SELECT 1 FROM entries e WHERE {_SPOKEN} AND {_contains('e.text')})"
        conditions.append(f"({_contains('t.title')} OR {_contains('u.name')} OR {said})")
        parameters += [part, part, part]
    return conditions, parameters


def _glance_of(row: Row) -> ThreadGlance:
    return ThreadGlance(
        thread=thread_of(row[:11]),
        owner=principal_of(row[11:14]),
        preview=row[14] or "",
        group=bool(row[15]),
        stopping=bool(row[16]),
        waiting=row[17],
        last_seq=row[18],
    )


def _gate_of(rows: Sequence[Row]) -> GateGlance:
    (view,) = gate_views_of([row[_OWN_COLUMNS:] for row in rows])
    requester, arguments, closed_by, closed_at = rows[0][:_OWN_COLUMNS]
    return GateGlance(view.gate, view.votes, view.thread, requester, arguments, closed_by, closed_at)


# Explanations of inbound events: everything recorded about them, each question one statement.

_EXPLANATION = (
    "i.key, i.channel, i.sender, i.received_at, i.outcome, i.thread_id, i.turn_id, tn.state, tn.error,"
    " o.id, o.state, o.refs, o.repeats, o.error, i.text"
)
_CAUSED = (
    "LEFT JOIN turns tn ON tn.id = i.turn_id"
    " LEFT JOIN outbox o ON (o.turn_id = i.turn_id OR o.event_id = i.id) AND o.edit_of IS NULL"
    " AND o.state NOT IN ('streaming', 'replaced')"
)


class Explanations:
    """Explanations of inbound events, for `hubbub why` and the console."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def of(self, event_key: str) -> Explanation | None:
        sql = f"SELECT {_EXPLANATION} FROM inbox i {_CAUSED} WHERE i.key = ? ORDER BY o.id"
        found = _explanations(await self._ask(sql, event_key))
        return found[0] if found else None

    async def recent(self, limit: int) -> Sequence[Explanation]:
        newest = "SELECT * FROM inbox ORDER BY id DESC LIMIT ?"
        sql = f"SELECT {_EXPLANATION} FROM ({newest}) i {_CAUSED} ORDER BY i.id DESC, o.id"
        return _explanations(await self._ask(sql, limit))

    async def matching(self, text: str, limit: int) -> Sequence[Explanation]:
        matching = (
            f"SELECT * FROM inbox WHERE {_contains('key')} OR {_contains('sender')} OR {_contains('text')}"
            " ORDER BY id DESC LIMIT ?"
        )
        sql = f"SELECT {_EXPLANATION} FROM ({matching}) i {_CAUSED} ORDER BY i.id DESC, o.id"
        part = like(text)
        return _explanations(await self._ask(sql, part, part, part, limit))


def _explanations(rows: Sequence[Row]) -> list[Explanation]:
    return [_explanation(list(group)) for _, group in groupby(rows, key=lambda row: row[0])]


def _explanation(rows: Sequence[Row]) -> Explanation:
    key, channel, sender, received_at, outcome, thread_id, turn_id, turn_state, turn_error = rows[0][:9]
    return Explanation(
        key=key,
        channel=channel,
        sender=sender or "",
        received_at=received_at,
        outcome=outcome,
        thread_id=thread_id,
        turn_id=turn_id,
        turn_state=turn_state,
        turn_error=turn_error,
        deliveries=tuple(
            Delivery(row[9], row[10], len(refs_from_json(row[11])), *row[12:14])
            for row in rows
            if row[9] is not None
        ),
        text=rows[0][14] or "",
    )


# Past calls with their outcomes, for judging them by other rules.


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
    " JOIN turns tn ON tn.id = c.turn_id JOIN users u ON u.id = tn.principal_id"
    " ORDER BY e.at DESC, c.id DESC LIMIT ?"
)
_NOT_BY_RULE = "Not run:"
"""The prefix of refusals that no consent rule made: tools were paused, used too often, or it was
too late."""


def past_calls(path: Path, limit: int, clock: Clock) -> tuple[Sequence[PastCall], int]:
    """Return the newest judged calls, oldest first, and how many of the calls read were not judged, or
    not by a rule.

    Raises StoreUnavailable, SchemaTooNew, SchemaTooOld.
    """
    with snapshot(path, clock) as tx:
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
