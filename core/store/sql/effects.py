"""Execution of a verdict's effects, in order, in the transaction that accepts its event."""

from typing import TYPE_CHECKING, assert_never

from core.lazy_module import LazyModule
from core.messages import ChoiceAnswer, InboundMessage
from core.ports import OutboxRow
from core.store.accept import WAITING
from core.store.effects import (
    CastVote,
    CloseGate,
    EditCall,
    Effect,
    FireRoutine,
    ForgetCredentials,
    GrantToRoutine,
    NoteWrongCode,
    OfferLink,
    PauseRoutine,
    PauseTools,
    QueueInput,
    RebindThread,
    RecordGrant,
    RevokeGrant,
    Say,
    SayAtTimes,
    SetApprovals,
    SetSecrets,
    SetTimezone,
    StopThread,
    TakeAwayMessage,
)
from core.store.facets import HELD
from core.store.pairing import PairingApproved
from core.store.rows import Draft, ThreadRow, TurnStart, TurnState
from core.store.sql import credentials, gates, grants, kill_switch, memory, pairing, people, strangers
from core.store.sql.inbox import begin, input_of, lead_there, title_of
from core.store.sql.outbox import take_away_received
from core.store.sql.turns import end_turn, may_start, outcome_of, start_turn, thread
from core.store.transaction import Transaction
from core.store.wakes import InputWaiting, RunStopped
from core.users import Principal

if TYPE_CHECKING:
    from core.store.sql import routine_definitions, routine_guardrails
else:
    routine_guardrails = LazyModule("core.store.sql.routine_guardrails")
    routine_definitions = LazyModule("core.store.sql.routine_definitions")


STOPPED = "stopped"


class Effects:
    """An executor of effects. It records the work left for the hub once they are committed.

    `outcome`: None unless an effect decides it.
    `said`: messages to the event's own conversation, and `elsewhere`: to others. They are put into
    the outbox when the event itself is recorded.
    """

    def __init__(
        self,
        tx: Transaction,
        event: InboundMessage | ChoiceAnswer,
        principal: Principal,
        on: ThreadRow | None,
        *,
        waiting: int,
    ) -> None:
        self._tx = tx
        self._event = event
        self._principal = principal
        self._thread = on
        self._waiting = waiting
        self.outcome: str | None = None
        self.turn_id: str | None = None
        self.wait_until = 0
        self.started: TurnStart | None = None
        self.card_changes: list[OutboxRow] = []
        self.said: list[Draft] = []
        self.to_others: list[Draft] = []

    @property
    def thread_id(self) -> str | None:
        """The thread the event belongs to, if any."""
        return None if self._thread is None else self._thread.id

    def apply(self, effect: Effect) -> None:
        """Apply one effect."""
        match effect:
            case QueueInput():
                self._queue_input(effect)
            case RebindThread(new_thread_id):
                self._thread, self._waiting = self._new_thread(new_thread_id, ""), 0
            case StopThread(outcome_text):
                self._stop(outcome_text)
            case EditCall():
                self.card_changes.extend(gates.edit(self._tx, effect, self._principal))
            case CastVote(gate_id, answer):
                gates.cast_vote(self._tx, gate_id, self._principal, answer)
            case CloseGate():
                self._close_gate(effect)
            case (
                RecordGrant()
                | RevokeGrant()
                | SetApprovals()
                | SetTimezone()
                | SetSecrets()
                | ForgetCredentials()
                | PauseTools()
            ):
                self._keep(effect)
            case Say() | SayAtTimes() | TakeAwayMessage():
                self._tell(effect)
            case OfferLink() | NoteWrongCode() | PairingApproved():
                self._admit_others(effect)
            case _:
                self._routine(effect)

    def _routine(self, effect: FireRoutine | PauseRoutine | GrantToRoutine) -> None:
        match effect:
            case FireRoutine(run):
                routine_guardrails.claim(self._tx, run)
            case PauseRoutine(routine_id, because):
                routine_definitions.switch(
                    self._tx, routine_id, enabled=False, next_slot_at=None, because=because
                )
            case GrantToRoutine():
                routine_definitions.grant_to(self._tx, effect, self._principal.user_id)
            case _:
                assert_never(effect)

    def _keep(
        self,
        effect: RecordGrant
        | RevokeGrant
        | SetApprovals
        | SetTimezone
        | SetSecrets
        | ForgetCredentials
        | PauseTools,
    ) -> None:
        match effect:
            case RevokeGrant(grant_id):
                grants.revoke_grant(self._tx, grant_id, self._principal.user_id)
            case SetApprovals(thread_id, settings):
                if thread_id is None:
                    grants.set_person_approvals(self._tx, self._principal.user_id, settings)
                else:
                    grants.set_thread_approvals(self._tx, thread_id, settings, self._principal.user_id)
            case SetTimezone(timezone):
                people.set_timezone(self._tx, self._principal.user_id, timezone)
            case RecordGrant(grant):
                grants.record_grant(self._tx, grant)
            case SetSecrets(sealed):
                memory.keep(self._tx, sealed, self._principal.user_id)
            case ForgetCredentials(gate_ids):
                credentials.forget(self._tx, gate_ids)
            case PauseTools(paused):
                kill_switch.pause_tools(self._tx, self._principal.user_id, paused=paused)
            case _:
                assert_never(effect)

    def _tell(self, effect: Say | SayAtTimes | TakeAwayMessage) -> None:
        if isinstance(effect, TakeAwayMessage):
            self._take_away(effect.hint)
        else:
            self._say(effect)

    def _take_away(self, hint: str) -> None:
        event = self._event
        if isinstance(event, InboundMessage) and event.ref is not None:
            row = take_away_received(self._tx, event.channel, event.address, event.ref, hint)
            self.card_changes.append(row)

    def _say(self, effect: Say | SayAtTimes) -> None:
        event = self._event
        if isinstance(effect, SayAtTimes) and not strangers.may_tell(
            self._tx, event.channel, event.sender, effect.reason, effect.again_after_us
        ):
            return
        message = effect.message
        self.said.append(Draft(event.channel, event.address, message, self._tx.ids.row_id(), message.gate_id))

    def _admit_others(self, effect: OfferLink | NoteWrongCode | PairingApproved) -> None:
        event = self._event
        match effect:
            case OfferLink():
                user_id = self._principal.user_id
                pairing.offer_link(self._tx, user_id, event.channel, event.sender, event.address, effect)
            case NoteWrongCode():
                pairing.note_wrong_code(self._tx, pairing.guesser_of(event.channel, event.sender))
            case PairingApproved():
                self.to_others.append(pairing.approve_pairing(self._tx, effect))
            case _:
                assert_never(effect)

    # --- input -----------------------------------------------------------------------------------------

    def _queue_input(self, effect: QueueInput) -> None:
        event = self._event
        if not isinstance(event, InboundMessage):
            raise TypeError("only a message can be input")
        if self._thread is None:
            adopted = effect.adopt and self._adopt(effect.new_thread_id)
            self._thread = adopted or self._new_thread(effect.new_thread_id, title_of(event.text))
        elif not self._thread.title and (title := title_of(event.text)):
            self._tx.run("UPDATE threads SET title = ? WHERE id = ?", title, self._thread.id)
        on = self._thread
        if self._tx.policy.holds_inputs or effect.wait_us:
            held = self._tx.policy.holds_inputs
            self.wait_until = HELD if held else self._tx.clock.now() + effect.wait_us
            self._tx.changes.wakes.append(InputWaiting(on.id, self.wait_until))
            self.outcome = WAITING
            return
        if on.active_turn_id is not None or self._waiting:
            self.outcome = WAITING
            return
        said = input_of((event.text,), event.attachments, event.sender.name, direct=event.direct)
        reply_to = None if event.direct else event.ref
        start = start_turn(
            self._tx,
            on,
            self._principal,
            effect.turn_id,
            (said,),
            event.channel,
            event.address,
            reply_to,
            events=(event.key,),
        )
        self.started = may_start(self._tx, start)
        self.turn_id, self.outcome = start.turn_id, outcome_of(start)
        self._thread = start.thread

    def _adopt(self, thread_id: str) -> ThreadRow:
        lead_there(self._tx, self._event, self._principal.user_id, thread_id)
        return thread(self._tx, thread_id)

    def _new_thread(self, thread_id: str, title: str) -> ThreadRow:
        return begin(self._tx, self._event, self._principal.user_id, thread_id, title)

    # --- control ---------------------------------------------------------------------------------------

    def _stop(self, outcome_text: str) -> None:
        on = self._thread
        if on is None:
            return
        self._tx.run(
            "UPDATE inbox SET outcome = ? WHERE thread_id = ? AND outcome = 'waiting'", STOPPED, on.id
        )
        self._waiting = 0
        if on.active_turn_id is None:
            return
        if on.active_turn_state is TurnState.RUNNING:
            self._tx.run("UPDATE runs SET stop_requested = 1 WHERE id = ?", on.active_turn_id)
            self._tx.changes.wakes.append(RunStopped(on.active_turn_id))
            return
        end_turn(self._tx, on.id, on.active_turn_id, TurnState.STOPPED)
        self.card_changes.extend(gates.cancel_of_turn(self._tx, on.active_turn_id, outcome_text))
        self._thread = thread(self._tx, on.id)

    def _close_gate(self, effect: CloseGate) -> None:
        gates.cast_vote(self._tx, effect.gate_id, self._principal, effect.outcome)
        closed = gates.close(
            self._tx,
            effect.gate_id,
            effect.outcome,
            effect.outcome_text,
            effect.card,
            self._principal,
        )
        if closed is None:
            return
        self.card_changes.extend(closed.outbox)
        if closed.started is not None:
            self.started = closed.started
