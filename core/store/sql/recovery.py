"""Recovery: the unfinished work of ended hubs, and how it continues; the leases of hubs; and the previews of
running turns.

At startup and when a lease has lapsed, in one transaction, of what no hub has in hand:
- Outbox rows that were being sent become ambiguous, finally so if their one repeat was
  interrupted. Changes of shown messages are queued again, since repeating them changes nothing.
- Previews whose replacement is settled are settled. The others stay, for their turns to continue
  with.
- Waiting parts of albums wait a little longer for the rest.
- Running calls that may be repeated (effect `none` or `idempotent`) return to their previous
  state.
- Model calls that no hub waits for any more are estimated from now on.
- Turns that a person had stopped end here, unless a call with an effect was interrupted in them.
- Running calls with an effect are reported: their outcome is unknown.
- The other running runs of every kind are in this hub's hand from now on. They are reported with their
  starts without progress and the crashes put down to them, as are idle threads with waiting input.

A preview is the outbox row of a running turn, whose text is never stored:

    streaming ──(the turn stops running, in that transaction)──▶ replaced

It is durable before its first request is sent, and so is its ref before it is shown again. A replaced preview
without a ref stays unsettled: a starting hub then has to find where it is shown, unless its replacement is
settled.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from dataclasses import replace

from core.errors import StaleTurn
from core.events import RunKind
from core.gates import Gate
from core.messages import Address
from core.ports import OutboxRow, Posted, SendState
from core.store.codecs import message_to_json, refs_from_json, refs_to_json
from core.store.lease import LeaseTerms
from core.store.rows import (
    SUSPECT_FROM,
    Draft,
    Recovery,
    RunningCall,
    TurnStart,
    TurnState,
    UnfinishedRun,
)
from core.store.sql import gate_open, turns
from core.store.sql.audit import seal_counts
from core.store.sql.gates import find_pressed
from core.store.sql.hooks import let_go
from core.store.sql.inbox import rejoin_albums
from core.store.sql.mapping import (
    ACTIVE,
    ACTIVE_TURN,
    CALL,
    CALL_COLUMNS,
    CALL_FROM,
    OUTBOX,
    PRINCIPAL,
    RUNNING,
    SPENT_SINCE,
    THREAD,
    call_of,
    not_held,
    outbox_of,
    principal_of,
    thread_of,
)
from core.store.sql.outbox import NEWEST_EVENT, NOTHING, give_back_sending, withdraw
from core.store.sql.turns import end_turn, started
from core.store.sql.usage import unanswered_of_ended_hubs
from core.store.units import Engine, Facet, Transaction, reads, writes

# --- units for senders --------------------------------------------------------------------------------


def begin(tx: Transaction, turn_id: str, channel: str, address: Address) -> OutboxRow | None:
    turn = tx.one("SELECT reply_to FROM runs WHERE id = ? AND state = 'running'", turn_id)
    if turn is None:
        return None
    row = tx.one(
        "UPDATE outbox SET attempts = attempts + 1, fence = ? WHERE turn_id = ? AND state = 'streaming'"
        f" RETURNING {OUTBOX}",
        tx.lease.fence,
        turn_id,
    )
    if row is not None:
        return outbox_of(row)
    now, nonce, message = tx.clock.now(), tx.ids.row_id(), replace(NOTHING, reply_to=turn[0])
    row_id = tx.insert(
        "INSERT INTO outbox (channel, address, message, state, settled, nonce, turn_id, attempts, created_at,"
        f" asked_at, fence, asked_after) VALUES (?, ?, ?, 'streaming', 0, ?, ?, 1, ?, ?, ?, {NEWEST_EVENT})",
        channel,
        address,
        message_to_json(message),
        nonce,
        turn_id,
        now,
        now,
        tx.lease.fence,
    )
    return OutboxRow(row_id, channel, address, message, SendState.STREAMING, nonce, attempts=1)


def record(tx: Transaction, row_id: int, posted: Posted | None) -> None:
    tx.run(
        "UPDATE outbox SET refs = ?, order_key = ?, sent_at = ?, asked_by = NULL,"
        " settled = CASE state WHEN 'replaced' THEN 1 ELSE 0 END,"
        " attempts = CASE WHEN ? THEN attempts ELSE 0 END"
        " WHERE id = ? AND state IN ('streaming', 'replaced')",
        refs_to_json(() if posted is None else (posted.ref,)),
        None if posted is None else posted.order_key,
        None if posted is None else tx.clock.now(),
        posted is not None,
        row_id,
    )


def shown(tx: Transaction, row_id: int) -> Posted | None:
    row = tx.one("SELECT refs, order_key FROM outbox WHERE id = ?", row_id)
    refs = () if row is None else refs_from_json(row[0])
    return None if row is None or not refs else Posted(refs[-1], row[1])


# --- recovery -----------------------------------------------------------------------------------------


def settle_replaced(tx: Transaction) -> None:
    """Settle previews whose replacement is settled. They must not be searched for: the message found
    could be the replacement."""
    tx.run(
        "UPDATE outbox SET settled = 1 WHERE settled = 0 AND state = 'replaced' AND"
        " (EXISTS (SELECT 1 FROM outbox n WHERE n.replaces = outbox.id AND n.settled = 1)"
        " OR EXISTS (SELECT 1 FROM outbox n WHERE n.edit_of = outbox.id AND n.settled = 1))"
    )


def _running_calls(tx: Transaction) -> tuple[RunningCall, ...]:
    rows = tx.all(
        f"SELECT {CALL}, {PRINCIPAL}, {THREAD} FROM {CALL_FROM}"
        " JOIN runs tn ON tn.id = c.turn_id JOIN users u ON u.id = tn.principal_id"
        f" JOIN threads t ON t.id = tn.thread_id {ACTIVE_TURN}"
        f" WHERE c.id IN (SELECT r.id FROM calls r WHERE r.state = 'running') AND {not_held('tn')}"
        " ORDER BY c.turn_id, c.seq"
    )
    return tuple(
        RunningCall(
            call_of(row[:CALL_COLUMNS]),
            thread_of(row[CALL_COLUMNS + 3 :]),
            principal_of(row[CALL_COLUMNS : CALL_COLUMNS + 3]),
        )
        for row in rows
    )


def _blame(tx: Transaction) -> None:
    """Put the crash of each hub down to the run it had in hand alone, or had started last as a suspect.

    What others had begun beside it, or had got on since its start, did not crash the hub as far as is known.
    A run's subtasks are a part of it.
    """
    in_hand = (
        f"FROM runs o WHERE o.state IN {ACTIVE} AND o.state = 'running' AND o.fence = runs.fence"
        " AND o.kind <> 'subtask'"
    )
    tx.run(
        f"UPDATE runs SET crashes = crashes + 1 WHERE {RUNNING} AND attempts > 0"
        f" AND fence IS NOT NULL AND {not_held('runs')} AND ((SELECT count(*) {in_hand}) = 1"
        f" OR attempts > ?1 AND NOT EXISTS (SELECT 1 {in_hand} AND o.attempts > ?1"
        " AND o.running_since > runs.running_since))",
        SUSPECT_FROM,
    )


def _end_stopped(tx: Transaction, cut_short: set[str]) -> None:
    stopped = tx.all(
        f"SELECT id, thread_id FROM runs WHERE {RUNNING} AND stop_requested = 1 AND {not_held('runs')}"
    )
    for turn_id, thread_id in stopped:
        if turn_id not in cut_short:
            end_turn(tx, thread_id, turn_id, TurnState.STOPPED)
            withdraw(tx, turn_id)


def resume(tx: Transaction, run_id: str) -> None:
    """Count one more start of a run that this hub has in hand. Raises StaleTurn if it does not.

    The time until the run's last journalled step counts as spent."""
    last_step = tx.one(
        "SELECT e.at FROM runs t JOIN entries e ON e.thread_id = t.thread_id AND e.seq = t.last_seq"
        " WHERE t.id = ?",
        run_id,
    )
    at = 0 if last_step is None else last_step[0]
    changed = tx.run(
        "UPDATE runs SET attempts = attempts + 1, running_since = ?, spent_us = spent_us +"
        f" {SPENT_SINCE}"
        " WHERE id = ? AND state = 'running' AND fence = ?",
        tx.clock.now(),
        at,
        at,
        run_id,
        tx.lease.fence,
    )
    if not changed:
        raise StaleTurn(f"run {run_id} is not running, or another hub's")


class RecoveryUnits(Facet):
    """The units of UnfinishedRuns."""

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
            f" AND turn_id IN (SELECT id FROM runs WHERE {RUNNING} AND {not_held('runs')})"
        )
        running_calls = _running_calls(tx)
        _end_stopped(tx, {running.call.turn_id for running in running_calls})
        _blame(tx)
        unanswered_of_ended_hubs(tx)
        runs = tx.all(
            f"SELECT id, kind, thread_id, attempts, crashes FROM runs WHERE {RUNNING}"
            f" AND {not_held('runs')} ORDER BY running_since, id"
        )
        tx.run(
            f"UPDATE runs SET fence = ? WHERE {RUNNING} AND {not_held('runs')}",
            tx.lease.fence,
        )
        # The end of a turn leaves an album alone that waits for its other parts.
        waiting = tx.all(
            "SELECT DISTINCT w.thread_id FROM inbox w WHERE w.outcome = 'waiting' AND w.thread_id IS NOT NULL"
            " AND (w.album IS NOT NULL"
            f" OR NOT EXISTS (SELECT 1 FROM runs a WHERE a.thread_id = w.thread_id AND a.state IN {ACTIVE}))"
            " ORDER BY w.thread_id"
        )
        return Recovery(
            running_calls,
            tuple(UnfinishedRun(row[0], RunKind(row[1]), *row[2:]) for row in runs),
            tuple(row[0] for row in waiting),
            previews,
        )

    @writes
    def resume_turn(self, tx: Transaction, turn_id: str) -> TurnStart:
        resume(tx, turn_id)
        return started(tx, turn_id)

    @writes
    def release_runs(self, tx: Transaction, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            tx.run(
                "UPDATE runs SET attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END,"
                " fence = NULL WHERE id = ? AND state = 'running'",
                run_id,
            )

    @writes
    def start_waiting(self, tx: Transaction, thread_id: str, next_turn_id: str) -> TurnStart | None:
        return turns.start_next(tx, thread_id, next_turn_id)

    @writes
    def mark_unknown(
        self, tx: Transaction, call_id: str, gate: Gate, cards: Sequence[Draft]
    ) -> tuple[OutboxRow, ...]:
        return gate_open.mark_unknown(tx, call_id, gate, cards)


# The leases of hubs. The engine refuses every write of a hub whose lease another has ended.


def end_lapsed(tx: Transaction) -> None:
    """End the leases of others that have lapsed: their hubs write nothing any more."""
    tx.run("DELETE FROM leases WHERE lease_until < ? AND fence <> ?", tx.clock.now(), tx.lease.fence)


async def hold(engine: Engine) -> None:
    """Return once this hub surely has its lease. Raises LeaseLost.

    Call it right before an effect outside: a process may have been suspended since its last write."""
    if engine.lease.fence and engine.clock.now() >= engine.lease.sure_until:
        await LeaseUnits(engine).renew_lease()


class LeaseUnits(Facet):
    """The units of Leases."""

    async def take_lease(self, terms: LeaseTerms) -> None:
        fence, now = await self._take(terms)
        self.engine.lease.taken(fence, terms, now)

    @writes
    def _take(self, tx: Transaction, terms: LeaseTerms) -> tuple[int, int]:
        if terms.alone:
            tx.run("DELETE FROM leases")
        now = tx.clock.now()
        until = now + terms.lasts_us
        row = tx.one(
            "INSERT INTO leases (host, taken_at, lease_until) VALUES (?, ?, ?) RETURNING fence",
            terms.host,
            now,
            until,
        )
        assert row is not None  # noqa: S101 - an insert returns its row
        seal_counts(tx)  # before this hub writes its first record
        return row[0], now

    async def renew_lease(self) -> None:
        self.engine.lease.renewed(await self._renew())

    @writes
    def _renew(self, tx: Transaction) -> int:
        now = tx.clock.now()
        tx.run("UPDATE leases SET lease_until = ? WHERE fence = ?", now + tx.lease.lasts_us, tx.lease.fence)
        tx.run("DELETE FROM undos WHERE expires_at <= ?", now)  # a promise of a moment, and one to forget
        return now

    @reads
    def has_lapsed(self, tx: Transaction) -> bool:
        lapsed = tx.one(
            "SELECT 1 FROM leases WHERE lease_until < ? AND fence <> ?", tx.clock.now(), tx.lease.fence
        )
        return lapsed is not None

    async def lease_lost(self) -> None:
        await self.engine.lease.lost.wait()
