"""Subtasks: runs that carry out one call of another run each. Their ids are those of the calls.

A subtask has a thread of its own, and ends with the outcome of its call at the latest.
"""

from dataclasses import replace

from core.errors import StaleTurn
from core.events import ModelTrace, RunKind
from core.store.routine_rows import RunSteps, StartedSubtask
from core.store.rows import TurnState
from core.store.sql.people import known_user
from core.store.sql.run_journal import RunJournalUnits, close_run, settle, steps
from core.store.sql.steps import payer_of
from core.store.sql.turns import require_running, start_turn, thread
from core.store.transaction import Transaction
from core.store.units import writes
from core.transcript import AssistantSaid, UserSaid
from core.usage import Reservation

CHANNEL = "subtask"
"""The channel of a subtask's thread: no message comes from it, and none goes there."""


def _begin(tx: Transaction, call_id: str, parent: str, asked: UserSaid) -> Reservation | None:
    run = tx.one("SELECT principal_id, kind, thread_id, consent_thread FROM runs WHERE id = ?", parent)
    assert run is not None  # noqa: S101 - it has just been found running
    principal_id, kind, thread_id, consent_thread = run
    tx.run(
        "INSERT INTO threads (id, owner_id, channel, scope, address, title, created_at, last_active_at, kind)"
        " VALUES (?1, ?2, ?3, ?1, '', '', ?4, ?4, 'subtask')",
        call_id,
        principal_id,
        CHANNEL,
        tx.clock.now(),
    )
    on, owner = thread(tx, call_id), known_user(tx, principal_id)
    begun = start_turn(
        tx, on, owner, call_id, [asked], CHANNEL, on.address, events=[], payer=payer_of(tx, parent)
    )
    tx.run(
        "UPDATE runs SET kind = ?, consent_thread = ?, attempts = 0 WHERE id = ?",
        RunKind.SUBTASK.value,
        thread_id if kind == RunKind.CHAT else consent_thread,
        call_id,
    )
    return begun.reserved


def with_subtasks(tx: Transaction, run_id: str) -> RunSteps:
    """Return the steps of a run, with those of its subtasks after its own."""
    begun = tx.all(
        "SELECT c.id FROM calls c JOIN runs s ON s.id = c.id WHERE c.turn_id = ? ORDER BY c.seq", run_id
    )
    run, found = steps(tx, run_id), [steps(tx, call_id) for (call_id,) in begun]
    said = tuple(one for sub in found for one in sub.said)
    calls = tuple(call for sub in found for call in sub.calls)
    return replace(run, said=(*run.said, *said), calls=(*run.calls, *calls))


class SubtaskUnits(RunJournalUnits):
    """The units of RunJournal, with those of subtasks."""

    @writes
    def begin_subtask(self, tx: Transaction, call_id: str, asked: UserSaid) -> StartedSubtask:
        call = tx.one("SELECT turn_id FROM calls WHERE id = ? AND state <> 'ended'", call_id)
        if call is None:
            raise StaleTurn(f"there is no call {call_id} without an outcome")
        require_running(tx, call[0], heed_stop=True)
        known = tx.one("SELECT state FROM runs WHERE id = ?", call_id)
        if known is None:
            reserved = _begin(tx, call_id, call[0], asked)
            return StartedSubtask(steps(tx, call_id), reserved=reserved)
        if known[0] == TurnState.RUNNING:
            settle(tx, call_id, goes_on=True)
            return StartedSubtask(steps(tx, call_id))
        ended = steps(tx, call_id)
        answers = [one.text for one in ended.said if isinstance(one, AssistantSaid)]
        return StartedSubtask(ended, answer=answers[-1] if answers else "")

    @writes
    def end_subtask(self, tx: Transaction, call_id: str, answer: AssistantSaid, models: ModelTrace) -> None:
        require_running(tx, call_id)
        close_run(tx, call_id, TurnState.DONE, answer, models)
