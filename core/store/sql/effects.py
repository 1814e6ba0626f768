"""Execution of a verdict's effects, in order, in the transaction that accepts its event."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from core.lazy import LazyModule
from core.messages import ChoiceAnswer, InboundMessage, plain
from core.ports import OutboxRow
from core.store.accept import WAITING
from core.store.accounts import MemberInvited, PairingApproved
from core.store.codecs import storable
from core.store.effects import (
    Automation,
    AwaitCode,
    BranchThread,
    CancelJob,
    CastVote,
    Choosing,
    ClearThread,
    CloseGate,
    CloseThread,
    CompactThread,
    Confided,
    ContinueTurn,
    DeleteThread,
    EditCall,
    Effect,
    FireRoutine,
    ForgetCredentials,
    GrantToRoutine,
    JobEffect,
    JudgeJob,
    NoteWrongCode,
    OfferLink,
    OpenMenu,
    PauseRoutine,
    PauseTools,
    QueueInput,
    RebindThread,
    RecordGrant,
    RedoTurns,
    RenameThread,
    RetryTurn,
    RevokeGrant,
    Rewind,
    Say,
    SayAtTimes,
    SetApprovals,
    SetSecrets,
    SetThread,
    SetTimezone,
    SettleMenu,
    ShowJobs,
    StartJob,
    StopThread,
    SwitchThread,
    TakeAwayMessage,
    TakeCode,
    TellJob,
    UndoTurns,
    UseExtensions,
)
from core.store.facets import HELD
from core.store.rows import Draft, ThreadRow, TurnStart, TurnState
from core.store.sql import extensions, gates, grants, memory, menus, pairing, people, strangers, threads
from core.store.sql.inbox import begin, input_of, lead_to, title_of
from core.store.sql.outbox import take_away_received
from core.store.sql.turns import end_turn, outcome_of, start_turn, thread
from core.store.units import Transaction
from core.transcript import Note, UserSaid
from core.users import Principal, ThreadKey

if TYPE_CHECKING:
    from core.store.sql import extensions, job_views, jobs, routine_definitions, routine_guardrails
else:
    extensions = LazyModule("core.store.sql.extensions")
    job_views = LazyModule("core.store.sql.job_views")
    jobs = LazyModule("core.store.sql.jobs")
    routine_guardrails = LazyModule("core.store.sql.routine_guardrails")
    routine_definitions = LazyModule("core.store.sql.routine_definitions")


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
        self.wait_until: int | None = None
        self.steers = False
        self.started: TurnStart | None = None
        self.stopped_turn_id: str | None = None
        self.paused: bool | None = None
        self.card_changes: list[OutboxRow] = []
        self.said: list[Draft] = []
        self.to_others: list[Draft] = []
        self.routines: list[str] = []

    @property
    def thread_id(self) -> str | None:
        """The thread the event belongs to, if any."""
        return None if self._thread is None else self._thread.id

    def apply(self, effect: Effect) -> None:
        """Apply one effect."""
        match effect:
            case QueueInput():
                self._queue_input(effect)
            case RebindThread() | SwitchThread() | CloseThread() | RenameThread() | DeleteThread():
                self._choose(effect)
            case (
                StopThread()
                | UndoTurns()
                | RedoTurns()
                | ClearThread()
                | RetryTurn()
                | ContinueTurn()
                | CompactThread()
                | BranchThread()
            ):
                self._control(effect)
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
                | SetThread()
                | SetTimezone()
                | SetSecrets()
                | ForgetCredentials()
                | AwaitCode()
                | TakeCode()
                | PauseTools()
            ):
                self._keep(effect)
            case OpenMenu() | Say() | SayAtTimes() | TakeAwayMessage() | SettleMenu():
                self._tell(effect)
            case OfferLink() | NoteWrongCode() | PairingApproved() | MemberInvited():
                self._admit_others(effect)
            case _:
                self._automate(effect)

    def _automate(self, effect: Automation) -> None:
        match effect:
            case UseExtensions():
                self._say(Say(plain(extensions.use(self._tx, effect, self._principal.user_id))))
            case StartJob() | CancelJob() | TellJob() | JudgeJob() | ShowJobs():
                self._job(effect)
            case FireRoutine(run):
                routine = routine_definitions.by_id(self._tx, run.routine_id)
                if routine_guardrails.claim(self._tx, routine, run).run_id is not None:
                    self.routines.append(run.routine_id)
            case PauseRoutine(routine_id, because):
                routine_definitions.switch(
                    self._tx, routine_id, enabled=False, next_slot_at=None, because=because
                )
                self.routines.append(routine_id)
            case GrantToRoutine():
                routine_definitions.grant_to(self._tx, effect, self._principal.user_id)
                self.routines.append(effect.routine_id)
            case _:
                assert_never(effect)

    def _job(self, effect: JobEffect) -> None:
        if isinstance(effect, StartJob) and effect.new.thread_id is None:
            if self._thread is None:
                self._thread = self._new_thread(self._tx.ids.row_id(), effect.new.title)
            effect = replace(effect, new=replace(effect.new, thread_id=self._thread.id))
        if self._thread is None and isinstance(self._event, ChoiceAnswer):  # where its buttons are
            there = jobs.conversation(self._tx, self._event.gate_id)
            self._thread = None if there is None else thread(self._tx, there)
        said = jobs.answer(self._tx, effect, self._principal.user_id)
        message = plain(said) if isinstance(said, str) else said
        event = self._event
        starts = isinstance(effect, StartJob)
        job_id = job_views.unshown(self._tx, message.gate_id) if starts else None
        draft = Draft(event.channel, event.address, message, self._tx.ids.row_id(), job_id=job_id)
        self.said.append(draft)

    def _keep(
        self,
        effect: RecordGrant | RevokeGrant | SetApprovals | SetThread | SetTimezone | PauseTools | Confided,
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
                user_id = self._principal.user_id
                people.set_preferences(self._tx, user_id, lambda was: replace(was, timezone=timezone))
            case SetThread(thread_id, settings):
                self._tx.run(
                    "UPDATE threads SET verbosity = ?, model = ?, thinking = ? WHERE id = ?",
                    settings.verbosity,
                    settings.chosen.model,
                    settings.chosen.thinking,
                    thread_id,
                )
            case RecordGrant(grant):
                grants.record_grant(self._tx, grant)
            case SetSecrets() | ForgetCredentials() | AwaitCode() | TakeCode():
                self._confide(effect)
            case PauseTools(paused):
                grants.pause_tools(self._tx, self._principal.user_id, paused=paused)
                self.paused = paused
            case _:
                assert_never(effect)

    def _confide(self, effect: Confided) -> None:
        match effect:
            case SetSecrets(sealed):
                memory.keep(self._tx, sealed, self._principal.user_id)
            case ForgetCredentials(gate_ids):
                menus.forget(self._tx, gate_ids)
            case AwaitCode(gate_id):
                extensions.await_code(self._tx, gate_id)
            case TakeCode(gate_id, code):
                extensions.take_code(self._tx, gate_id, code)
            case _:
                assert_never(effect)

    def _tell(self, effect: OpenMenu | Say | SayAtTimes | TakeAwayMessage | SettleMenu) -> None:
        match effect:
            case TakeAwayMessage(hint):
                self._take_away(hint)
            case SettleMenu(menu_id, outcome):
                self.card_changes.extend(menus.settle(self._tx, menu_id, outcome))
            case OpenMenu(_, _, message):
                event = self._event
                menus.open_menu(self._tx, effect, self._principal.user_id, self.thread_id, event)
                # No gate has its id, so none of its messages is a card.
                self.said.append(Draft(event.channel, event.address, message, self._tx.ids.row_id()))
            case Say() | SayAtTimes():
                self._say(effect)
            case _:
                assert_never(effect)

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
        gate_id = None if message.speaks else message.gate_id
        self.said.append(Draft(event.channel, event.address, message, self._tx.ids.row_id(), gate_id))

    def _admit_others(self, effect: OfferLink | NoteWrongCode | PairingApproved | MemberInvited) -> None:
        event, user_id = self._event, self._principal.user_id
        match effect:
            case MemberInvited():
                pairing.invite(self._tx, effect, user_id)
            case OfferLink():
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
        if self._tx.policy.holds_inputs:
            self.wait_until, self.outcome, self.steers = HELD, WAITING, effect.steers
            return
        if effect.wait_us:
            self.wait_until = self._tx.clock.now() + effect.wait_us
        if on.active_turn_id is not None or self._waiting or effect.wait_us:
            self.outcome, self.steers = WAITING, effect.steers
            return
        said = input_of((event.text,), event.attachments, event.sender.name, direct=event.direct)
        self.outcome = outcome_of(self._start(on, effect.turn_id, (said,)).number)

    def _start(
        self, on: ThreadRow, turn_id: str, said: Sequence[UserSaid | Note], said_at: int | None = None
    ) -> TurnStart:
        event = self._event
        quoted = event.ref if isinstance(event, InboundMessage) and not event.direct else None
        start = start_turn(
            self._tx,
            on,
            self._principal,
            turn_id,
            said,
            event.channel,
            event.address,
            quoted,
            events=(event.key,),
            said_at=said_at,
        )
        self.started, self.turn_id, self._thread = start, start.turn_id, start.thread
        return start

    def _adopt(self, thread_id: str) -> ThreadRow:
        event = self._event
        scope = event.scope if isinstance(event, InboundMessage) else None
        lead_to(self._tx, ThreadKey(self._principal.user_id, event.channel, scope), thread_id)
        return thread(self._tx, thread_id)

    def _new_thread(self, thread_id: str, title: str) -> ThreadRow:
        return begin(self._tx, self._event, self._principal.user_id, thread_id, title)

    # --- control ---------------------------------------------------------------------------------------

    def _stop(self, outcome_text: str) -> None:
        on = self._thread
        if on is None:
            return
        self._tx.run(
            "UPDATE inbox SET outcome = 'stopped' WHERE thread_id = ? AND outcome = 'waiting'", on.id
        )
        self._waiting = 0
        if on.active_turn_id is None:
            return
        if on.active_turn_state is TurnState.RUNNING:
            self._tx.run("UPDATE runs SET stop_requested = 1 WHERE id = ?", on.active_turn_id)
            self.stopped_turn_id = on.active_turn_id
            return
        end_turn(self._tx, on.id, on.active_turn_id, TurnState.STOPPED)
        self.card_changes.extend(gates.cancel_of_turn(self._tx, on.active_turn_id, outcome_text))
        self._thread = thread(self._tx, on.id)

    def _control(self, effect: StopThread | Rewind) -> None:
        if isinstance(effect, StopThread):
            self._stop(effect.outcome_text)
            return
        tx, on = self._tx, self._thread
        if on is None or on.active_turn_id is not None:
            raise LookupError("no conversation is at rest here")
        match effect:
            case UndoTurns(turns):
                self.card_changes.extend(threads.undo(tx, on.id, turns))
            case RedoTurns():
                self.card_changes.extend(threads.redo(tx, on.id))
            case ClearThread():
                self.card_changes.extend(threads.clear(tx, on.id))
            case RetryTurn(turn_id):
                again = threads.newest_input(tx, on.id)
                self.card_changes.extend(threads.undo(tx, on.id, 1))
                self._start(on, turn_id, again.said, again.at)
            case ContinueTurn(turn_id, note):
                self._start(on, turn_id, (Note(note),))
            case CompactThread(turn_id):
                self._compact(on, turn_id)
            case BranchThread(new_thread_id, title, last_turn_id):
                self._thread = self._new_thread(new_thread_id, title)
                threads.copy(tx, on.id, last_turn_id, new_thread_id)
            case _:
                assert_never(effect)

    def _choose(self, effect: Choosing) -> None:
        on = self._thread
        if isinstance(effect, RebindThread):
            self._thread, self._waiting = self._new_thread(effect.new_thread_id, effect.title), 0
        elif isinstance(effect, SwitchThread):
            key = ThreadKey(self._principal.user_id, self._event.channel, effect.scope)
            self._thread, self._waiting = threads.switch(self._tx, key, effect.thread_id), 0
        elif on is None:
            raise LookupError("there is no conversation here")
        elif isinstance(effect, CloseThread):
            threads.close(self._tx, on)
        elif isinstance(effect, DeleteThread):
            threads.delete(self._tx, on, self._principal.user_id)
            self._thread = None
        else:
            threads.rename(self._tx, on.id, effect.title)

    def _compact(self, on: ThreadRow, turn_id: str) -> None:
        """Start a turn with the command itself as its input."""
        event = self._event
        text = event.text if isinstance(event, InboundMessage) else ""
        self.outcome = outcome_of(self._start(on, turn_id, (UserSaid(storable(text.strip())),)).number)

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
