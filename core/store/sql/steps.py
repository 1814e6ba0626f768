"""The steps of a running turn: replies, calls and their outcomes, and loading the data of the next
step."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Callable, Sequence

from core.audit_chain import AuditKind
from core.errors import StaleTurn
from core.gates import Gate, GateKind, Option
from core.ports import OutboxRow
from core.store.engine import Facet, reads, writes
from core.store.rows import (
    CallRow,
    CallState,
    Draft,
    LoadedTurn,
    LoopUsed,
    NewCall,
    Recovery,
    RunCheck,
    RunningCall,
    TurnFinished,
    TurnStart,
    TurnState,
    UnfinishedTurn,
)
from core.store.sql import gate_open, turns
from core.store.sql.audit import hidden, record, record_end
from core.store.sql.gates import find_pressed
from core.store.sql.grants import in_thread
from core.store.sql.hooks import let_go
from core.store.sql.inbox import rejoin_albums
from core.store.sql.kill_switch import refusal_while_paused, use
from core.store.sql.leases import end_lapsed, hold, not_held
from core.store.sql.mapping import (
    ACTIVE,
    ACTIVE_TURN,
    CALL,
    CALL_COLUMNS,
    CALL_FROM,
    PRINCIPAL,
    SPENT_SINCE,
    THREAD,
    call_of,
    principal_of,
    thread_of,
)
from core.store.sql.outbox import give_back_sending
from core.store.sql.people import known_user
from core.store.sql.previews import settle_replaced, withdraw
from core.store.sql.turns import append, audited, end_turn, history, progress, started
from core.store.transaction import Row, Transaction
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


# Recovery: the unfinished work of ended hubs, and how it continues.
#
# At startup and when a lease has lapsed, in one transaction, of what no hub has in hand:
# - Outbox rows that were being sent become ambiguous, finally so if their one repeat was
#   interrupted. Changes of shown messages are queued again, since repeating them changes nothing.
# - Previews whose replacement is settled are settled. The others stay, for their turns to continue
#   with.
# - Waiting parts of albums wait a little longer for the rest.
# - Running calls that may be repeated (effect `none` or `idempotent`) return to their previous
#   state.
# - Turns that a person had stopped end here, unless a call with an effect was interrupted in them.
# - Running calls with an effect are reported: a person must be asked about each (`mark_unknown`).
# - The other running turns are reported with their number of starts without progress, and idle
#   threads with waiting input.


def _running_calls(tx: Transaction) -> tuple[RunningCall, ...]:
    rows = tx.all(
        f"SELECT {CALL}, {PRINCIPAL}, {THREAD} FROM {CALL_FROM}"
        " JOIN runs tn ON tn.id = c.turn_id JOIN users u ON u.id = tn.principal_id"
        f" JOIN threads t ON t.id = tn.thread_id {ACTIVE_TURN}"
        f" WHERE c.state = 'running' AND tn.kind = 'chat' AND {not_held('tn')} ORDER BY c.turn_id, c.seq"
    )
    return tuple(
        RunningCall(
            call_of(row[:CALL_COLUMNS]),
            thread_of(row[CALL_COLUMNS + 3 :]),
            principal_of(row[CALL_COLUMNS : CALL_COLUMNS + 3]),
        )
        for row in rows
    )


def _end_stopped(tx: Transaction, cut_short: set[str]) -> None:
    stopped = tx.all(
        "SELECT id, thread_id FROM runs WHERE state = 'running' AND stop_requested = 1"
        f" AND {not_held('runs')}"
    )
    for turn_id, thread_id in stopped:
        if turn_id not in cut_short:
            end_turn(tx, thread_id, turn_id, TurnState.STOPPED)
            withdraw(tx, turn_id)


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
    ) -> None:
        record_reply(tx, turn_id, reply, calls, refused)

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
        send_now: bool = False,
        meanwhile: Callable[[], None] | None = None,
    ) -> TurnFinished:
        return await self._engine.write(
            lambda tx: turns.finish(
                tx, turn_id, state, answer, messages, next_turn_id, error, send_now=send_now
            ),
            meanwhile=meanwhile,
        )


class RecoveryUnits(Facet):
    """The units of TurnRecovery."""

    @writes
    def recover(self, tx: Transaction) -> Recovery:
        end_lapsed(tx)
        find_pressed(tx)
        previews = give_back_sending(tx)
        settle_replaced(tx)
        rejoin_albums(tx)
        if not tx.policy.holds_inputs:
            let_go(tx)
        tx.run(
            "UPDATE calls SET state = CASE WHEN answer IS NULL THEN 'intent' ELSE 'approved' END"
            " WHERE state = 'running' AND effect <> 'effect'"
            f" AND turn_id IN (SELECT r.id FROM runs r WHERE r.state = 'running' AND {not_held('r')})"
        )
        running_calls = _running_calls(tx)
        cut_short = {running.call.turn_id for running in running_calls}
        _end_stopped(tx, cut_short)
        turns = tx.all(
            "SELECT id, thread_id, attempts FROM runs WHERE state = 'running' AND kind = 'chat'"
            f" AND {not_held('runs')} ORDER BY running_since, id"
        )
        tx.run(
            f"UPDATE runs SET fence = ? WHERE state = 'running' AND kind = 'chat' AND {not_held('runs')}",
            tx.lease.fence,
        )
        idle = tx.all(
            "SELECT DISTINCT w.thread_id FROM inbox w WHERE w.outcome = 'waiting' AND w.thread_id IS NOT NULL"
            f" AND NOT EXISTS (SELECT 1 FROM runs a WHERE a.thread_id = w.thread_id AND a.state IN {ACTIVE})"
            " ORDER BY w.thread_id"
        )
        return Recovery(
            running_calls,
            tuple(UnfinishedTurn(*row) for row in turns if row[0] not in cut_short),
            tuple(row[0] for row in idle),
            previews,
        )

    @writes
    def resume_turn(self, tx: Transaction, turn_id: str) -> TurnStart:
        """The time until the turn's last journalled step counts as spent."""
        last_step = tx.one(
            "SELECT e.at FROM runs t JOIN entries e ON e.thread_id = t.thread_id AND e.seq = t.last_seq"
            " WHERE t.id = ?",
            turn_id,
        )
        at = 0 if last_step is None else last_step[0]
        changed = tx.run(
            "UPDATE runs SET attempts = attempts + 1, running_since = ?, fence = ?, spent_us = spent_us +"
            f" {SPENT_SINCE}"
            " WHERE id = ? AND state = 'running'",
            tx.clock.now(),
            tx.lease.fence,
            at,
            at,
            turn_id,
        )
        if not changed:
            raise StaleTurn(f"turn {turn_id} is not running")
        return started(tx, turn_id)

    @writes
    def release_turns(self, tx: Transaction, turn_ids: Sequence[str]) -> None:
        for turn_id in turn_ids:
            tx.run(
                "UPDATE runs SET attempts = attempts - 1 WHERE id = ? AND state = 'running' AND attempts > 0",
                turn_id,
            )

    @writes
    def start_waiting(self, tx: Transaction, thread_id: str, next_turn_id: str) -> TurnStart | None:
        return turns.start_next(tx, thread_id, next_turn_id)

    @writes
    def mark_unknown(
        self, tx: Transaction, call_id: str, gate: Gate, cards: Sequence[Draft]
    ) -> tuple[OutboxRow, ...]:
        return gate_open.mark_unknown(tx, call_id, gate, cards)
