"""The steps of a running turn: replies, calls and their outcomes, and loading the data of the next
step."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Callable, Sequence

from core.audit_chain import AuditKind
from core.errors import StaleTurn
from core.events import NO_MODELS, ModelTrace
from core.gates import Gate, GateKind, Option
from core.ports import OutboxRow
from core.store.rows import (
    CallRow,
    CallState,
    Draft,
    LoadedTurn,
    LoopUsed,
    NewCall,
    RunCheck,
    TurnFinished,
    TurnStart,
    TurnState,
)
from core.store.sql import gate_open, turns
from core.store.sql.audit import hidden, record, record_end
from core.store.sql.grants import in_thread
from core.store.sql.kill_switch import refusal_while_paused, use
from core.store.sql.leases import hold
from core.store.sql.mapping import (
    CALL,
    CALL_FROM,
    call_of,
)
from core.store.sql.people import known_user
from core.store.sql.turns import append, audited, history, keep_models, models_of, progress
from core.store.transaction import Row, Transaction
from core.store.units import Facet, reads, writes
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Note, Said, ToolCalled, ToolResult

"""Of why a call was refused, which is the hub's own sentence."""


def too_often(limit: UseLimit | None, tool: str) -> str | None:
    """Return why a tool may not be used again so soon, or None if it may."""
    if limit is None:
        return None
    stretch = "minute" if limit.window_s <= 60 else "hour"
    return f"{tool} was used {limit.most} times in the last {stretch}, which is the limit; try later"


def _may_run(call: CallRow) -> bool:
    if call.state is CallState.UNKNOWN:
        return call.answer is Option.RETRY
    return call.state in {CallState.INTENT, CallState.APPROVED}


def finish_calls(
    tx: Transaction, turn_id: str, results: Sequence[ToolResult], started_at: int | None = None
) -> None:
    thread_id = progress(tx, turn_id)
    end_calls(tx, thread_id, turn_id, results, started_at)


def end_calls(
    tx: Transaction,
    thread_id: str,
    turn_id: str,
    results: Sequence[ToolResult],
    started_at: int | None = None,
) -> None:
    """Give calls of a run their outcomes."""
    for result in results:
        ended = tx.one(
            "UPDATE calls SET state = 'ended', status = ?, started_at = coalesce(started_at, ?),"
            " ended_at = CASE WHEN coalesce(started_at, ?) IS NOT NULL THEN ? END"
            " WHERE id = ? AND turn_id = ? AND state <> 'ended' RETURNING tool, started_at, ended_at",
            result.status.value,
            started_at,
            started_at,
            tx.clock.now(),
            result.call_id,
            turn_id,
        )
        if ended is None:
            raise StaleTurn(f"turn {turn_id} has no call {result.call_id} without an outcome")
        _record_end(tx, turn_id, result, ended)
    if results:
        append(tx, thread_id, turn_id, results)


def _record_end(tx: Transaction, turn_id: str, result: ToolResult, ended: Row) -> None:
    tool, started_at, ended_at = ended
    asked = tx.one(f"SELECT coalesce(c.edited, e.text) FROM {CALL_FROM} WHERE c.id = ?", result.call_id)
    whose = audited(tx, turn_id)
    record_end(
        tx,
        result,
        actor=whose.principal_id,
        thread_id=whose.thread_id,
        tool=tool,
        arguments="" if asked is None else asked[0],
        started_at=started_at,
        ended_at=ended_at,
        **whose.detail,
    )


# --- loading --------------------------------------------------------------------------------------------


def used_of(tx: Transaction, turn_id: str) -> LoopUsed:
    """Return a turn's use since the last human input."""
    row = tx.one("SELECT thread_id, first_seq, budget_from, spent_us FROM runs WHERE id = ?", turn_id)
    if row is None:
        return LoopUsed(0, 0, 0)
    thread_id, first_seq, budget_from, spent_us = row
    rounds = _rounds(tx, thread_id, turn_id, max(budget_from, first_seq - 1))
    return LoopUsed(rounds, _tools_run(tx, turn_id, budget_from), spent_us)


def _rounds(tx: Transaction, thread_id: str, turn_id: str, after_seq: int) -> int:
    """Return the number of replies that asked for calls. A reply's calls come right after it."""
    row = tx.one(
        "SELECT count(*) FROM entries a JOIN entries c ON c.thread_id = a.thread_id AND c.seq = a.seq + 1"
        " WHERE a.thread_id = ? AND a.seq > ? AND a.turn_id = ? AND a.kind = 'assistant' AND c.kind = 'call'",
        thread_id,
        after_seq,
        turn_id,
    )
    return 0 if row is None else row[0]


def _tools_run(tx: Transaction, turn_id: str, budget_from: int) -> int:
    """Return the number of calls that ran, or may have run."""
    row = tx.one(
        "SELECT count(*) FROM calls WHERE turn_id = ? AND seq > ?"
        " AND (status IN ('ok', 'error', 'unknown') OR state IN ('running', 'unknown'))",
        turn_id,
        budget_from,
    )
    return 0 if row is None else row[0]


def _continued(tx: Transaction, turn_id: str) -> Option | None:
    row = tx.one(
        "SELECT outcome FROM gates WHERE turn_id = ? AND kind = ? ORDER BY created_at DESC LIMIT 1",
        turn_id,
        GateKind.CONTINUE.value,
    )
    return None if row is None or row[0] is None else Option(row[0])


def record_reply(
    tx: Transaction,
    turn_id: str,
    reply: AssistantSaid,
    calls: Sequence[NewCall],
    refused: Sequence[ToolResult],
) -> None:
    """Journal a reply of a run with the calls it asks for, and the outcomes of those that are not run."""
    thread_id = progress(tx, turn_id)
    said: list[Said] = [reply]
    said.extend(ToolCalled(call.call_id, call.tool, call.arguments) for call in calls)
    first_seq = append(tx, thread_id, turn_id, said)
    for offset, call in enumerate(calls, start=1):
        tx.run(
            "INSERT INTO calls (id, thread_id, seq, turn_id, tool, effect, state, round)"
            " VALUES (?, ?, ?, ?, ?, ?, 'intent', ?)",
            call.call_id,
            thread_id,
            first_seq + offset,
            turn_id,
            call.tool,
            call.effect.value,
            call.round,
        )
    if refused:
        finish_calls(tx, turn_id, refused)


class TurnUnits(Facet):
    """The units of Turns."""

    @reads
    def load_turn(self, tx: Transaction, start: TurnStart) -> LoadedTurn:
        thread_id, turn_id = start.thread.id, start.turn_id
        entries = history(tx, thread_id)
        if not start.resumed:
            return LoadedTurn(start, entries, (), spent_us=0, rounds=0, tools_run=0, continued=None)
        used = used_of(tx, turn_id)
        rows = tx.all(f"SELECT {CALL} FROM {CALL_FROM} WHERE c.turn_id = ? ORDER BY c.seq", turn_id)
        return LoadedTurn(
            start,
            entries,
            tuple(call_of(row) for row in rows),
            spent_us=used.spent_us,
            rounds=used.rounds,
            tools_run=used.tools_run,
            continued=_continued(tx, turn_id),
            models=models_of(tx, turn_id),
        )

    @writes
    def record_reply_and_intents(
        self,
        tx: Transaction,
        turn_id: str,
        reply: AssistantSaid,
        calls: Sequence[NewCall],
        *,
        refused: Sequence[ToolResult] = (),
        models: ModelTrace = NO_MODELS,
    ) -> None:
        record_reply(tx, turn_id, reply, calls, refused)
        if models != NO_MODELS:
            keep_models(tx, turn_id, models)

    @writes
    def record_notes(self, tx: Transaction, turn_id: str, notes: Sequence[Note]) -> None:
        thread_id = progress(tx, turn_id)
        if notes:
            append(tx, thread_id, turn_id, notes)

    @writes
    def ask_person(
        self, tx: Transaction, gate: Gate, cards: Sequence[Draft], *, beside: Sequence[Gate] = ()
    ) -> tuple[OutboxRow, ...]:
        return gate_open.ask_person(tx, (gate, *beside), cards)

    @writes
    def mark_running(
        self, tx: Transaction, turn_id: str, call_id: str, check: RunCheck, *, limits: Sequence[UseLimit] = ()
    ) -> str | None:
        row = tx.one(
            "SELECT principal_id, stop_requested FROM runs WHERE id = ? AND state = 'running'", turn_id
        )
        if row is None or row[1]:
            raise StaleTurn(f"turn {turn_id} is not running, or was stopped")
        principal_id, whose = row[0], audited(tx, turn_id)
        found = tx.one(f"SELECT {CALL} FROM {CALL_FROM} WHERE c.id = ? AND c.turn_id = ?", call_id, turn_id)
        if found is None:
            raise StaleTurn(f"turn {turn_id} has no call {call_id}")
        call = call_of(found)
        if not _may_run(call):
            raise StaleTurn(f"call {call_id} is {call.state}, so it can't be run")
        refusal = refusal_while_paused(tx) or check(
            call, known_user(tx, principal_id), in_thread(tx, principal_id, whose.thread_id or "")
        )
        if refusal is None and limits:
            refusal = too_often(use(tx, principal_id, call.tool, limits), call.tool)
        if refusal is None:
            tx.run(
                "UPDATE calls SET state = 'running', pid = NULL, process_group = NULL, started_ticks = NULL,"
                " started_at = ? WHERE id = ?",
                tx.clock.now(),
                call_id,
            )
            record(
                tx,
                AuditKind.STARTED,
                call_id,
                actor=principal_id,
                thread_id=whose.thread_id,
                tool=call.tool,
                arguments=hidden(tx, call.arguments),
                **whose.detail,
            )
        return refusal

    @writes
    def record_process(self, tx: Transaction, call_id: str, process: ProcessInfo) -> None:
        changed = tx.run(
            "UPDATE calls SET pid = ?, process_group = ?, started_ticks = ?, host = ? WHERE id = ?"
            " AND state = 'running'",
            process.pid,
            process.process_group,
            process.started_ticks,
            process.host,
            call_id,
        )
        if not changed:
            raise StaleTurn(f"call {call_id} is not running")

    @writes
    def finish_calls(
        self, tx: Transaction, turn_id: str, results: Sequence[ToolResult], *, started_at: int | None = None
    ) -> None:
        return finish_calls(tx, turn_id, results, started_at)

    async def hold_lease(self) -> None:
        await hold(self.engine)

    async def finish_turn_and_enqueue(
        self,
        turn_id: str,
        state: TurnState,
        answer: AssistantSaid | None,
        messages: Sequence[Draft],
        *,
        next_turn_id: str,
        error: str | None = None,
        models: ModelTrace = NO_MODELS,
        send_now: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> TurnFinished:
        return await self._engine.write(
            lambda tx: turns.finish(
                tx, turn_id, state, answer, messages, next_turn_id, error, models, send_now=send_now
            ),
            meanwhile=meanwhile,
        )
