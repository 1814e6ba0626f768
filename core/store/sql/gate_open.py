"""Opening of gates, whose turn waits from then on; and who was asked about the calls of a turn, or let them
run unasked."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import assert_never

from core.audit_chain import AuditKind
from core.errors import StaleTurn
from core.gates import Asked, Gate, Offer, Options, RanUnder, Replies
from core.ports import OutboxRow
from core.store.codecs import asked_to_json, storable, strings_to_json
from core.store.conversations import may_become
from core.store.rows import Draft, TurnState
from core.store.sql.audit import events_of, record
from core.store.sql.feed import put_card
from core.store.sql.inbox import as_replies
from core.store.sql.mapping import ASKED, SPENT_SINCE, asked_of, marks
from core.store.sql.outbox import Cause, enqueue, withdraw
from core.store.sql.turns import require_running
from core.store.sql.usage import not_made
from core.store.units import Engine, Row, Transaction


def ask_person(tx: Transaction, gates: Sequence[Gate], cards: Sequence[Draft]) -> tuple[OutboxRow, ...]:
    """Open gates, all of one turn, and queue their cards."""
    turn_id = gates[0].turn_id
    require_running(tx, turn_id, heed_stop=True)
    _wait(tx, turn_id)
    not_made(tx, turn_id)
    for gate in gates:
        put_gate(tx, gate)
        if gate.call_id is not None:
            _bind(tx, gate, gate.call_id, gate.binding)
        for call in gate.calls:
            _bind(tx, gate, call.call_id, call.binding)
    return (*withdraw(tx, turn_id), *_show(tx, turn_id, cards))


def ask_to_sign_in(tx: Transaction, gate: Gate, cards: Sequence[Draft]) -> tuple[OutboxRow, ...]:
    """Open the gate of a call that has not run because its person must sign in first. Decisions about the
    call stay."""
    require_running(tx, gate.turn_id, heed_stop=True)
    changed = tx.run(
        "UPDATE calls SET state = 'waiting', gate_id = ?, started_at = NULL WHERE id = ? AND turn_id = ?"
        " AND state IN ('running', 'intent', 'approved', 'unknown')",
        gate.id,
        gate.call_id,
        gate.turn_id,
    )
    if not changed:
        raise StaleTurn(f"call {gate.call_id} does not run any more")
    _wait(tx, gate.turn_id)
    not_made(tx, gate.turn_id)
    put_gate(tx, gate)
    return (*withdraw(tx, gate.turn_id), *_show(tx, gate.turn_id, cards))


def _bind(tx: Transaction, gate: Gate, call_id: str, binding: str) -> None:
    """Make the call wait for the gate's decision."""
    changed = tx.run(
        "UPDATE calls SET state = CASE state WHEN 'unknown' THEN state ELSE 'waiting' END, binding = ?,"
        " gate_id = ?, answer = NULL, answered_by = NULL"
        " WHERE id = ? AND turn_id = ? AND state IN ('intent', 'approved', 'unknown')",
        binding,
        gate.id,
        call_id,
        gate.turn_id,
    )
    if not changed:
        raise StaleTurn(f"call {call_id} has nothing to ask about any more")


def mark_unknown(tx: Transaction, call_id: str, gate: Gate, cards: Sequence[Draft]) -> tuple[OutboxRow, ...]:
    """Record that the outcome of a call is unknown, and ask about it. The question supersedes a stop
    requested before the hub died: the person learns of the call, and may stop again."""
    changed = tx.run(
        "UPDATE calls SET state = 'unknown', binding = ?, gate_id = ?, answer = NULL, answered_by = NULL"
        " WHERE id = ? AND turn_id = ? AND state = 'running'",
        gate.binding,
        gate.id,
        call_id,
        gate.turn_id,
    )
    if not changed:
        raise StaleTurn(f"call {call_id} of turn {gate.turn_id} was not running")
    _wait(tx, gate.turn_id)
    put_gate(tx, gate)
    return (*withdraw(tx, gate.turn_id), *_show(tx, gate.turn_id, cards))


def _show(tx: Transaction, turn_id: str, cards: Sequence[Draft]) -> tuple[OutboxRow, ...]:
    return enqueue(tx, as_replies(tx, turn_id, cards), Cause(turn_id=turn_id))


_MAY_WAIT = may_become(TurnState.WAITING)


def _wait(tx: Transaction, turn_id: str) -> None:
    now = tx.clock.now()
    tx.run(
        "UPDATE runs SET state = 'waiting', attempts = 0, crashes = 0, stop_requested = 0, fence = NULL,"
        f" running_since = NULL, spent_us = spent_us + {SPENT_SINCE} WHERE id = ?"
        f" AND state IN {_MAY_WAIT}",
        now,
        now,
        turn_id,
    )


def put_gate(tx: Transaction, gate: Gate) -> None:
    """Store an open gate, and show it in its thread. Its turn must wait."""
    secret = gate.offer.secret if isinstance(gate.offer, Replies) else None
    tx.run(
        "INSERT INTO gates (id, kind, state, thread_id, turn_id, call_id, requester_id, title, detail,"
        " options, labels, free_text, approvers, quorum, not_requester, binding, tool, pattern, created_at,"
        " expires_at, escalate_to, remind_at, escalate_at, calls, secret, awaits, link)"
        " VALUES (?, ?, 'open', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        gate.id,
        gate.kind.value,
        gate.thread_id,
        gate.turn_id,
        gate.call_id,
        gate.requester_id,
        storable(gate.title),
        storable(gate.detail),
        *offer_columns(gate.offer),
        strings_to_json(gate.rule.approvers),
        gate.rule.quorum,
        int(gate.rule.not_requester),
        gate.binding,
        gate.tool,
        None if gate.pattern is None else storable(gate.pattern),
        gate.created_at,
        gate.expires_at,
        strings_to_json(gate.rule.escalate_to),
        gate.remind_at,
        gate.escalate_at,
        asked_to_json(gate.calls),
        secret,
        int(secret is not None and gate.link is None),
        gate.link,
    )
    put_card(tx, gate.thread_id, gate.turn_id, gate.id)
    tx.changes.gates[gate.id] = gate.thread_id
    record(
        tx,
        AuditKind.ASKED,
        gate.id,
        actor=gate.requester_id,
        thread_id=gate.thread_id,
        about=gate.kind.value,
        call=gate.call_id,
        calls=[call.call_id for call in gate.calls],
        tool=gate.tool,
        binding=gate.binding,
        approvers=list(gate.rule.approvers),
        quorum=gate.rule.quorum,
        events=events_of(tx, gate.turn_id),
    )


def offer_columns(offer: Offer) -> tuple[str, str | None, int]:
    """Return the columns `options`, `labels` and `free_text`."""
    match offer:
        case Options(options):
            return " ".join(options), None, 0
        case Replies(labels, free_text, _):
            return "", strings_to_json(tuple(storable(label) for label in labels)), int(free_text)
        case _:
            assert_never(offer)


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
