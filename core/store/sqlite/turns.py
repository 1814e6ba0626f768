"""Turns: started, and gone on with. While one is not RUNNING, nobody may write to it: StaleTurn."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Sequence

from core.errors import StaleTurn
from core.messages import Address, MessageRef
from core.store.rows import ThreadRow, TurnStart, TurnState
from core.store.sqlite.inputs import take_waiting
from core.store.sqlite.mapping import ACTIVE_TURN, PRINCIPAL, THREAD, principal_of, thread_of
from core.store.sqlite.people import known_user
from core.store.sqlite.standing import disabled_tools
from core.store.sqlite.transaction import Transaction
from core.store.sqlite.transcript import write
from core.transcript import UserSaid
from core.users import Principal


def thread(tx: Transaction, thread_id: str) -> ThreadRow:
    """A thread that other rows refer to, so that it must exist."""
    row = tx.one(f"SELECT {THREAD} FROM threads t {ACTIVE_TURN} WHERE t.id = ?", thread_id)
    if row is None:
        raise LookupError(f"no thread {thread_id}")
    return thread_of(row)


def require_running(tx: Transaction, turn_id: str, *, heed_stop: bool = False) -> str:
    """The thread of a turn that may be written to. Raises StaleTurn, with `heed_stop` also when a person
    asked the turn to stop."""
    row = tx.one("SELECT thread_id, stop_requested FROM turns WHERE id = ? AND state = 'running'", turn_id)
    if row is None:
        raise StaleTurn(f"turn {turn_id} does not run")
    if heed_stop and row[1]:
        raise StaleTurn(f"turn {turn_id} was stopped")
    thread_id: str = row[0]
    return thread_id


def progress(tx: Transaction, turn_id: str) -> str:
    """As `require_running`; the turn's starts so far were not in vain."""
    row = tx.one(
        "UPDATE turns SET attempts = 0 WHERE id = ? AND state = 'running' RETURNING thread_id", turn_id
    )
    if row is None:
        raise StaleTurn(f"turn {turn_id} does not run")
    thread_id: str = row[0]
    return thread_id


# --- starting -------------------------------------------------------------------------------------------


def start_turn(
    tx: Transaction,
    on: ThreadRow,
    principal: Principal,
    turn_id: str,
    inputs: Sequence[UserSaid],
    channel: str,
    address: Address,
    reply_to: MessageRef | None = None,
    *,
    events: Sequence[str],
) -> TurnStart:
    """Start a turn on a thread without an active one; it answers to the address given, as a reply to that
    message if there is one. `events`: the keys of the messages it answers."""
    now = tx.clock.now()
    row = tx.one(
        "UPDATE threads SET last_turn = last_turn + 1, last_seq = last_seq + ?, last_active_at = ?,"
        " channel = ?, address = ? WHERE id = ? RETURNING last_turn, last_seq",
        len(inputs),
        now,
        channel,
        address,
        on.id,
    )
    assert row is not None  # noqa: S101 - the caller has just read the thread
    number, last_seq = row
    first_seq = last_seq - len(inputs) + 1
    tx.run(
        "INSERT INTO turns (id, thread_id, number, principal_id, state, attempts, first_seq, last_seq,"
        " budget_from, running_since, created_at, reply_to, events)"
        " VALUES (?, ?, ?, ?, 'running', 1, ?, ?, ?, ?, ?, ?, ?)",
        turn_id,
        on.id,
        number,
        principal.user_id,
        first_seq,
        last_seq,
        last_seq,
        now,
        now,
        reply_to,
        json.dumps(events),
    )
    entries = write(tx, on.id, turn_id, first_seq, inputs)
    return TurnStart(
        turn_id,
        number,
        _running(on, channel, address, turn_id, now),
        principal,
        first_seq,
        last_seq,
        attempt=1,
        resumed=False,
        inputs=entries,
        disabled=disabled_tools(tx, principal.user_id),
    )


def _running(on: ThreadRow, channel: str, address: Address, turn_id: str, now: int) -> ThreadRow:
    """The thread as it is from now on, written out: copying it would take ten times as long."""
    return ThreadRow(
        on.id,
        on.owner_id,
        channel,
        on.scope,
        address,
        on.title,
        on.created_at,
        now,
        turn_id,
        TurnState.RUNNING,
        on.preset,
    )


def start_next(tx: Transaction, thread_id: str, turn_id: str) -> TurnStart | None:
    """Make waiting inputs of a thread the next turn: the oldest, and those of the same person right after
    it as far as the policy merges them. None if nothing waits, or a turn is active."""
    taken = take_waiting(tx, thread_id)
    if taken is None:
        return None
    on = thread(tx, thread_id)
    if on.active_turn_id is not None:
        return None
    start = start_turn(
        tx,
        on,
        known_user(tx, taken.user_id),
        turn_id,
        taken.said,
        taken.channel,
        taken.address,
        taken.reply_to,
        events=taken.keys,
    )
    for event_id in taken.ids:
        tx.run("UPDATE inbox SET outcome = ?, turn_id = ? WHERE id = ?", outcome_of(start), turn_id, event_id)
    return start


def events_of(tx: Transaction, turn_id: str) -> list[str]:
    """Return the keys of the messages a turn answers."""
    row = tx.one("SELECT events FROM turns WHERE id = ?", turn_id)
    return [] if row is None else json.loads(row[0])


def outcome_of(start: TurnStart) -> str:
    """The recorded outcome of an input that is part of a turn."""
    return f"turn {start.number}"


def started(tx: Transaction, turn_id: str) -> TurnStart:
    """A running turn that goes on."""
    row = tx.one(
        f"SELECT tn.number, tn.first_seq, tn.last_seq, tn.attempts, tn.thread_id, {PRINCIPAL}"
        " FROM turns tn JOIN users u ON u.id = tn.principal_id WHERE tn.id = ?",
        turn_id,
    )
    if row is None:
        raise StaleTurn(f"there is no turn {turn_id}")
    number, first_seq, last_seq, attempts, thread_id, *principal = row
    return TurnStart(
        turn_id,
        number,
        thread(tx, thread_id),
        principal_of(principal),
        first_seq,
        last_seq,
        attempt=attempts,
        resumed=True,
        disabled=disabled_tools(tx, principal[0]),
    )
