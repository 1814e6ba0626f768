"""How turns end: every call gets an outcome, then comes the answer, or why there is none."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence

from core.audit_chain import AuditKind
from core.ports import OutboxRow
from core.store.rows import CallState, Draft, TurnFinished, TurnState
from core.store.sqlite.audit import record
from core.store.sqlite.feed import put_messages
from core.store.sqlite.mapping import ACTIVE
from core.store.sqlite.previews import enqueue_instead
from core.store.sqlite.replies import as_replies
from core.store.sqlite.transaction import Row, Transaction
from core.store.sqlite.transcript import append
from core.store.sqlite.turns import events_of, require_running, start_next
from core.transcript import AssistantSaid, Note, ResultStatus, Said, ToolResult

CANCELLED_TEXT = "Cancelled: the turn ended before this call ran."
CUT_SHORT_TEXT = "Cancelled while it was running; it may have had effects."
UNKNOWN_TEXT = "Outcome unknown: the hub ended while this call was running."
ENDED_WITHOUT_ANSWER = {
    TurnState.STOPPED: "The person stopped this before it was answered; do not come back to it unasked.",
    TurnState.FAILED: "This could not be answered; the person was told so.",
    TurnState.CRASHED: "This was set aside unanswered; the person was told so.",
}
"""What the model is told about a turn that has no answer."""


def finish(
    tx: Transaction,
    turn_id: str,
    state: TurnState,
    answer: AssistantSaid | None,
    messages: Sequence[Draft],
    next_turn_id: str,
    error: str | None,
    *,
    send_now: bool,
) -> TurnFinished:
    """See Store.finish_turn_and_enqueue."""
    thread_id = require_running(tx, turn_id)
    called = end_turn(tx, thread_id, turn_id, state, answer, error)
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
) -> bool:
    """End an active turn: calls without an outcome get one, then comes the answer, or why there is none.

    Returns whether the turn made any calls: then its end is part of what the audit says of them.
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
        "UPDATE turns SET state = ?, error = ?, ended_at = ?, running_since = NULL,"
        f" spent_us = spent_us + coalesce(max(0, ? - running_since), 0) WHERE id = ? AND state IN {ACTIVE}",
        state.value,
        error,
        now,
        now,
        turn_id,
    )
    return bool(calls)


def _record_answer(
    tx: Transaction, thread_id: str, turn_id: str, state: TurnState, rows: Sequence[OutboxRow]
) -> None:
    """Close the chain from the messages a turn answers over its calls to what was said in reply."""
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
