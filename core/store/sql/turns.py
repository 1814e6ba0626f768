"""The start and progress of turns. Writing to a turn that is not RUNNING raises StaleTurn."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.audit_chain import AuditKind
from core.errors import StaleTurn
from core.events import NO_MODELS, ModelTrace
from core.messages import Address, MessageRef
from core.ports import OutboxRow
from core.store.codecs import encode, said_to_columns, trace_from_json, trace_to_json
from core.store.rows import CallState, Draft, ThreadRow, TurnFinished, TurnStart, TurnState
from core.store.sql.audit import record
from core.store.sql.feed import put_messages
from core.store.sql.grants import disabled_tools
from core.store.sql.inbox import as_replies, take_waiting
from core.store.sql.mapping import (
    ACTIVE,
    ACTIVE_TURN,
    ALL,
    ENTRY,
    PRINCIPAL,
    SPENT_SINCE,
    THREAD,
    entry_of,
    principal_of,
    thread_of,
)
from core.store.sql.outbox import enqueue_instead
from core.store.sql.people import known_user
from core.store.transaction import Row, Transaction
from core.transcript import AssistantSaid, Entry, Note, ResultStatus, Said, ToolResult, UserSaid
from core.users import Principal

PAGE_ENTRIES = 200
"""Entries of a long thread that one statement reads."""

# The journal: appending entries, and loading the ones a turn needs.


def append(tx: Transaction, thread_id: str, turn_id: str | None, said: Sequence[Said]) -> int:
    """Journal entries, in order, as part of a turn (None: of none). Return the position of the first
    entry."""
    row = tx.one(
        "UPDATE threads SET last_seq = last_seq + ?1 WHERE id = ?2 RETURNING last_seq - ?1 + 1",
        len(said),
        thread_id,
    )
    assert row is not None  # noqa: S101 - a turn's thread is never removed before its turns
    first_seq: int = row[0]
    write(tx, thread_id, turn_id, first_seq, said)
    if turn_id is not None:
        tx.run("UPDATE runs SET last_seq = ? WHERE id = ?", first_seq + len(said) - 1, turn_id)
    return first_seq


def write(
    tx: Transaction, thread_id: str, turn_id: str | None, first_seq: int, said: Sequence[Said]
) -> tuple[Entry, ...]:
    """Write entries at positions that were already taken for them."""
    tx.changes.threads.add(thread_id)
    now = tx.clock.now()
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


def history(tx: Transaction, thread_id: str) -> tuple[Entry, ...]:
    """Return the thread's entries in order, starting with the newest summary if there is one.

    Whole past turns are left out once the later ones exceed the policy's `history_limit_chars`: no
    model could be shown them.
    """
    summary = tx.one(
        f"SELECT {ENTRY} FROM entries WHERE thread_id = ? AND kind = 'summary' ORDER BY seq DESC LIMIT 1",
        thread_id,
    )
    covered = int(summary[7]) if summary is not None else 0
    entries: list[Entry] = []
    size_chars, limit_chars = 0, tx.policy.history_limit_chars
    for row in _newest_first(tx, thread_id, covered):
        if size_chars > limit_chars and row[1] != entries[-1].turn_id:
            break
        size_chars += len(row[4])
        entries.append(entry_of(row))
    if summary is not None:
        entries.append(entry_of(summary))
    entries.reverse()
    return tuple(entries)


def _newest_first(tx: Transaction, thread_id: str, after: int) -> Iterator[Row]:
    """Return the thread's entries after a position, the newest first, read as far as they are needed."""
    before = ALL
    while page := tx.all(
        f"SELECT {ENTRY} FROM entries WHERE thread_id = ? AND seq > ? AND seq < ? AND kind <> 'summary'"
        " ORDER BY seq DESC LIMIT ?",
        thread_id,
        after,
        before,
        PAGE_ENTRIES,
    ):
        yield from page
        before = page[-1][0]
        if len(page) < PAGE_ENTRIES:
            return


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
        "UPDATE runs SET attempts = 0, crashes = 0 WHERE id = ? AND state = 'running' RETURNING thread_id",
        turn_id,
    )
    if row is None:
        raise StaleTurn(f"turn {turn_id} is not running")
    thread_id: str = row[0]
    return thread_id


def keep_models(tx: Transaction, run_id: str, models: ModelTrace) -> None:
    """Record the models of a run that goes on."""
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
    inputs: Sequence[UserSaid],
    channel: str,
    address: Address,
    reply_to: MessageRef | None = None,
    *,
    events: Sequence[str],
) -> TurnStart:
    """Start a turn on a thread without an active one. It answers to the given address, as a reply to
    that message if there is one.

    `inputs`: none if what it begins with is journalled later.
    `events`: the keys of the messages it answers."""
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
        on.verbosity,
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
    for event_id in taken.ids:
        tx.run("UPDATE inbox SET outcome = ?, turn_id = ? WHERE id = ?", outcome_of(start), turn_id, event_id)
    return start


@dataclass(frozen=True, slots=True)
class Audited:
    """The person and thread that the audit names for a run's calls. `thread_id`: the thread whose grants
    hold for it."""

    principal_id: str | None
    thread_id: str | None
    detail: Mapping[str, Any]


def audited(tx: Transaction, run_id: str) -> Audited:
    """Return what the audit says of each call of a run."""
    row = tx.one(
        "SELECT kind, principal_id, thread_id, consent_thread, events FROM runs WHERE id = ?", run_id
    )
    if row is None:
        return Audited(None, None, {"events": []})
    kind, principal_id, thread_id, consent_thread, events = row
    if kind == "chat":
        return Audited(principal_id, thread_id, {"events": json.loads(events)})
    (trigger,) = json.loads(events)
    return Audited(principal_id, consent_thread, {"run": run_id, "trigger": trigger})


def events_of(tx: Transaction, turn_id: str) -> list[str]:
    """Return the keys of the messages a turn answers."""
    row = tx.one("SELECT events FROM runs WHERE id = ?", turn_id)
    return [] if row is None else json.loads(row[0])


def outcome_of(start: TurnStart) -> str:
    """Return the recorded outcome of an input that is part of a turn."""
    return f"turn {start.number}"


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


# The end of turns: every call gets an outcome, then comes the answer or the reason there is none.

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
    thread_id = require_running(tx, turn_id)
    called = end_turn(tx, thread_id, turn_id, state, answer, error, models)
    rows = enqueue_instead(tx, turn_id, as_replies(tx, turn_id, messages), send_now=send_now)
    if called:
        _record_answer(tx, thread_id, turn_id, state, rows)
    if answer is None:
        put_messages(tx, thread_id, rows, turn_id)
    return TurnFinished(rows, start_next(tx, thread_id, next_turn_id))


def end_turn(
    tx: Transaction,
    thread_id: str,
    turn_id: str,
    state: TurnState,
    answer: AssistantSaid | None = None,
    error: str | None = None,
    models: ModelTrace = NO_MODELS,
) -> bool:
    """End an active turn. Calls without an outcome get one, then comes the answer or the reason there
    is none.

    Return True if the turn made any calls: its end is then part of their audit.
    """
    calls = tx.all("SELECT id, state, tool FROM calls WHERE turn_id = ? ORDER BY seq", turn_id)
    open_calls = [call for call in calls if call[1] != CallState.ENDED]
    said: list[Said] = [_result_at_end(row) for row in open_calls]
    for call_id, call_state, tool in open_calls:
        unknown = call_state == CallState.UNKNOWN
        status = ResultStatus.UNKNOWN if unknown else ResultStatus.CANCELLED
        tx.run("UPDATE calls SET state = 'ended', status = ? WHERE id = ?", status.value, call_id)
        events = events_of(tx, turn_id)
        record(
            tx, AuditKind.ENDED, call_id, thread_id=thread_id, tool=tool, status=status.value, events=events
        )
    if answer is not None:
        said.append(answer)
    elif state in ENDED_WITHOUT_ANSWER:
        said.append(Note(ENDED_WITHOUT_ANSWER[state]))
    if said:
        append(tx, thread_id, turn_id, said)
    now = tx.clock.now()
    tx.run(
        "UPDATE runs SET state = ?, error = ?, models = coalesce(?, models), ended_at = ?,"
        f" running_since = NULL, fence = NULL, spent_us = spent_us + {SPENT_SINCE}"
        f" WHERE id = ? AND state IN {ACTIVE}",
        state.value,
        error,
        trace_to_json(models),
        now,
        now,
        now,
        turn_id,
    )
    return bool(calls)


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
