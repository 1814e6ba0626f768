"""The journal of runs without a person: threads of their own, with the entries and calls that chats have.

Implements `RunJournal`. What a run says and does is recorded by core.store.sql.steps.
Runs of one routine at the same time have a thread each; one after the other they share it. Subtasks are runs
that carry out one call of another run each, with its id, and end with the outcome of it at the latest.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from dataclasses import replace

from core.errors import StaleTurn
from core.events import NO_MODELS, ModelTrace, RunKind
from core.gates import ConsentSettings
from core.routine import RunStatus
from core.store.codecs import said_from_columns, storable, trace_to_json
from core.store.routine_rows import RunSteps, StartedSubtask
from core.store.rows import CallState, TurnState
from core.store.sql.grants import in_thread, left_out, own_grants
from core.store.sql.mapping import ACTIVE, CALL, CALL_FROM, call_of
from core.store.sql.people import known_user
from core.store.sql.steps import end_calls, payer_of, used_by_subtasks
from core.store.sql.turns import append, keep_models, require_running, start_turn, thread
from core.store.sql.usage import settle as settle_calls
from core.store.sql.usage import unanswered
from core.store.units import Facet, Transaction, reads, writes
from core.transcript import AssistantSaid, ResultStatus, ToolResult, UserSaid
from core.usage import CallKind, Payer, Reservation

CUT_SHORT = "The run ended while this ran; whether it took effect was not recorded."
NOT_RUN = "Not run: the run ended before."
CHANNEL = "routine"
"""The channel of a run's thread: no message comes from it, and none goes there."""
_ENDED_AS = {
    RunStatus.OK: TurnState.DONE,
    RunStatus.ATTENTION: TurnState.DONE,
    RunStatus.INTERRUPTED: TurnState.CRASHED,
    RunStatus.SKIPPED: TurnState.STOPPED,
}


def steps(tx: Transaction, run_id: str) -> RunSteps:
    row = tx.one("SELECT scope FROM routine_runs WHERE id = ?", run_id)
    said = tx.all(
        "SELECT kind, text, call_id, name, extra FROM entries WHERE turn_id = ? ORDER BY seq", run_id
    )
    calls = tx.all(f"SELECT {CALL} FROM {CALL_FROM} WHERE c.turn_id = ? ORDER BY c.seq", run_id)
    return RunSteps(
        None if row is None else row[0],
        tuple(said_from_columns(*columns) for columns in said),
        tuple(call_of(columns) for columns in calls),
        used_by_subtasks(tx, run_id)[0],
    )


def standing(tx: Transaction, run_id: str, owner_id: str, thread_id: str | None) -> ConsentSettings:
    """Return a person's standing consent for a run without anybody to ask, the run's own grants, and the
    tools it goes without."""
    said = in_thread(tx, owner_id, thread_id or "")
    return replace(said, left_out=left_out(tx), own=own_grants(tx, run_id))


def settle(tx: Transaction, run_id: str, *, goes_on: bool) -> str | None:
    """Settle a run's open calls. Running calls get an unknown outcome for good; if the run ends, calls
    not begun are cancelled. Return the journal's thread; None if the run has not begun one."""
    journal = tx.one("SELECT thread_id FROM runs WHERE id = ?", run_id)
    if journal is None:
        return None
    results: list[ToolResult] = []
    for call in steps(tx, run_id).calls:
        if call.state is CallState.RUNNING:
            results.append(ToolResult(call.call_id, ResultStatus.UNKNOWN, CUT_SHORT))
        elif call.state is CallState.INTENT and not goes_on:
            results.append(ToolResult(call.call_id, ResultStatus.CANCELLED, NOT_RUN))
    end_calls(tx, journal[0], run_id, results)
    return journal[0]


def begin(tx: Transaction, run_id: str) -> Reservation | None:
    """Begin a run's journal. Its question comes with its scope (`open_run_journal`). Return the reservation
    of its first model call, if one was made."""
    row = tx.one(
        "SELECT o.id, o.owner_id, o.thread_id, r.key FROM routine_runs r"
        " JOIN routines o ON o.id = r.routine_id WHERE r.id = ?",
        run_id,
    )
    assert row is not None  # noqa: S101 - a routine takes its runs with it
    routine_id, owner_id, consent_thread, key = row
    on = thread(tx, _free_thread(tx, routine_id, run_id))
    owner = known_user(tx, owner_id)
    begun = start_turn(
        tx,
        on,
        owner,
        run_id,
        [],
        CHANNEL,
        on.address,
        events=[key],
        payer=Payer(CallKind.ROUTINE, run_id, owner.user_id, on.id, routine_id),
    )
    tx.run(
        "UPDATE runs SET kind = ?, consent_thread = ? WHERE id = ?",
        RunKind.ROUTINE.value,
        consent_thread,
        run_id,
    )
    return begun.reserved


def close(
    tx: Transaction,
    run_id: str,
    status: RunStatus,
    answer: AssistantSaid | None = None,
    models: ModelTrace = NO_MODELS,
) -> None:
    """End the journal of a routine's run."""
    close_run(tx, run_id, _ENDED_AS.get(status, TurnState.FAILED), answer, models)


def close_run(
    tx: Transaction,
    run_id: str,
    state: TurnState,
    answer: AssistantSaid | None = None,
    models: ModelTrace = NO_MODELS,
) -> None:
    """End a run's journal: every call of it has an outcome, then comes the answer, and nothing follows."""
    journal = settle(tx, run_id, goes_on=False)
    if journal is not None and answer is not None:
        append(tx, journal, run_id, [answer])
    settle_calls(tx, models.calls)
    unanswered(tx, run_id)
    tx.run(
        "UPDATE runs SET state = ?, models = coalesce(?, models), running_since = NULL, fence = NULL,"
        f" ended_at = ? WHERE id = ? AND state IN {ACTIVE}",
        state.value,
        trace_to_json(models),
        tx.clock.now(),
        run_id,
    )


def forget(tx: Transaction, runs: str, *parameters: object) -> None:
    """Delete the journals of runs. `runs`: the statement that selects their ids."""
    subtasks = f"SELECT s.id FROM calls s WHERE s.turn_id IN ({runs})"
    for table, column in (("calls", "turn_id"), ("entries", "turn_id"), ("runs", "id"), ("threads", "id")):
        tx.run(f"DELETE FROM {table} WHERE {column} IN ({subtasks})", *parameters)
    for table, column in (("calls", "turn_id"), ("entries", "turn_id"), ("runs", "id")):
        tx.run(f"DELETE FROM {table} WHERE {column} IN ({runs})", *parameters)


def forget_threads(tx: Transaction, routine_id: str) -> None:
    """Delete a routine's threads; their runs are deleted already."""
    tx.run("DELETE FROM threads WHERE kind = 'routine' AND scope = ?", routine_id)


def _free_thread(tx: Transaction, routine_id: str, new_id: str) -> str:
    """Return a thread of the routine in which nothing runs, made if there is none."""
    free = tx.one(
        "SELECT t.id FROM threads t WHERE t.kind = 'routine' AND t.scope = ? AND NOT EXISTS"
        f" (SELECT 1 FROM runs a WHERE a.thread_id = t.id AND a.state IN {ACTIVE}) ORDER BY t.id LIMIT 1",
        routine_id,
    )
    if free is not None:
        return free[0]
    tx.run(
        "INSERT INTO threads (id, owner_id, channel, scope, address, title, created_at, last_active_at, kind)"
        " SELECT ?, owner_id, ?, id, '', name, ?, ?, 'routine' FROM routines WHERE id = ?",
        new_id,
        CHANNEL,
        tx.clock.now(),
        tx.clock.now(),
        routine_id,
    )
    return new_id


class RunJournalUnits(Facet):
    """The units of RunJournal."""

    @reads
    def run_steps(self, tx: Transaction, run_id: str) -> "RunSteps":
        return steps(tx, run_id)

    @reads
    def run_standing(
        self, tx: Transaction, run_id: str, owner_id: str, thread_id: str | None
    ) -> ConsentSettings:
        return standing(tx, run_id, owner_id, thread_id)

    @writes
    def open_run_journal(self, tx: Transaction, run_id: str, scope: str, asked: UserSaid) -> None:
        begun = tx.run(
            "UPDATE routine_runs SET scope = ? WHERE id = ? AND state = 'running' AND scope IS NULL",
            storable(scope),
            run_id,
        )
        if not begun:
            raise StaleTurn(f"run {run_id} is not running, or has already begun")
        append(tx, require_running(tx, run_id), run_id, [asked])

    @writes
    def keep_models(self, tx: Transaction, run_id: str, models: ModelTrace) -> None:
        require_running(tx, run_id, heed_stop=True)
        keep_models(tx, run_id, models)


SUBTASK_CHANNEL = "subtask"
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
        SUBTASK_CHANNEL,
        tx.clock.now(),
    )
    on, owner = thread(tx, call_id), known_user(tx, principal_id)
    begun = start_turn(
        tx, on, owner, call_id, [asked], SUBTASK_CHANNEL, on.address, events=[], payer=payer_of(tx, parent)
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
