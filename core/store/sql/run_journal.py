"""The steps of runs that use tools. Implements core.store.routine_port.RunJournal."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence

from core.audit_chain import AuditKind
from core.errors import StaleTurn
from core.gates import ConsentSettings
from core.routine import Spent
from core.store.codecs import said_from_columns, said_to_columns, storable
from core.store.engine import Facet, reads, writes
from core.store.routines import RunSteps
from core.store.rows import CallRow, CallState, NewCall, RunCheck
from core.store.sql.audit import hidden, record, record_end
from core.store.sql.grants import in_thread
from core.store.sql.kill_switch import refusal_while_paused, use
from core.store.sql.people import known_user
from core.store.sql.steps import too_often
from core.store.transaction import Row, Transaction
from core.tool import Effect, ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Note, ResultStatus, Said, ToolCalled, ToolResult

CUT_SHORT = "The run ended while this ran; whether it took effect was not recorded."
NOT_RUN = "Not run: the run ended before."

_CALL = "call_id, run_id, seq, name, text, state, effect, pid, process_group, started_ticks"


def steps(tx: Transaction, run_id: str) -> RunSteps:
    row = tx.one("SELECT scope FROM routine_runs WHERE id = ?", run_id)
    said = tx.all(
        "SELECT kind, text, call_id, name, extra FROM run_steps WHERE run_id = ? ORDER BY seq", run_id
    )
    calls = tx.all(f"SELECT {_CALL} FROM run_steps WHERE run_id = ? AND kind = 'call' ORDER BY seq", run_id)
    return RunSteps(
        None if row is None else row[0],
        tuple(said_from_columns(*columns) for columns in said),
        tuple(_call_of(columns) for columns in calls),
    )


def standing(tx: Transaction, owner_id: str, thread_id: str | None) -> ConsentSettings:
    return in_thread(tx, owner_id, thread_id or "")


def finish_call(tx: Transaction, run_id: str, result: ToolResult, started_at: int | None = None) -> None:
    _running(tx, run_id)
    if not _end(tx, run_id, result, started_at):
        raise StaleTurn(f"run {run_id} has no call {result.call_id} without an outcome")


def settle(tx: Transaction, run_id: str, *, goes_on: bool) -> None:
    """Settle a run's open calls. Running calls get an unknown outcome for good; if the run ends, calls
    not begun are cancelled."""
    for call in steps(tx, run_id).calls:
        if call.state is CallState.RUNNING:
            _end(tx, run_id, ToolResult(call.call_id, ResultStatus.UNKNOWN, CUT_SHORT))
        elif call.state is CallState.INTENT and not goes_on:
            _end(tx, run_id, ToolResult(call.call_id, ResultStatus.CANCELLED, NOT_RUN))


# --- implementation -----------------------------------------------------------------------------------


def _running(tx: Transaction, run_id: str) -> tuple[str, str | None, str]:
    """Return the owner of a running run, the thread its routine was created in, and its trigger's key."""
    row = tx.one(
        "SELECT o.owner_id, o.thread_id, r.key FROM routine_runs r JOIN routines o ON o.id = r.routine_id"
        " WHERE r.id = ? AND r.state = 'running'",
        run_id,
    )
    if row is None:
        raise StaleTurn(f"run {run_id} is not running")
    return row[0], row[1], row[2]


def _append(tx: Transaction, run_id: str, said: Said, effect: Effect | None = None) -> None:
    """Append a step to the journal. `effect`: the effect of a call, which is then to be run."""
    tx.run(
        "INSERT INTO run_steps (run_id, seq, at, effect, state, kind, text, call_id, name, extra)"
        " VALUES (?, (SELECT coalesce(max(seq), 0) + 1 FROM run_steps WHERE run_id = ?),"
        " ?, ?, ?, ?, ?, ?, ?, ?)",
        run_id,
        run_id,
        tx.clock.now(),
        None if effect is None else effect.value,
        None if effect is None else "intent",
        *said_to_columns(said),
    )


def _end(tx: Transaction, run_id: str, result: ToolResult, started_at: int | None = None) -> bool:
    ended = tx.one(
        "UPDATE run_steps SET state = 'ended', started_at = coalesce(started_at, ?), ended_at = ?"
        " WHERE run_id = ? AND call_id = ? AND kind = 'call' AND state <> 'ended'"
        " RETURNING name, text, started_at, ended_at",
        started_at,
        tx.clock.now(),
        run_id,
        result.call_id,
    )
    if ended is None:
        return False
    _append(tx, run_id, result)
    tool, arguments, started_at, ended_at = ended
    whose = tx.one(
        "SELECT o.owner_id, o.thread_id, r.key FROM routine_runs r JOIN routines o ON o.id = r.routine_id"
        " WHERE r.id = ?",
        run_id,
    )
    owner_id, thread_id, trigger = whose or (None, None, None)
    record_end(
        tx,
        result,
        actor=owner_id,
        thread_id=thread_id,
        tool=tool,
        arguments=arguments,
        started_at=started_at,
        ended_at=ended_at,
        run=run_id,
        trigger=trigger,
    )
    return True


def _call_of(row: Row) -> CallRow:
    call_id, run_id, seq, tool, arguments, state, effect, pid, process_group, started_ticks = row
    return CallRow(
        call_id,
        run_id,
        seq,
        tool,
        arguments,
        CallState(state),
        Effect(effect),
        process=None if pid is None else ProcessInfo(pid, process_group, started_ticks),
    )


class RunJournalUnits(Facet):
    """The units of RunJournal."""

    @reads
    def run_steps(self, tx: Transaction, run_id: str) -> "RunSteps":
        return steps(tx, run_id)

    @reads
    def run_standing(self, tx: Transaction, owner_id: str, thread_id: str | None) -> ConsentSettings:
        return standing(tx, owner_id, thread_id)

    @writes
    def open_run_journal(self, tx: Transaction, run_id: str, scope: str, asked: Said) -> None:
        changed = tx.run(
            "UPDATE routine_runs SET scope = ? WHERE id = ? AND state = 'running' AND scope IS NULL",
            storable(scope),
            run_id,
        )
        if not changed:
            raise StaleTurn(f"run {run_id} is not running, or has already begun")
        _append(tx, run_id, asked)

    @writes
    def record_run_reply(
        self,
        tx: Transaction,
        run_id: str,
        reply: AssistantSaid,
        calls: Sequence[NewCall],
        spent: "Spent",
        *,
        refused: Sequence[ToolResult] = (),
    ) -> None:
        _running(tx, run_id)
        _append(tx, run_id, reply)
        for call in calls:
            _append(tx, run_id, ToolCalled(call.call_id, call.tool, call.arguments), call.effect)
        tx.run(
            "UPDATE routine_runs SET input_tokens = ?, output_tokens = ?, cost_micro_usd = ? WHERE id = ?",
            spent.tokens_in,
            spent.tokens_out,
            spent.cost_micro_usd,
            run_id,
        )
        for result in refused:
            finish_call(tx, run_id, result)

    @writes
    def record_run_note(self, tx: Transaction, run_id: str, note: Note) -> None:
        _running(tx, run_id)
        _append(tx, run_id, note)

    @writes
    def mark_run_call(
        self, tx: Transaction, run_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        owner_id, thread_id, trigger = _running(tx, run_id)
        found = tx.one(
            f"SELECT {_CALL} FROM run_steps WHERE run_id = ? AND call_id = ? AND kind = 'call'",
            run_id,
            call_id,
        )
        if found is None or (call := _call_of(found)).state is not CallState.INTENT:
            raise StaleTurn(f"run {run_id} has no call {call_id} that is still to be run")
        refusal = refusal_while_paused(tx) or check(
            call, known_user(tx, owner_id), standing(tx, owner_id, thread_id)
        )
        if refusal is None and limits:
            refusal = too_often(use(tx, owner_id, call.tool, limits), call.tool)
        if refusal is None:
            tx.run(
                "UPDATE run_steps SET state = 'running', started_at = ? WHERE run_id = ? AND seq = ?",
                tx.clock.now(),
                run_id,
                call.seq,
            )
            record(
                tx,
                AuditKind.STARTED,
                call_id,
                actor=owner_id,
                thread_id=thread_id,
                tool=call.tool,
                arguments=hidden(tx, call.arguments),
                run=run_id,
                trigger=trigger,
            )
        return refusal

    @writes
    def record_run_process(self, tx: Transaction, call_id: str, process: ProcessInfo) -> None:
        changed = tx.run(
            "UPDATE run_steps SET pid = ?, process_group = ?, started_ticks = ?"
            " WHERE call_id = ? AND state = 'running'",
            process.pid,
            process.process_group,
            process.started_ticks,
            call_id,
        )
        if not changed:
            raise StaleTurn(f"call {call_id} is not running")

    @writes
    def finish_run_call(
        self, tx: Transaction, run_id: str, result: ToolResult, *, started_at: int | None = None
    ) -> None:
        return finish_call(tx, run_id, result, started_at)
