"""Recovery of runs left unfinished by a stopped hub, and expiry of gates."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from core import texts
from core.clock import Clock
from core.consent import card_texts
from core.consent.cards import expired_text, open_card, reminder, settled_card, unknown_outcome_gate
from core.events import RunKind
from core.gates import Gate
from core.ids import Ids
from core.lazy import dataclass
from core.messages import plain
from core.people.notices import ApproverCopies
from core.ports import OutboxListener, OutboxRow
from core.runs.actors import AlbumCollector, ThreadActors
from core.store.lease import Leases
from core.store.port import Store, UnfinishedRuns
from core.store.rows import (
    REJOIN_US,
    SUSPECT_FROM,
    CallRow,
    Draft,
    GateView,
    RunningCall,
    TurnState,
    UnfinishedRun,
)
from core.store.units import patiently
from core.tool import ProcessInfo

logger = logging.getLogger(__name__)

CRASH_LIMIT = 3
"""The number of crashes without progress, put down to a run, after which it is set aside (P12)."""
SUSPECT_WAIT_S = 60.0

EndProcess = Callable[[ProcessInfo, str], Awaitable[bool]]
"""Ends a call's surviving child process (the second argument is the call id). Returns whether there
was one to end."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """The work that follows a recovery.

    `suspects`: runs that must be started one at a time once the hub runs.
    `previews`: previews of which nobody knows where they are shown.
    """

    suspects: tuple[UnfinishedRun, ...]
    previews: tuple[OutboxRow, ...]


class RunsOfKind(Protocol):
    """The runs of one kind, as far as their recovery differs from that of others."""

    async def asks_about(self, running: RunningCall) -> bool:
        """Ask a person about a call of unknown outcome, so that its run waits. Return False if runs of this
        kind ask nobody."""
        ...

    async def resume(self, run: UnfinishedRun) -> None:
        """Start a run again, or end it if it is not one that starts again."""
        ...

    async def join(self, run: UnfinishedRun, timeout_s: float) -> None:
        """Wait until a resumed run no longer runs, at most `timeout_s`."""
        ...

    async def set_aside(self, run: UnfinishedRun) -> None:
        """End a run that crashed the hub repeatedly, and notify its person."""
        ...


class RunRecovery:
    """The recovery of the runs that no hub has in hand: before any channel delivers, and when a lease has
    lapsed."""

    def __init__(
        self,
        store: UnfinishedRuns,
        kinds: Mapping[RunKind, RunsOfKind],
        start_waiting: Callable[[str], Awaitable[None]],
        end_process: EndProcess,
        clock: Clock,
    ) -> None:
        """Take the parts for recovery. `kinds`: those that this hub carries out; it leaves runs of others.
        `start_waiting`: starts a thread in which input waits."""
        self._store = store
        self._kinds = kinds
        self._start_waiting = start_waiting
        self._end_process = end_process
        self._clock = clock

    async def recover(self) -> Recovered:
        """Settle the calls that were cut short, then resume unfinished runs and start waiting turns."""
        found = await self._store.recover()
        mine = {run.run_id: run for run in found.runs if run.kind in self._kinds}
        if others := [run.run_id for run in found.runs if run.run_id not in mine]:
            await self._store.release_runs(others)
        waiting: set[str] = set()
        for running in found.running_calls:
            run = mine.get(running.call.turn_id)
            if run is not None and await self._asks_about(running, self._kinds[run.kind]):
                waiting.add(run.run_id)
        suspects: list[UnfinishedRun] = []
        for run in mine.values():
            if run.run_id in waiting:
                continue
            if run.crashes >= CRASH_LIMIT:
                await self._kinds[run.kind].set_aside(run)
            elif run.attempts >= SUSPECT_FROM:
                suspects.append(run)
            else:
                await self._kinds[run.kind].resume(run)
        for thread_id in found.threads_to_start:
            await self._start_waiting(thread_id)
        return Recovered(tuple(suspects), found.previews)

    async def start_suspects(self, recovered: Recovered) -> None:
        """Start runs that may have crashed the hub one at a time, with a limited wait for each."""
        for run in recovered.suspects:
            logger.warning("run.started_alone run=%s kind=%s starts=%d", run.run_id, run.kind, run.attempts)
            kind = self._kinds[run.kind]
            await patiently(partial(kind.resume, run), self._clock)
            await kind.join(run, SUSPECT_WAIT_S)

    async def _asks_about(self, running: RunningCall, kind: RunsOfKind) -> bool:
        """Settle an interrupted call. A surviving child process is ended first: it must not act after the
        person has checked, or after the call is recorded as over."""
        call = running.call
        if call.process is not None and await self._end_process(call.process, call.call_id):
            logger.warning("call.processes_stopped call=%s", call.call_id)
        return await kind.asks_about(running)


class ChatTurns:
    """Implementation of RunsOfKind for the turns of chats. `shown` returns a call's arguments as people see
    them."""

    def __init__(
        self,
        store: Store,
        actors: ThreadActors,
        listener: OutboxListener,
        clock: Clock,
        ids: Ids,
        gathering: AlbumCollector,
        shown: Callable[[CallRow], str],
    ) -> None:
        self._store = store
        self._actors = actors
        self._listener = listener
        self._clock = clock
        self._ids = ids
        self._gathering = gathering
        self._shown = shown

    async def asks_about(self, running: RunningCall) -> bool:
        call = running.call
        gate = unknown_outcome_gate(
            call,
            self._shown(call),
            running.thread.id,
            running.requester.user_id,
            self._clock.now(),
            self._ids,
        )
        card = Draft(
            running.thread.channel,
            running.thread.address,
            open_card(gate),
            self._ids.row_id(),
            gate_id=gate.id,
        )
        self._listener.outbox_ready(await self._store.recovery.mark_unknown(call.call_id, gate, [card]))
        return True

    async def resume(self, run: UnfinishedRun) -> None:
        self._actors.start(await self._store.recovery.resume_turn(run.run_id))

    async def join(self, run: UnfinishedRun, timeout_s: float) -> None:
        await self._actors.join(run.thread_id, timeout_s)

    async def set_aside(self, run: UnfinishedRun) -> None:
        thread = await self._store.threads.thread(run.thread_id)
        if thread is None:
            return
        logger.error("turn.set_aside turn=%s crashes=%d", run.run_id, run.crashes)
        notice = Draft(thread.channel, thread.address, plain(texts.CRASHED), self._ids.row_id())
        done = await self._store.turns.finish_turn_and_enqueue(
            run.run_id,
            TurnState.CRASHED,
            None,
            [notice],
            next_turn_id=self._ids.row_id(),
            error="crashed repeatedly",
        )
        self._listener.outbox_ready(done.outbox)
        if done.next is not None:
            self._actors.start(done.next)

    async def start_waiting(self, thread_id: str) -> None:
        """Start a turn on the input that waits in a thread, now or once it is complete."""
        started = await self._store.recovery.start_waiting(thread_id, self._ids.row_id())
        if started is not None:
            self._actors.start(started)
        else:  # parts of an album, which more parts may still join
            self._gathering.expect(thread_id, self._clock.now() + REJOIN_US)


class Subtasks:
    """Implementation of RunsOfKind for subtasks: the call of its run takes each up again."""

    async def asks_about(self, running: RunningCall) -> bool:
        del running
        return False

    async def resume(self, run: UnfinishedRun) -> None:
        pass

    async def join(self, run: UnfinishedRun, timeout_s: float) -> None:
        pass

    async def set_aside(self, run: UnfinishedRun) -> None:
        pass


# Gates do not wait forever: others are asked as well, people are reminded once, and an expired gate
# counts as not approved. All of this is stored, so a restart changes nothing.

CHECK_EVERY_S = 5.0


class GateExpiry:
    """A watcher of unanswered gates: it reminds people, asks others, and closes expired gates.

    Turns of expired gates resume. `editable`: whether a gate's call can be edited on its card."""

    def __init__(
        self,
        store: Store,
        actors: ThreadActors,
        listener: OutboxListener,
        clock: Clock,
        approver_copies: ApproverCopies,
        ids: Ids,
        editable: Callable[[Gate], bool],
    ) -> None:
        self._store = store
        self._actors = actors
        self._listener = listener
        self._clock = clock
        self._approver_copies = approver_copies
        self._ids = ids
        self._editable = editable

    async def look(self) -> None:
        """Do what is due by now. Raises StoreUnavailable: the next look finds the same gates."""
        await self.expire()
        await self.remind()
        await self.escalate()

    async def expire(self) -> None:
        """Close the gates that have expired."""
        expired = await self._store.gates.expire_gates(
            self._clock.now(), expired_text, lambda gate: settled_card(gate, expired_text(gate))
        )
        self._send(expired.outbox)
        for start in expired.started:
            self._actors.start(start)

    async def remind(self) -> None:
        """Remind people of gates that are about to expire."""
        now = self._clock.now()
        self._send(await self._store.gates.remind_gates(now, lambda gate: reminder(gate, now)))

    async def escalate(self) -> None:
        """Ask others as well about gates that stay undecided for a while."""
        for view in await self._store.gates.gates_to_escalate(self._clock.now()):
            gate, thread = view.gate, view.thread
            asked = replace(gate, rule=replace(gate.rule, escalated=True))
            cards = await self._approver_copies.direct(
                asked, gate.rule.escalate_to, thread, editable=self._editable(gate)
            )
            told = Draft(
                thread.channel,
                thread.address,
                plain(card_texts.escalated(gate.title, await self._names(view))),
                self._ids.row_id(),
            )
            self._send(await self._store.gates.escalate_gate(gate.id, cards, told))

    async def _names(self, view: GateView) -> list[str]:
        found = [await self._store.people.user(user_id) for user_id in view.gate.rule.escalate_to]
        return [user.name for user in found if user is not None]

    def _send(self, rows: tuple[OutboxRow, ...]) -> None:
        if rows:
            self._listener.outbox_ready(rows)


class LeaseKeeper:
    """Implementation of a hub's side of leases.

    `sending`: called with previews that an ended hub left, once its messages are to be read from the store.
    """

    def __init__(
        self,
        leases: Leases,
        recovery: RunRecovery,
        sending: Callable[[Sequence[OutboxRow]], None],
    ) -> None:
        self._leases = leases
        self._recovery = recovery
        self._sending = sending

    async def renew(self) -> None:
        """Renew the lease. Raises LeaseLost."""
        await self._leases.renew_lease()

    async def look(self) -> None:
        """Take over what hubs with lapsed leases had in hand. Raises StoreUnavailable."""
        if await self._leases.has_lapsed():
            logger.warning("lease.taking_over")
            recovered = await self._recovery.recover()
            self._sending(recovered.previews)
            await self._recovery.start_suspects(recovered)
