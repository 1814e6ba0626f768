"""The steps of a running turn: replies, calls and their outcomes, and loading the data of the next
step."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Callable, Sequence
from dataclasses import replace

from core.audit_chain import AuditKind
from core.errors import StaleTurn
from core.events import NO_MODELS, ModelTrace, RunKind
from core.gates import Gate, GateKind, Option
from core.ports import OutboxRow
from core.store.codecs import encode, storable
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
from core.store.sql.audit import audited, events_of, hidden, record, record_end
from core.store.sql.feed import history
from core.store.sql.gate_open import GRANTS_USED
from core.store.sql.grants import count_failures, in_thread, own_grants, refusal_while_paused, use
from core.store.sql.inbox import lead_to_turn, take_steering
from core.store.sql.mapping import CALL, CALL_FROM, call_of
from core.store.sql.people import known_user
from core.store.sql.recovery import hold
from core.store.sql.turns import (
    append,
    keep_models,
    models_of,
    outcome_of,
    progress,
    require_running,
)
from core.store.sql.usage import reserve_ahead
from core.store.units import Facet, Row, Transaction, reads, writes
from core.tool import ProcessInfo, UseLimit
from core.transcript import AssistantSaid, Entry, Note, Said, Summary, ToolCalled, ToolResult, UserSaid
from core.usage import CallKind, Payer, Reservation

_DELEGATED = "p.turn_id = ?1 AND p.seq > ?2"
_RAN = "(c.status IN ('ok', 'error', 'unknown') OR c.state IN ('running', 'unknown'))"
"""The condition that a call ran, or may have run."""


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
        turns.stop_subtask(tx, result.call_id)
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
    more_rounds, more_tools = used_by_subtasks(tx, turn_id, budget_from)
    return LoopUsed(rounds + more_rounds, _tools_run(tx, turn_id, budget_from) + more_tools, spent_us)


def used_by_subtasks(tx: Transaction, run_id: str, after_seq: int = 0) -> tuple[int, int]:
    """Return the rounds and calls of a run's subtasks, which count as its own. A subtask is a round, too."""
    row = tx.one(
        f"SELECT (SELECT count(*) FROM calls p JOIN runs s ON s.id = p.id WHERE {_DELEGATED})"
        " + count(DISTINCT c.turn_id || ' ' || c.round),"
        f" coalesce(sum(CASE WHEN {_RAN} THEN 1 ELSE 0 END), 0)"
        f" FROM calls p JOIN calls c ON c.turn_id = p.id WHERE {_DELEGATED}",
        run_id,
        after_seq,
    )
    return (0, 0) if row is None else (row[0], row[1])


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
        f"SELECT count(*) FROM calls c WHERE c.turn_id = ? AND c.seq > ? AND {_RAN}",
        turn_id,
        budget_from,
    )
    return 0 if row is None else row[0]


def _decided(tx: Transaction, turn_id: str, kind: GateKind) -> Option | None:
    row = tx.one(
        "SELECT outcome FROM gates WHERE turn_id = ? AND kind = ? ORDER BY created_at DESC LIMIT 1",
        turn_id,
        kind.value,
    )
    return None if row is None or row[0] is None else Option(row[0])


def record_reply(
    tx: Transaction,
    turn_id: str,
    reply: AssistantSaid,
    calls: Sequence[NewCall],
    refused: Sequence[ToolResult],
) -> None:
    """Journal a reply of a run with the calls it asks for, and the outcomes of the calls that are not run."""
    thread_id = progress(tx, turn_id)
    said: list[Said] = [reply]
    said.extend(ToolCalled(call.call_id, call.tool, call.arguments, call.reason) for call in calls)
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


def _reserved_next(tx: Transaction, run_id: str) -> Reservation | None:
    """Reserve the next model call once all calls of the round have their outcomes."""
    open_call = "SELECT 1 FROM calls WHERE turn_id = ? AND state <> 'ended' LIMIT 1"
    if tx.one(open_call, run_id) is not None:
        return None
    results = tx.all(
        "SELECT e.text FROM entries e JOIN runs r ON r.thread_id = e.thread_id AND r.id = ?1"
        " WHERE e.kind = 'result' AND e.seq >"
        " (SELECT min(c.seq) FROM calls c WHERE c.turn_id = ?1 AND c.round ="
        " (SELECT max(x.round) FROM calls x WHERE x.turn_id = ?1))",
        run_id,
    )
    return reserve_ahead(tx, payer_of(tx, run_id), [text for (text,) in results])


def payer_of(tx: Transaction, run_id: str) -> Payer:
    """Return what the model calls of a run are for. Those of a subtask are its run's."""
    row = tx.one(
        "SELECT r.kind, r.principal_id, r.thread_id, CASE r.kind WHEN 'routine' THEN t.scope"
        " ELSE j.routine_id END, c.turn_id FROM runs r JOIN threads t ON t.id = r.thread_id"
        " LEFT JOIN jobs j ON j.id = r.id LEFT JOIN calls c ON c.id = r.id WHERE r.id = ?",
        run_id,
    )
    if row is None:
        raise StaleTurn(f"there is no run {run_id}")
    kind, user_id, thread_id, routine_id, parent = row
    if parent is not None:
        return payer_of(tx, parent)
    return Payer(CallKind(kind), run_id, user_id, thread_id, routine_id)


def join_waiting(tx: Transaction, turn_id: str) -> Sequence[UserSaid]:
    """Journal the inputs that wait to join a running turn. They are new human input, so its budget is counted
    from here. Raises StaleTurn."""
    thread_id = require_running(tx, turn_id, heed_stop=True)
    row = tx.one(
        "SELECT r.principal_id, r.number, t.channel, t.address"
        " FROM runs r JOIN threads t ON t.id = r.thread_id WHERE r.id = ?",
        turn_id,
    )
    assert row is not None  # noqa: S101 - it has just been found running
    principal_id, number, channel, address = row
    taken = take_steering(tx, thread_id, principal_id, (channel, address))
    if taken is None:
        return ()
    append(tx, thread_id, turn_id, taken.said)
    lead_to_turn(tx, taken, turn_id, outcome_of(number))
    now = tx.clock.now()
    tx.run(
        "UPDATE runs SET budget_from = last_seq, spent_us = 0, running_since = ?, events = ?,"
        " reply_to = coalesce(?, reply_to) WHERE id = ?",
        now,
        encode([*events_of(tx, turn_id), *taken.keys]),
        taken.reply_to,
        turn_id,
    )
    tx.run("UPDATE threads SET last_active_at = ? WHERE id = ?", now, thread_id)
    return taken.said


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
            continued=_decided(tx, turn_id, GateKind.CONTINUE),
            models=models_of(tx, turn_id),
            budget=_decided(tx, turn_id, GateKind.BUDGET),
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
    def join_waiting(self, tx: Transaction, turn_id: str) -> Sequence[UserSaid]:
        return join_waiting(tx, turn_id)

    @writes
    def record_summary(
        self,
        tx: Transaction,
        turn_id: str,
        text: str,
        covers_to_seq: int | None,
        *,
        models: ModelTrace = NO_MODELS,
    ) -> Entry:
        thread_id = progress(tx, turn_id)
        last = tx.one("SELECT last_seq FROM threads WHERE id = ?", thread_id)
        covers = covers_to_seq if covers_to_seq is not None or last is None else last[0]
        said = Summary(storable(text), covers or 0)
        seq = append(tx, thread_id, turn_id, [said])
        if models != NO_MODELS:
            keep_models(tx, turn_id, models)
        return Entry(seq, turn_id, tx.clock.now(), said)

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
            "SELECT principal_id, stop_requested, kind FROM runs WHERE id = ? AND state = 'running'", turn_id
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
        said = in_thread(tx, principal_id, whose.thread_id or "")
        if row[2] != RunKind.CHAT:
            said = replace(said, own=own_grants(tx, turn_id))
        checked = refusal_while_paused(tx) or check(call, known_user(tx, principal_id), said)
        if not isinstance(checked, str) and limits:
            checked = too_often(use(tx, principal_id, call.tool, limits), call.tool) or checked
        if isinstance(checked, str):
            return checked
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
            **({GRANTS_USED: [grant.id for grant in checked]} if checked and call.answer is None else {}),
            **whose.detail,
        )
        return None

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
        self,
        tx: Transaction,
        turn_id: str,
        results: Sequence[ToolResult],
        *,
        started_at: int | None = None,
        unattended: bool = False,
    ) -> Reservation | None:
        finish_calls(tx, turn_id, results, started_at)
        if unattended:
            count_failures(tx, results)
        return _reserved_next(tx, turn_id)

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
