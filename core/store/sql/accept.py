"""Acceptance of an inbound event with all its effects, in the one transaction that records it."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from core.events import ContextUse
from core.gates import GateState
from core.lazy import LazyModule
from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, Message, Moved, Unreadable, plain
from core.ports import OutboxRow
from core.store.accept import (
    WITHHELD,
    Accepted,
    AcceptView,
    Admitted,
    Judge,
    StatusSnapshot,
    Stranger,
    ThreadCandidate,
    TurnedAway,
    Verdict,
)
from core.store.codecs import trace_from_json
from core.store.conversations import Checkpoints, ListMenu, MenuKind, SearchHit, ThreadChoice
from core.store.effects import BranchThread, QueueInput, RebindThread, StopThread, SwitchThread
from core.store.rows import Draft, GateView, ThreadRow, TurnState
from core.store.sql import feed, gates, grants, menus, pairing, people, strangers, threads
from core.store.sql.effects import Effects
from core.store.sql.feed import position, put_event, put_messages
from core.store.sql.gates import learn_copy
from core.store.sql.inbox import NewEvent, edit, goes_on, in_reply, lead_to, leads_to, queued, record
from core.store.sql.mapping import ACTIVE_TURN, NEWEST_MODELS, THREAD, THREAD_COLUMNS, thread_of
from core.store.sql.memory import MOST_AT_ONCE, index_said, search
from core.store.sql.outbox import Cause, enqueue
from core.store.sql.steps import used_of
from core.store.sql.strangers import Person
from core.store.sql.turns import append, thread
from core.store.units import Facet, Transaction, reads, writes
from core.transcript import OperatorSaid
from core.users import Identity, Principal, ThreadKey

if TYPE_CHECKING:
    from core.job import JobRow
    from core.store.sql import job_views, routine_definitions, routine_runs
else:
    job_views = LazyModule("core.store.sql.job_views")
    routine_runs = LazyModule("core.store.sql.routine_runs")
    routine_definitions = LazyModule("core.store.sql.routine_definitions")


# The state an event is judged on, read in the transaction that accepts it.


def accept_view(tx: Transaction, event: Person, judge: Judge, admitted: Admitted) -> AcceptView:
    """Return the state that `judge` needs for the event, and nothing more."""
    principal = admitted.principal
    named = gates.view(tx, judge.gate_id) if judge.gate_id is not None else None
    menu_id = event.gate_id if named is None and isinstance(event, ChoiceAnswer) else None
    pressed = None if menu_id is None else menus.menu(tx, menu_id)
    if isinstance(event, ChoiceAnswer):
        # A press does not name a conversation's key: it belongs to the gate's or the list's thread.
        on = pressed if named is None else named.gate
        thread, running_since, waiting = (
            (None, None, 0) if on is None or on.thread_id is None else _thread_by_id(tx, on.thread_id)
        )
        candidate = None
    else:
        thread, running_since, waiting = _thread_by_key(
            tx, ThreadKey(principal.user_id, event.channel, event.scope)
        )
        candidate = _candidate(tx, event.scope, principal) if thread is None else None
    open_gates: tuple[GateView, ...] = ()
    if thread is not None and thread.active_turn_state is TurnState.WAITING:
        open_gates = gates.open_in_thread(tx, thread.id)
    return AcceptView(
        principal=principal,
        thread=thread,
        candidate=candidate,
        waiting=waiting,
        running_since=running_since,
        open_gates=open_gates,
        gate=named,
        cards=gates.cards_of(tx, open_gates, event.channel, event.address) if open_gates else (),
        now=tx.clock.now(),
        asked=menus.asked(tx, event, principal.user_id) if isinstance(event, InboundMessage) else None,
        replied=_replied(tx, event),
        recent=strangers.recent(tx, event) if admitted.limited else 0,
        claims=pairing.claims(tx, admitted.claims, pairing.guesser_of(event.channel, event.sender))
        if admitted.claims is not None
        else None,
        routines=routine_definitions.standing(tx, tuple(judge.routine_ids)) if judge.routine_ids else (),
        menu=routine_runs.menu(tx, menu_id) if menu_id is not None and pressed is None else None,
        menu_answer=menus.answered(tx, event.menu_id)
        if isinstance(event, InboundMessage) and event.menu_id is not None
        else None,
        job=_job(tx, event, menu_id if pressed is None else None),
        status=_status(tx, principal, thread) if admitted.wants_status else None,
        found=_found(tx, event, admitted, thread),
        queued=queued(tx, thread.id) if admitted.wants_queue and thread is not None and waiting else (),
        checkpoints=_checkpoints(tx, thread, admitted, pressed),
        list_menu=pressed,
        threads=_threads(tx, event, admitted, pressed),
        sending=thread is not None
        and (admitted.wants_deletion or (pressed is not None and pressed.kind is MenuKind.DELETION))
        and threads.is_sending(tx, thread.id),
    )


def _checkpoints(
    tx: Transaction, on: ThreadRow | None, admitted: Admitted, pressed: ListMenu | None
) -> Checkpoints | None:
    wanted = 0 if pressed is not None else admitted.wants_turn
    return None if on is None or wanted is None else threads.view(tx, on.id, wanted)


def _threads(
    tx: Transaction, event: Person, admitted: Admitted, pressed: ListMenu | None
) -> Sequence[ThreadChoice]:
    user_id, wanted = admitted.principal.user_id, admitted.wants_threads
    if pressed is not None:
        return menus.own_threads(tx, user_id, pressed.items)
    if wanted is None or not isinstance(event, InboundMessage):
        return ()
    here = None if event.direct else ThreadKey(user_id, event.channel, event.scope)
    return menus.find_threads(tx, user_id, wanted, _thread_id_in(wanted), here)


def _status(tx: Transaction, principal: Principal, thread: ThreadRow | None) -> StatusSnapshot:
    said = grants.in_thread(tx, principal.user_id, "" if thread is None else thread.id)
    active = None if thread is None else thread.active_turn_id
    used = None if active is None else used_of(tx, active)
    return StatusSnapshot(
        said,
        grants.grants_of(tx, principal.user_id),
        used,
        grants.tools_paused(tx),
        people.preferences(tx, principal.user_id),
        ContextUse() if thread is None else _context(tx, thread.id),
    )


def _found(
    tx: Transaction, event: Person, admitted: Admitted, thread: ThreadRow | None
) -> tuple[SearchHit, ...]:
    """Return what a person's search finds: in all of their threads, where others read along in this one."""
    if admitted.search is None or not (event.direct or thread is not None):
        return ()
    here = None if event.direct or thread is None else thread.id
    index_said(tx, MOST_AT_ONCE)
    wanted = replace(admitted.search, owner_id=admitted.principal.user_id, thread_id=here)
    return search(tx, wanted)


def _context(tx: Transaction, thread_id: str) -> ContextUse:
    row = tx.one(f"SELECT {NEWEST_MODELS} FROM threads t WHERE t.id = ?", thread_id)
    return ContextUse() if row is None else trace_from_json(row[0]).context


_THREAD_STATE = (
    f"{THREAD}, a.running_since,"
    " (SELECT count(*) FROM inbox w WHERE w.thread_id = t.id AND w.outcome = 'waiting')"
)


def _thread_by_key(tx: Transaction, key: ThreadKey) -> tuple[ThreadRow | None, int | None, int]:
    row = tx.one(
        f"SELECT {_THREAD_STATE} FROM thread_keys k JOIN threads t ON t.id = k.thread_id {ACTIVE_TURN}"
        " WHERE k.owner_id = ? AND k.channel = ? AND k.scope = ?",
        key.user_id,
        key.channel,
        key.scope,
    )
    return (None, None, 0) if row is None else (thread_of(row), *row[THREAD_COLUMNS:])


def _thread_by_id(tx: Transaction, thread_id: str) -> tuple[ThreadRow | None, int | None, int]:
    row = tx.one(
        f"SELECT {_THREAD_STATE} FROM threads t {ACTIVE_TURN} WHERE t.id = ? AND t.kind = 'chat'", thread_id
    )
    return (None, None, 0) if row is None else (thread_of(row), *row[THREAD_COLUMNS:])


def _candidate(tx: Transaction, scope: str | None, principal: Principal) -> ThreadCandidate | None:
    thread_id = _thread_id_in(scope)
    if thread_id is None:
        return None
    owner = tx.one("SELECT owner_id FROM threads WHERE id = ? AND kind = 'chat'", thread_id)
    mapped = tx.one("SELECT 1 FROM thread_keys WHERE thread_id = ? LIMIT 1", thread_id)
    own = owner is not None and owner[0] == principal.user_id
    return ThreadCandidate(thread_id, own=own, taken=owner is not None, mapped=mapped is not None)


def _thread_id_in(scope: str | None) -> str | None:
    """Return the thread id that an external id may stand for: a UUID, dashed or plain, in dashed form."""
    if scope is None or len(scope) not in {32, 36}:
        return None
    try:
        return str(uuid.UUID(scope))
    except ValueError:
        return None


def _job(tx: Transaction, event: Person, menu_id: str | None) -> "JobRow | None":
    """Return the job with that menu, or whose message the event replies to."""
    if menu_id is not None:
        return job_views.by_menu(tx, menu_id)
    answered = (event.reply_to or event.below) if isinstance(event, InboundMessage) else None
    return None if answered is None else job_views.shown_as(tx, event.channel, answered)


def _replied(tx: Transaction, event: Person) -> GateView | None:
    if not isinstance(event, InboundMessage) or event.reply_to is None:
        return None
    return gates.shown_as(tx, event.channel, event.reply_to)


UNREADABLE = "failed: unreadable"


def _edited(tx: Transaction, event: InboundMessage, identity: Identity | None) -> Accepted | None:
    """Apply an edit to a recorded message. None: judge it like a message.

    An edit by somebody who was asked for a credential may be that credential."""
    return None if menus.is_awaited(tx, identity, event.channel) else edit(tx, event)


def _know(tx: Transaction, event: Person, admitted: Admitted, identity: Identity | None) -> None:
    people.bind_identity(tx, event.channel, event.sender, identity, admitted.principal, admitted.via)
    if event.direct:
        people.heard_in_private(tx, event.channel, event.sender, identity, event.address)


def _decide(tx: Transaction, event: Person, judge: Judge, admitted: Admitted, *, send_now: bool) -> Accepted:
    view = accept_view(tx, event, judge, admitted)
    verdict = judge.decide(event, view)
    if verdict.noise:
        strangers.count_noise(tx, event, verdict.outcome)
        return Accepted(verdict.outcome, verdict.answer, duplicate=False)
    if verdict.pauses and grants.pause_tools(tx, admitted.principal.user_id, paused=True):
        return Accepted(verdict.outcome, None, duplicate=False, paused=True, again=True)
    effects = Effects(tx, event, admitted.principal, view.thread, waiting=view.waiting)
    if isinstance(event, ChoiceAnswer) and event.ref is not None and view.gate is not None:
        gate = view.gate.gate
        settled = (gate.outcome_text or "") if gate.state is GateState.CLOSED else None
        effects.card_changes.extend(learn_copy(tx, gate.id, event.channel, event.address, event.ref, settled))
    seen_at = _position(tx, event, verdict, view.thread)
    for effect in verdict.effects:
        effects.apply(effect)
    if verdict.withheld and isinstance(event, InboundMessage):
        event = replace(event, text=WITHHELD, attachments=())
    elif verdict.kept_as is not None and isinstance(event, InboundMessage):
        event = replace(event, text=verdict.kept_as)
    return _keep(tx, event, admitted, verdict, effects, seen_at, send_now=send_now)


_MOVES = QueueInput | RebindThread | BranchThread | SwitchThread


def _position(tx: Transaction, event: Person, verdict: Verdict, thread: ThreadRow | None) -> int | None:
    """Return a command's or written answer's position in its thread, before all its effects."""
    if thread is None or not isinstance(event, InboundMessage):
        return None
    moves = any(isinstance(effect, _MOVES) for effect in verdict.effects)
    return None if moves else feed.position(tx, thread.id)


def _keep(
    tx: Transaction,
    event: Person,
    admitted: Admitted,
    verdict: Verdict,
    effects: Effects,
    seen_at: int | None,
    *,
    send_now: bool,
) -> Accepted:
    outcome = effects.outcome or verdict.outcome
    thread_id = effects.thread_id
    counted = admitted.limited and verdict.counts and _is_effort(event, outcome)
    user_id = admitted.principal.user_id
    waits = effects.wait_until
    kept = (outcome, verdict.answer, user_id, thread_id, effects.turn_id)
    new = NewEvent(event, *kept, counted, waits or 0, effects.steers)
    event_id = record(tx, new)
    is_line = isinstance(event, InboundMessage) and (event.menu_id is None or bool(verdict.effects))
    if thread_id is not None and is_line and effects.outcome is None:
        feed.put_event(tx, thread_id, seen_at or feed.position(tx, thread_id), event_id)
    if effects.said and not verdict.withheld:  # a message that is removed is not quoted
        effects.said = in_reply(event, effects.said)
    said = _say(tx, effects, event_id, send_now=send_now) if effects.said or effects.to_others else ()
    return Accepted(
        outcome,
        verdict.answer,
        duplicate=False,
        thread_id=thread_id,
        started=effects.started,
        stopped_turn_id=effects.stopped_turn_id,
        outbox=(*effects.card_changes, *said),
        wait_until=waits,
        routines=tuple(effects.routines),
        paused=effects.paused,
        steers=effects.steers,
        plain=verdict.plain,
        form=verdict.form,
    )


def _is_effort(event: Person, outcome: str) -> bool:
    """Return True if the event counts against its sender's limit. A press that decided something
    doesn't."""
    return isinstance(event, InboundMessage) or outcome.startswith("refused")


def _say(tx: Transaction, effects: Effects, event_id: int, *, send_now: bool) -> tuple[OutboxRow, ...]:
    cause = Cause(event_id=event_id)
    here = enqueue(tx, effects.said, cause, send_now=send_now)
    if effects.thread_id is not None:
        feed.put_messages(tx, effects.thread_id, here)
    # The outbox can send at once only to the event's own conversation.
    return (*here, *enqueue(tx, effects.to_others, cause))


ANSWERED = "answered as operator"
STOPPED = "command: /stop"
STOPPED_NOTHING = "command: /stop, nothing was running"


class InboundUnits(Facet):
    """The units of Inbound."""

    @reads
    def spoken(self, tx: Transaction, event: ChoiceAnswer) -> InboundMessage | None:
        return menus.spoken(tx, event)

    @writes
    def accept_event(self, tx: Transaction, event: InboundEvent, judge: Judge, *, send_now: bool) -> Accepted:
        seen = tx.one("SELECT outcome, answer, thread_id FROM inbox WHERE key = ?", event.key)
        if seen is not None:
            return Accepted(seen[0], seen[1], duplicate=True, thread_id=seen[2])
        if isinstance(event, Unreadable):
            record(tx, NewEvent(event, UNREADABLE))
            return Accepted(UNREADABLE, None, duplicate=False)
        if isinstance(event, Moved):
            return threads.move(tx, event)
        identity = people.identity(tx, event.channel, event.sender.platform_user_id)
        if isinstance(event, InboundMessage):
            if event.edits is not None and (edited := _edited(tx, event, identity)) is not None:
                return edited
            if not event.addressed and goes_on(tx, event):
                event = replace(event, addressed=True)
        tx = tx.accepting(event.key)
        admission = judge.admit(event, identity)
        match admission:
            case Admitted():
                _know(tx, event, admission, identity)
                return _decide(tx, event, judge, admission, send_now=send_now)
            case TurnedAway():
                return strangers.turn_away(tx, event, admission, send_now=send_now)
            case Stranger():
                return strangers.meet(tx, event, identity, admission, send_now=send_now)
            case _:
                assert_never(admission)

    @writes
    def answer_as_operator(
        self, tx: Transaction, event: InboundMessage, by: Principal, thread_id: str, message: Message
    ) -> tuple[OutboxRow, ...]:
        # While a turn is active, this is said within that turn: entries of a turn stay side by
        # side.
        if tx.one("SELECT 1 FROM inbox WHERE key = ?", event.key) is not None:
            return ()
        on = thread(tx, thread_id)
        append(tx, thread_id, on.active_turn_id, [OperatorSaid(event.text, by.name)])
        tx.run("UPDATE threads SET last_active_at = ? WHERE id = ?", tx.clock.now(), thread_id)
        event_id = record(tx, NewEvent(event, ANSWERED, user_id=by.user_id, thread_id=thread_id))
        draft = Draft(on.channel, on.address, message, tx.ids.row_id())
        return enqueue(tx, [draft], Cause(event_id=event_id))

    @writes
    def stop_thread(
        self,
        tx: Transaction,
        event: InboundMessage,
        by: Principal,
        thread_id: str,
        told: Callable[[int], str],
    ) -> Accepted:
        seen = tx.one("SELECT outcome, answer FROM inbox WHERE key = ?", event.key)
        if seen is not None:
            return Accepted(seen[0], seen[1], duplicate=True, thread_id=thread_id)
        on = thread(tx, thread_id)
        waiting = tx.all("SELECT 1 FROM inbox WHERE thread_id = ? AND outcome = 'waiting'", thread_id)
        if on.active_turn_id is None and not waiting:
            record(tx, NewEvent(event, STOPPED_NOTHING, user_id=by.user_id, thread_id=thread_id))
            return Accepted(STOPPED_NOTHING, None, duplicate=False, thread_id=thread_id)
        tx = tx.accepting(event.key)
        seq = position(tx, thread_id)
        effects = Effects(tx, event, by, on, waiting=len(waiting))
        text = told(len(waiting))
        effects.apply(StopThread(text))
        event_id = record(tx, NewEvent(event, STOPPED, user_id=by.user_id, thread_id=thread_id))
        put_event(tx, thread_id, seq, event_id)
        draft = Draft(on.channel, on.address, plain(text), tx.ids.row_id())
        rows = enqueue(tx, [draft], Cause(event_id=event_id))
        put_messages(tx, thread_id, rows)
        return Accepted(
            STOPPED,
            text,
            duplicate=False,
            thread_id=thread_id,
            stopped_turn_id=effects.stopped_turn_id,
            outbox=(*effects.card_changes, *rows),
        )

    @writes
    def take_up_thread(
        self, tx: Transaction, user_id: str, channel: str, external_id: str, thread_id: str
    ) -> bool:
        mine = "SELECT 1 FROM threads WHERE id = ? AND owner_id = ? AND channel = ? AND kind = 'chat'"
        if tx.one(mine, thread_id, user_id, channel) is None:
            return False
        key = ThreadKey(user_id, channel, external_id)
        if not leads_to(tx, key, thread_id):
            lead_to(tx, key, thread_id)
        return True
