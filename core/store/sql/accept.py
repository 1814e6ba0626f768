"""Acceptance of an inbound event with all its effects, in the one transaction that records it."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from core.gates import GateState
from core.lazy_module import LazyModule
from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, Message, Moved, Unreadable, plain
from core.ports import OutboxRow
from core.store.accept import (
    WITHHELD,
    Accepted,
    AcceptView,
    Admitted,
    Judge,
    ShownCard,
    StatusSnapshot,
    Stranger,
    ThreadCandidate,
    TurnedAway,
    Verdict,
)
from core.store.codecs import refs_from_json
from core.store.effects import QueueInput, RebindThread, StopThread
from core.store.pairing import ClaimView
from core.store.rows import Draft, GateView, ThreadRow, TurnState
from core.store.sql import credentials, feed, gates, grants, kill_switch, pairing, people, strangers
from core.store.sql.effects import Effects
from core.store.sql.feed import position, put_event, put_messages
from core.store.sql.gates import learn_copy
from core.store.sql.inbox import NewEvent, edit, goes_on, in_reply, lead_to, leads_to, record
from core.store.sql.mapping import ACTIVE_TURN, THREAD, thread_of
from core.store.sql.outbox import Cause, enqueue
from core.store.sql.steps import used_of
from core.store.sql.strangers import Person
from core.store.sql.turns import append, thread
from core.store.transaction import Transaction
from core.store.units import Facet, writes
from core.transcript import OperatorSaid
from core.users import Identity, Principal, ThreadKey, scope_of

if TYPE_CHECKING:
    from core.store.routine_rows import MenuView, RoutineStanding

if TYPE_CHECKING:
    from core.store.sql import routine_definitions, routine_views
else:
    routine_views = LazyModule("core.store.sql.routine_views")
    routine_definitions = LazyModule("core.store.sql.routine_definitions")


# The state an event is judged on, read in the transaction that accepts it.


def accept_view(tx: Transaction, event: Person, judge: Judge, admitted: Admitted) -> AcceptView:
    """Return the state that `judge` needs for the event, and nothing more."""
    principal = admitted.principal
    named = gates.view(tx, judge.gate_id) if judge.gate_id is not None else None
    if isinstance(event, ChoiceAnswer):
        # A press does not name a conversation's key: it belongs to the gate's thread.
        thread, running_since, waiting = (
            (None, None, 0) if named is None else _thread_by_id(tx, named.gate.thread_id)
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
        cards=_cards(tx, event, open_gates) if open_gates else (),
        now=tx.clock.now(),
        asked=credentials.asked(tx, event, principal.user_id) if isinstance(event, InboundMessage) else None,
        replied=_replied(tx, event),
        recent=strangers.recent(tx, event) if admitted.limited else 0,
        claims=_claims(tx, event, admitted.claims) if admitted.claims is not None else None,
        routines=_routines(tx, tuple(judge.routine_ids)) if judge.routine_ids else (),
        menu=_menu(tx, event.gate_id) if named is None and isinstance(event, ChoiceAnswer) else None,
        status=_status(tx, principal, thread) if admitted.wants_status else None,
    )


def _routines(tx: Transaction, routine_ids: tuple[str, ...]) -> "Sequence[RoutineStanding]":
    return routine_definitions.standing(tx, routine_ids)


def _menu(tx: Transaction, menu_id: str) -> "MenuView | None":
    return routine_views.menu(tx, menu_id)


def _status(tx: Transaction, principal: Principal, thread: ThreadRow | None) -> StatusSnapshot:
    said = grants.in_thread(tx, principal.user_id, "" if thread is None else thread.id)
    active = None if thread is None else thread.active_turn_id
    used = None if active is None else used_of(tx, active)
    return StatusSnapshot(
        said,
        grants.grants_of(tx, principal.user_id),
        used,
        kill_switch.tools_paused(tx),
        people.timezone(tx, principal.user_id),
    )


def _claims(tx: Transaction, event: Person, channel: str) -> ClaimView:
    return pairing.claims(tx, channel, pairing.guesser_of(event.channel, event.sender))


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
    return (None, None, 0) if row is None else (thread_of(row), row[11], row[12])


def _thread_by_id(tx: Transaction, thread_id: str) -> tuple[ThreadRow | None, int | None, int]:
    row = tx.one(
        f"SELECT {_THREAD_STATE} FROM threads t {ACTIVE_TURN} WHERE t.id = ? AND t.kind = 'chat'", thread_id
    )
    return (None, None, 0) if row is None else (thread_of(row), row[11], row[12])


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


def _replied(tx: Transaction, event: Person) -> GateView | None:
    if not isinstance(event, InboundMessage) or event.reply_to is None:
        return None
    return gates.shown_as(tx, event.channel, event.reply_to)


def _cards(tx: Transaction, event: Person, open_gates: tuple[GateView, ...]) -> tuple[ShownCard, ...]:
    shown: list[ShownCard] = []
    for one in open_gates:
        rows = tx.all(
            "SELECT refs, order_key FROM outbox WHERE gate_id = ? AND channel = ? AND address = ?"
            " AND edit_of IS NULL AND order_key IS NOT NULL ORDER BY id",
            one.gate.id,
            event.channel,
            event.address,
        )
        shown.extend(ShownCard(one.gate.id, refs_from_json(row[0]), row[1]) for row in rows)
    return tuple(shown)


# A conversation that moved to another address: its threads and unsent messages move with it.

BEFORE_ALL_OTHERS = "-"
"""A prefix for old order keys, which makes them sort before every key of the new conversation."""


def move(tx: Transaction, event: Moved) -> Accepted:
    """Move the old conversation's keys, answers and waiting input to the new one. Repeating it has no
    further effect.

    A key that already leads to a thread at the new conversation stays as it is."""
    old, new = scope_of(event.old_scope), scope_of(event.scope)
    keys = tx.run(
        "INSERT INTO thread_keys (owner_id, channel, scope, thread_id)"
        " SELECT owner_id, channel, ?, thread_id FROM thread_keys WHERE channel = ? AND scope = ?"
        " ON CONFLICT (owner_id, channel, scope) DO NOTHING",
        new,
        event.channel,
        old,
    )
    place = (event.address, event.channel, event.old_address)
    tx.run("UPDATE threads SET scope = ?, address = ? WHERE channel = ? AND address = ?", new, *place)
    tx.run(
        "UPDATE inbox SET address = ?, order_key = ? || order_key"
        " WHERE outcome = 'waiting' AND channel = ? AND address = ?",
        event.address,
        BEFORE_ALL_OTHERS,
        event.channel,
        event.old_address,
    )
    # Shown messages stay at the old address; messages never attempted are sent to the new one.
    tx.run(
        "UPDATE outbox SET address = ? WHERE settled = 0 AND state = 'queued' AND edit_of IS NULL"
        " AND refs = '[]' AND channel = ? AND address = ?",
        *place,
    )
    outcome = "moved: no conversations there"
    if keys:
        outcome = "moved: 1 conversation continues" if keys == 1 else f"moved: {keys} conversations continue"
    record(tx, NewEvent(event, outcome))
    return Accepted(outcome, None, duplicate=False)


UNREADABLE = "failed: unreadable"


def _edited(tx: Transaction, event: InboundMessage, identity: Identity | None) -> Accepted | None:
    """Apply an edit to a recorded message. None: judge it like a message.

    An edit by somebody who was asked for a credential may be that credential."""
    return None if credentials.is_awaited(tx, identity, event.channel) else edit(tx, event)


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


def _position(tx: Transaction, event: Person, verdict: Verdict, thread: ThreadRow | None) -> int | None:
    """Return a command's or written answer's position in its thread, before all its effects."""
    if thread is None or not isinstance(event, InboundMessage):
        return None
    moves = any(isinstance(effect, QueueInput | RebindThread) for effect in verdict.effects)
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
    new = NewEvent(event, outcome, verdict.answer, user_id, thread_id, effects.turn_id, counted, waits)
    event_id = record(tx, new)
    if thread_id is not None and isinstance(event, InboundMessage) and effects.outcome is None:
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
        outbox=(*effects.card_changes, *said),
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


# Messages by a person in the assistant's place, and threads that are reopened.

ANSWERED = "answered as operator"
STOPPED = "command: /stop"
STOPPED_NOTHING = "command: /stop, nothing was running"


class InboundUnits(Facet):
    """The units of Inbound."""

    @writes
    def accept_event(self, tx: Transaction, event: InboundEvent, judge: Judge, *, send_now: bool) -> Accepted:
        seen = tx.one("SELECT outcome, answer, thread_id FROM inbox WHERE key = ?", event.key)
        if seen is not None:
            return Accepted(seen[0], seen[1], duplicate=True, thread_id=seen[2])
        if isinstance(event, Unreadable):
            record(tx, NewEvent(event, UNREADABLE))
            return Accepted(UNREADABLE, None, duplicate=False)
        if isinstance(event, Moved):
            return move(tx, event)
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
        """While a turn is active, it is said within that turn: entries of a turn
        stay side by side."""
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
        people.set_active_thread(tx, user_id, thread_id)
        return True
