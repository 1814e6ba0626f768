"""Recovery of runs left unfinished by a stopped hub, and expiry of gates."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from core import texts
from core.clock import Clock
from core.consent import card_texts
from core.consent.cards import expired_text, open_card, reminder, settled_card, unknown_outcome_gate
from core.gates import Gate
from core.ids import Ids
from core.messages import plain
from core.people.notices import ApproverCopies
from core.ports import OutboxRow
from core.runs.actors import ThreadActors
from core.store.port import Store
from core.store.rows import (
    SUSPECT_FROM,
    CallRow,
    Draft,
    GateView,
    RunningCall,
    TurnState,
    UnfinishedTurn,
)
from core.store.units import patiently
from core.tool import ProcessInfo

logger = logging.getLogger(__name__)

CRASH_LIMIT = 3
"""The number of crashes without progress, put down to a turn, after which it is set aside (P12)."""
SUSPECT_WAIT_S = 60.0

EndProcess = Callable[[ProcessInfo, str], Awaitable[bool]]
"""Ends a call's surviving child process (the second argument is the call id). Returns whether there
was one to end."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What follows a recovery.

    `suspects`: turns that must be started one at a time once the hub runs.
    `previews`: previews of which nobody knows where they are shown.
    """

    suspects: tuple[UnfinishedTurn, ...]
    previews: tuple[OutboxRow, ...]


class RunRecovery:
    """The recovery of what no hub has in hand: before any channel delivers, and when a lease has lapsed."""

    def __init__(
        self,
        store: Store,
        actors: ThreadActors,
        end_process: EndProcess,
        clock: Clock,
        ids: Ids,
        shown: Callable[[CallRow], str],
    ) -> None:
        """Take the parts for recovery. `shown` returns a call's arguments as people see them."""
        self._store = store
        self._actors = actors
        self._end_process = end_process
        self._clock = clock
        self._ids = ids
        self._shown = shown

    async def recover(self) -> Recovered:
        """Mark interrupted effects as unknown, then start unfinished and waiting turns."""
        found = await self._store.recovery.recover()
        for running in found.running_calls:
            await self._ask_about(running)
        suspects: list[UnfinishedTurn] = []
        for turn in found.turns:
            if turn.crashes >= CRASH_LIMIT:
                await self._set_aside(turn)
            elif turn.attempts >= SUSPECT_FROM:
                suspects.append(turn)
            else:
                self._actors.start(await self._store.recovery.resume_turn(turn.turn_id))
        for thread_id in found.idle_threads_with_input:
            await self._start_waiting(thread_id)
        return Recovered(tuple(suspects), found.previews)

    async def start_suspects(self, recovered: Recovered) -> None:
        """Start turns that may have crashed the hub one at a time, with a limited wait for each."""
        for turn in recovered.suspects:
            logger.warning("turn.started_alone turn=%s crashes=%d", turn.turn_id, turn.attempts)
            start = await patiently(
                lambda turn_id=turn.turn_id: self._store.recovery.resume_turn(turn_id), self._clock
            )
            self._actors.start(start)
            await self._actors.join(turn.thread_id, SUSPECT_WAIT_S)

    async def _ask_about(self, running: RunningCall) -> None:
        """Ask about an interrupted call. A surviving child process is ended first: it must not act after the
        person has checked."""
        call = running.call
        if call.process is not None and await self._end_process(call.process, call.call_id):
            logger.warning("call.processes_stopped call=%s", call.call_id)
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
        await self._store.recovery.mark_unknown(call.call_id, gate, [card])

    async def _set_aside(self, turn: UnfinishedTurn) -> None:
        thread = await self._store.threads.thread(turn.thread_id)
        if thread is None:
            return
        logger.error("turn.set_aside turn=%s crashes=%d", turn.turn_id, turn.crashes)
        notice = Draft(thread.channel, thread.address, plain(texts.CRASHED), self._ids.row_id())
        await self._store.turns.finish_turn_and_enqueue(
            turn.turn_id,
            TurnState.CRASHED,
            None,
            [notice],
            next_turn_id=self._ids.row_id(),
            error="crashed repeatedly",
        )

    async def _start_waiting(self, thread_id: str) -> None:
        started = await self._store.recovery.start_waiting(thread_id, self._ids.row_id())
        if started is not None:
            self._actors.start(started)


# Gates do not wait forever: others are asked as well, people are reminded once, and an expired gate
# counts as not approved. All of this is stored, so a restart changes nothing.

CHECK_EVERY_S = 5.0


class GateExpiry:
    """A watcher of unanswered gates: it reminds people, asks others, and closes expired gates.

    Turns of expired gates resume. `editable`: whether a gate's call can be edited on its card."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        approver_copies: ApproverCopies,
        ids: Ids,
        editable: Callable[[Gate], bool],
    ) -> None:
        self._store = store
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
        await self._store.gates.expire_gates(
            self._clock.now(), expired_text, lambda gate: settled_card(gate, expired_text(gate))
        )

    async def remind(self) -> None:
        """Remind people of gates that are about to expire."""
        now = self._clock.now()
        await self._store.gates.remind_gates(now, lambda gate: reminder(gate, now))

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
            await self._store.gates.escalate_gate(gate.id, cards, told)

    async def _names(self, view: GateView) -> list[str]:
        found = [await self._store.people.user(user_id) for user_id in view.gate.rule.escalate_to]
        return [user.name for user in found if user is not None]
