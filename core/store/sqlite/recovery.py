"""What a starting hub finds unfinished, and how work begins again.

At a start, in one transaction:
- outbox rows that were being sent become ambiguous, for good if their one repeat was cut short; changes of
  shown messages are queued again, since repeating them changes nothing;
- previews whose place was taken for good are settled; the others stay, for their turns to go on with;
- waiting parts of albums wait a little longer for the rest;
- running calls that may be repeated (effect `none` or `idempotent`) go back to where they were before;
- turns that a person had stopped end here, unless a call with an effect was cut short in them;
- running calls with an effect are reported: a person must be asked about each (`mark_unknown`);
- the other running turns are reported with their starts that brought no progress, and idle threads with
  waiting input.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence

from core.errors import StaleTurn
from core.store.rows import Recovery, RunningCall, TurnStart, TurnState, UnfinishedTurn
from core.store.sqlite.cards import find_pressed
from core.store.sqlite.hooking import let_go
from core.store.sqlite.inputs import rejoin_albums
from core.store.sqlite.mapping import (
    ACTIVE,
    ACTIVE_TURN,
    CALL,
    CALL_FROM,
    PRINCIPAL,
    THREAD,
    call_of,
    principal_of,
    thread_of,
)
from core.store.sqlite.outbox import give_back_sending
from core.store.sqlite.previews import settle_replaced, withdraw
from core.store.sqlite.transaction import Transaction
from core.store.sqlite.turn_ends import end_turn
from core.store.sqlite.turns import started


def recover(tx: Transaction) -> Recovery:
    """See Store.recover."""
    find_pressed(tx)
    give_back_sending(tx)
    settle_replaced(tx)
    rejoin_albums(tx)
    if not tx.policy.holds_inputs:
        let_go(tx)
    tx.run(
        "UPDATE calls SET state = iif(answer IS NULL, 'intent', 'approved')"
        " WHERE state = 'running' AND effect <> 'effect'"
    )
    running_calls = _running_calls(tx)
    cut_short = {running.call.turn_id for running in running_calls}
    _end_stopped(tx, cut_short)
    turns = tx.all(
        "SELECT id, thread_id, attempts FROM turns WHERE state = 'running' ORDER BY running_since, id"
    )
    idle = tx.all(
        "SELECT DISTINCT w.thread_id FROM inbox w WHERE w.outcome = 'waiting' AND w.thread_id IS NOT NULL"
        f" AND NOT EXISTS (SELECT 1 FROM turns a WHERE a.thread_id = w.thread_id AND a.state IN {ACTIVE})"
        " ORDER BY w.thread_id"
    )
    return Recovery(
        running_calls,
        tuple(UnfinishedTurn(*row) for row in turns if row[0] not in cut_short),
        tuple(row[0] for row in idle),
    )


def _running_calls(tx: Transaction) -> tuple[RunningCall, ...]:
    rows = tx.all(
        f"SELECT {CALL}, {PRINCIPAL}, {THREAD} FROM {CALL_FROM}"
        " JOIN turns tn ON tn.id = c.turn_id JOIN users u ON u.id = tn.principal_id"
        f" JOIN threads t ON t.id = tn.thread_id {ACTIVE_TURN}"
        " WHERE c.state = 'running' ORDER BY c.turn_id, c.seq"
    )
    return tuple(
        RunningCall(call_of(row[:15]), thread_of(row[18:]), principal_of(row[15:18])) for row in rows
    )


def _end_stopped(tx: Transaction, cut_short: set[str]) -> None:
    stopped = tx.all("SELECT id, thread_id FROM turns WHERE state = 'running' AND stop_requested = 1")
    for turn_id, thread_id in stopped:
        if turn_id not in cut_short:
            end_turn(tx, thread_id, turn_id, TurnState.STOPPED)
            withdraw(tx, turn_id)


def resume_turn(tx: Transaction, turn_id: str) -> TurnStart:
    """See Store.resume_turn. The time until the turn's last journalled step counts as spent."""
    changed = tx.run(
        "UPDATE turns SET attempts = attempts + 1, running_since = ?, spent_us = spent_us + max(0,"
        " (SELECT e.at FROM entries e WHERE e.thread_id = turns.thread_id AND e.seq = turns.last_seq)"
        " - running_since) WHERE id = ? AND state = 'running'",
        tx.clock.now(),
        turn_id,
    )
    if not changed:
        raise StaleTurn(f"turn {turn_id} does not run")
    return started(tx, turn_id)


def release_turns(tx: Transaction, turn_ids: Sequence[str]) -> None:
    """See Store.release_turns."""
    for turn_id in turn_ids:
        tx.run("UPDATE turns SET attempts = max(0, attempts - 1) WHERE id = ? AND state = 'running'", turn_id)
