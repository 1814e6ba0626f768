"""The start and progress of turns. Writing to a turn that is not RUNNING raises StaleTurn."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence

from core.audit_chain import AuditKind
from core.errors import IllegalChange, StaleTurn
from core.events import NO_MODELS, ModelTrace, RunKind
from core.lazy import dataclass
from core.messages import Address, MessageRef
from core.ports import OutboxRow
from core.store.codecs import encode, said_to_columns, trace_from_json, trace_to_json
from core.store.conversations import ThreadState, may_become, require_change
from core.store.rows import CallState, Draft, ThreadRow, TurnFinished, TurnStart, TurnState
from core.store.sql.audit import events_of, record
from core.store.sql.feed import put_messages
from core.store.sql.inbox import lead_to_turn, quoting, take_waiting
from core.store.sql.mapping import (
    ACTIVE_TURN,
    PRINCIPAL,
    SPENT_SINCE,
    THREAD,
    principal_of,
    thread_of,
)
from core.store.sql.outbox import Cause, enqueue, enqueue_instead
from core.store.sql.people import choices, known_user
from core.store.sql.usage import reserve_ahead, settle, unanswered
from core.store.units import Row, Transaction
from core.transcript import (
    AssistantSaid,
    Entry,
    Note,
    ResultStatus,
    Said,
    ToolResult,
    UserSaid,
)
from core.usage import CallKind, Payer
from core.users import Principal

MAX_CHECKPOINTS = 20
"""The number of turns that can be undone in a row: the limit that people know from other assistants."""
NEXT_CHECKPOINT = f"CASE WHEN checkpoints < {MAX_CHECKPOINTS} THEN checkpoints + 1 ELSE checkpoints END"

# The journal: appending entries.


def append(tx: Transaction, thread_id: str, turn_id: str | None, said: Sequence[Said]) -> int:
    """Journal entries, in order, as part of a turn (None: of none). Return the position of the first
    entry."""
    last_seq = _append_last(tx, thread_id, turn_id, said)
    if turn_id is not None:
        tx.run("UPDATE runs SET last_seq = ? WHERE id = ?", last_seq, turn_id)
    return last_seq - len(said) + 1


def _append_last(tx: Transaction, thread_id: str, turn_id: str | None, said: Sequence[Said]) -> int:
    """Journal entries of which the run itself is still to be told. Return the position of the last one."""
    row = tx.one(
        "UPDATE threads SET last_seq = last_seq + ? WHERE id = ? RETURNING last_seq", len(said), thread_id
    )
    assert row is not None  # noqa: S101 - a turn's thread is never removed before its turns
    last_seq: int = row[0]
    write(tx, thread_id, turn_id, last_seq - len(said) + 1, said)
    return last_seq


def write(
    tx: Transaction,
    thread_id: str,
    turn_id: str | None,
    first_seq: int,
    said: Sequence[Said],
    said_at: int | None = None,
) -> tuple[Entry, ...]:
    """Write entries at positions that were already taken for them. `said_at`: None for now."""
    tx.changes.threads.add(thread_id)
    now = tx.clock.now() if said_at is None else said_at
    entries = tuple(Entry(seq, turn_id, now, one) for seq, one in enumerate(said, start=first_seq))
    for entry in entries:
        tx.run(
            "INSERT INTO entries (thread_id, seq, turn_id, at, kind, text, call_id, name, extra)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            thread_id,
            entry.seq,
            turn_id,
            now,
            *said_to_columns(entry.said),
        )
    return entries


def thread(tx: Transaction, thread_id: str) -> ThreadRow:
    """Return a thread that other rows refer to, so that it must exist."""
    row = tx.one(f"SELECT {THREAD} FROM threads t {ACTIVE_TURN} WHERE t.id = ?", thread_id)
    if row is None:
        raise LookupError(f"no thread {thread_id}")
    return thread_of(row)


def require_running(tx: Transaction, turn_id: str, *, heed_stop: bool = False) -> str:
    """Return the thread of a turn that may be written to. Raises StaleTurn, with `heed_stop` also if a
    person asked the turn to stop."""
    row = tx.one("SELECT thread_id, stop_requested FROM runs WHERE id = ? AND state = 'running'", turn_id)
    if row is None:
        raise StaleTurn(f"turn {turn_id} is not running")
    if heed_stop and row[1]:
        raise StaleTurn(f"turn {turn_id} was stopped")
    thread_id: str = row[0]
    return thread_id


def progress(tx: Transaction, turn_id: str) -> str:
    """Return the turn's thread as `require_running` does, and record progress since its last start."""
    row = tx.one(
        "UPDATE runs SET attempts = 0, crashes = 0 WHERE id = ? AND state = 'running'"
        " RETURNING thread_id, kind",
        turn_id,
    )
    if row is None:
        raise StaleTurn(f"turn {turn_id} is not running")
    if row[1] == RunKind.SUBTASK:  # its run gets on by it
        tx.run(
            "UPDATE runs SET attempts = 0, crashes = 0 WHERE id = (SELECT turn_id FROM calls WHERE id = ?)"
            " AND state = 'running'",
            turn_id,
        )
    thread_id: str = row[0]
    return thread_id


def keep_models(tx: Transaction, run_id: str, models: ModelTrace) -> None:
    """Record the models of a run that continues, and how its calls of them ended."""
    settle(tx, models.calls)
    tx.run("UPDATE runs SET models = ? WHERE id = ?", trace_to_json(models), run_id)


def models_of(tx: Transaction, run_id: str) -> ModelTrace:
    """Return the models of a run as recorded; none for a run that is not known."""
    row = tx.one("SELECT models FROM runs WHERE id = ?", run_id)
    return NO_MODELS if row is None else trace_from_json(row[0])


# --- starting -------------------------------------------------------------------------------------------


def start_turn(
    tx: Transaction,
    on: ThreadRow,
    principal: Principal,
    turn_id: str,
    inputs: Sequence[UserSaid | Note],
    channel: str,
    address: Address,
    reply_to: MessageRef | None = None,
    *,
    events: Sequence[str],
    said_at: int | None = None,
    payer: Payer | None = None,
) -> TurnStart:
    """Start a turn on a thread without an active one. It answers to the given address, as a reply to
    that message if there is one.

    `inputs`: none if what it begins with is journalled later.
    `events`: the keys of the messages it answers.
    `said_at`: when the inputs were said, None for now.
    `payer`: of its model calls, if it is no turn of a chat."""
    if on.active_turn_id is not None or on.closed_at is not None:
        require_change(on, ThreadState.PROCESSING)
    now = tx.clock.now()
    row = tx.one(
        "UPDATE threads SET last_turn = last_turn + 1, last_seq = last_seq + ?, last_active_at = ?,"
        f" channel = ?, address = ?, checkpoints = {NEXT_CHECKPOINT} WHERE id = ?"
        " RETURNING last_turn, last_seq",
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
        "INSERT INTO runs (id, thread_id, number, principal_id, state, attempts, first_seq, last_seq,"
        " budget_from, running_since, created_at, reply_to, events, fence)"
        " VALUES (?, ?, ?, ?, 'running', 1, ?, ?, ?, ?, ?, ?, ?, ?)",
        turn_id,
        on.id,
        number,
        principal.user_id,
        first_seq,
        max(first_seq, last_seq),
        last_seq,
        now,
        now,
        reply_to,
        encode(events),
        tx.lease.fence,
    )
    entries = write(tx, on.id, turn_id, first_seq, inputs, said_at)
    payer = payer or Payer(CallKind.CHAT, turn_id, principal.user_id, on.id)
    chosen, disabled = choices(tx, principal.user_id)
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
        disabled=disabled,
        preferences=chosen,
        reserved=reserve_ahead(tx, payer, [said.text for said in inputs]),
    )


def _running(on: ThreadRow, channel: str, address: Address, turn_id: str, now: int) -> ThreadRow:
    """Return the thread with the new turn running. It is built field by field: copying takes ten times
    as long."""
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
        on.settings,
    )


def start_next(tx: Transaction, thread_id: str, turn_id: str) -> TurnStart | None:
    """Start the next turn on a thread's waiting inputs: the oldest, and the following ones of the same
    person as far as the policy merges them. None if nothing waits, or a turn is active."""
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
    lead_to_turn(tx, taken, turn_id, outcome_of(start.number))
    return start


def outcome_of(number: int) -> str:
    """Return the recorded outcome of an input that is part of a thread's turn of that number."""
    return f"turn {number}"


def started(tx: Transaction, turn_id: str) -> TurnStart:
    """Return a running turn that continues."""
    row = tx.one(
        f"SELECT tn.number, tn.first_seq, tn.last_seq, tn.attempts, tn.thread_id, {PRINCIPAL}"
        " FROM runs tn JOIN users u ON u.id = tn.principal_id WHERE tn.id = ?",
        turn_id,
    )
    if row is None:
        raise StaleTurn(f"there is no turn {turn_id}")
    number, first_seq, last_seq, attempts, thread_id, *principal = row
    chosen, disabled = choices(tx, principal[0])
    return TurnStart(
        turn_id,
        number,
        thread(tx, thread_id),
        principal_of(principal),
        first_seq,
        last_seq,
        attempt=attempts,
        resumed=True,
        disabled=disabled,
        preferences=chosen,
    )


# The end of turns: every call gets an outcome, then comes the answer or the reason there is none.


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What a running turn has to end, read in one statement: nearly every turn has nothing of it.

    `quoted`: the message that its answer quotes, where that is. `called`: it made calls. `reserved`: model
    calls whose end is not stored. `shown`: a preview is in its place. `more`: inputs wait behind it."""

    thread_id: str
    quoted: tuple[MessageRef | None, str, str]
    called: bool
    reserved: int
    shown: bool
    more: bool


def unfinished(tx: Transaction, turn_id: str) -> Unfinished:
    """Return what a turn that may be written to has to end. Raises StaleTurn."""
    row = tx.one(
        "SELECT tn.thread_id, tn.reply_to, t.channel, t.address,"
        " EXISTS (SELECT 1 FROM calls c WHERE c.turn_id = tn.id),"
        " (SELECT count(*) FROM usage u WHERE u.run_id = tn.id AND u.state = 'reserved'),"
        " EXISTS (SELECT 1 FROM outbox o WHERE o.turn_id = tn.id AND o.state = 'streaming'),"
        " EXISTS (SELECT 1 FROM inbox w WHERE w.thread_id = tn.thread_id AND w.outcome = 'waiting')"
        " FROM runs tn JOIN threads t ON t.id = tn.thread_id WHERE tn.id = ? AND tn.state = 'running'",
        turn_id,
    )
    if row is None:
        raise StaleTurn(f"turn {turn_id} is not running")
    return Unfinished(row[0], (row[1], row[2], row[3]), bool(row[4]), row[5], bool(row[6]), bool(row[7]))


_MAY_BECOME = {state: may_become(state) for state in TurnState if state is not TurnState.RUNNING}
CANCELLED_TEXT = "Cancelled: the turn ended before this call ran."
CUT_SHORT_TEXT = "Cancelled while it was running; it may have taken effect."
UNKNOWN_TEXT = "Outcome unknown: the hub ended while this call was running."
ENDED_WITHOUT_ANSWER = {
    TurnState.STOPPED: "The person stopped this before it was answered; don't return to it unless asked.",
    TurnState.FAILED: "This could not be answered; the person was notified.",
    TurnState.CRASHED: "This was set aside unanswered; the person was notified.",
}
"""The model's note about a turn that has no answer, by the turn's state."""


def finish(
    tx: Transaction,
    turn_id: str,
    state: TurnState,
    answer: AssistantSaid | None,
    messages: Sequence[Draft],
    next_turn_id: str,
    error: str | None,
    models: ModelTrace,
    *,
    send_now: bool,
) -> TurnFinished:
    left = unfinished(tx, turn_id)
    thread_id = left.thread_id
    end_turn(tx, thread_id, turn_id, state, answer, error, models, left=left)
    drafts = quoting(messages, *left.quoted)
    if left.shown:
        rows = enqueue_instead(tx, turn_id, drafts, send_now=send_now)
    else:
        rows = enqueue(tx, drafts, Cause(turn_id=turn_id), send_now=send_now)
    if left.called:
        _record_answer(tx, thread_id, turn_id, state, rows)
    if answer is None:
        put_messages(tx, thread_id, rows, turn_id)
    return TurnFinished(rows, start_next(tx, thread_id, next_turn_id) if left.more else None)


def end_turn(
    tx: Transaction,
    thread_id: str,
    turn_id: str,
    state: TurnState,
    answer: AssistantSaid | None = None,
    error: str | None = None,
    models: ModelTrace = NO_MODELS,
    *,
    left: Unfinished | None = None,
) -> None:
    """End an active turn. Calls without an outcome get one, then comes the answer or the reason there
    is none. `left`: what this transaction has found to end, None if it has not looked."""
    is_open = "SELECT id, state, tool FROM calls WHERE turn_id = ? AND state <> 'ended' ORDER BY seq"
    open_calls = tx.all(is_open, turn_id) if left is None or left.called else []
    said: list[Said] = [_result_at_end(row) for row in open_calls]
    for call_id, call_state, tool in open_calls:
        unknown = call_state == CallState.UNKNOWN
        status = ResultStatus.UNKNOWN if unknown else ResultStatus.CANCELLED
        tx.run("UPDATE calls SET state = 'ended', status = ? WHERE id = ?", status.value, call_id)
        stop_subtask(tx, call_id)
        events = events_of(tx, turn_id)
        record(
            tx, AuditKind.ENDED, call_id, thread_id=thread_id, tool=tool, status=status.value, events=events
        )
    if answer is not None:
        said.append(answer)
    elif state in ENDED_WITHOUT_ANSWER:
        said.append(Note(ENDED_WITHOUT_ANSWER[state]))
    last_seq = _append_last(tx, thread_id, turn_id, said) if said else None
    settled = settle(tx, models.calls)
    if left is None or left.reserved != settled:
        unanswered(tx, turn_id)
    now = tx.clock.now()
    changed = tx.run(
        "UPDATE runs SET state = ?, error = ?, models = coalesce(?, models), ended_at = ?,"
        " last_seq = coalesce(?, last_seq),"
        f" running_since = NULL, fence = NULL, spent_us = spent_us + {SPENT_SINCE}"
        f" WHERE id = ? AND state IN {_MAY_BECOME[state]}",
        state.value,
        error,
        trace_to_json(models),
        now,
        last_seq,
        now,
        now,
        turn_id,
    )
    if not changed:
        raise IllegalChange(f"turn {turn_id} can't become {state}")


def stop_subtask(tx: Transaction, call_id: str) -> None:
    """End the subtask of a call that has an outcome, if it has one that runs."""
    row = tx.one("SELECT thread_id FROM runs WHERE id = ? AND state = 'running'", call_id)
    if row is not None:
        end_turn(tx, row[0], call_id, TurnState.STOPPED)


def _record_answer(
    tx: Transaction, thread_id: str, turn_id: str, state: TurnState, rows: Sequence[OutboxRow]
) -> None:
    """Close the audit chain of a turn, from the messages it answers over its calls to its reply."""
    record(
        tx,
        AuditKind.ANSWERED,
        turn_id,
        thread_id=thread_id,
        state=state.value,
        events=events_of(tx, turn_id),
        outbox=[row.id for row in rows],
    )


def _result_at_end(call: Row) -> ToolResult:
    call_id, state, _ = call
    match CallState(state):
        case CallState.UNKNOWN:
            return ToolResult(call_id, ResultStatus.UNKNOWN, UNKNOWN_TEXT)
        case CallState.RUNNING:
            return ToolResult(call_id, ResultStatus.CANCELLED, CUT_SHORT_TEXT)
        case _:
            return ToolResult(call_id, ResultStatus.CANCELLED, CANCELLED_TEXT)
