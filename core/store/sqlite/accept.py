"""Accepting an inbound event: everything that follows from it, in the one transaction that keeps it."""

from dataclasses import replace
from typing import assert_never

from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, Moved, Unreadable
from core.ports import OutboxRow
from core.prompts import PromptState
from core.store.accept import (
    WITHHELD,
    Accepted,
    Admitted,
    Judge,
    Stranger,
    TurnedAway,
    Verdict,
)
from core.store.effects import QueueInput, RebindThread
from core.store.rows import ThreadRow
from core.store.sqlite import credentials, feed, people, strangers
from core.store.sqlite.accept_view import accept_view
from core.store.sqlite.cards import learn_copy
from core.store.sqlite.effects import Effects
from core.store.sqlite.inbox import NewEvent, record
from core.store.sqlite.inputs import edit, goes_on
from core.store.sqlite.moving import move
from core.store.sqlite.outbox import Cause, enqueue
from core.store.sqlite.replies import in_reply
from core.store.sqlite.strangers import Person
from core.store.sqlite.transaction import Transaction
from core.users import Identity

UNREADABLE = "failed: unreadable"


def accept_event(tx: Transaction, event: InboundEvent, judge: Judge, *, send_now: bool) -> Accepted:
    """See Store.accept_event."""
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


def _edited(tx: Transaction, event: InboundMessage, identity: Identity | None) -> Accepted | None:
    """Take an edit of what was recorded; None: it is judged like a message. An edit by somebody who was asked
    for a credential may be just that."""
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
    if isinstance(event, ChoiceAnswer) and event.ref is not None and view.prompt is not None:
        prompt = view.prompt.prompt
        settled = (prompt.outcome_text or "") if prompt.state is PromptState.CLOSED else None
        effects.card_changes.extend(
            learn_copy(tx, prompt.id, event.channel, event.address, event.ref, settled)
        )
    seen_at = _position(tx, event, verdict, view.thread)
    for effect in verdict.effects:
        effects.apply(effect)
    if verdict.withheld and isinstance(event, InboundMessage):
        event = replace(event, text=WITHHELD, attachments=())
    elif verdict.kept_as is not None and isinstance(event, InboundMessage):
        event = replace(event, text=verdict.kept_as)
    return _keep(tx, event, admitted, verdict, effects, seen_at, send_now=send_now)


def _position(tx: Transaction, event: Person, verdict: Verdict, thread: ThreadRow | None) -> int | None:
    """Where in its thread a command or an answer in words is seen: before all that follows from it."""
    if thread is None or not isinstance(event, InboundMessage):
        return None
    elsewhere = any(isinstance(effect, QueueInput | RebindThread) for effect in verdict.effects)
    return None if elsewhere else feed.position(tx, thread.id)


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
    new = NewEvent(event, outcome, verdict.answer, user_id, thread_id, effects.turn_id, counted, waits or 0)
    event_id = record(tx, new)
    if thread_id is not None and isinstance(event, InboundMessage) and effects.outcome is None:
        feed.put_event(tx, thread_id, seen_at or feed.position(tx, thread_id), event_id)
    if effects.said and not verdict.withheld:  # what is taken away is not shown once more
        effects.said = in_reply(event, effects.said)
    said = _say(tx, effects, event_id, send_now=send_now) if effects.said or effects.elsewhere else ()
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
        halted=effects.halted,
        plain=verdict.plain,
        form=verdict.form,
    )


def _is_effort(event: Person, outcome: str) -> bool:
    """Whether it counts against its sender's limit: a press that decided something doesn't."""
    return isinstance(event, InboundMessage) or outcome.startswith("refused")


def _say(tx: Transaction, effects: Effects, event_id: int, *, send_now: bool) -> tuple[OutboxRow, ...]:
    cause = Cause(event_id=event_id)
    here = enqueue(tx, effects.said, cause, send_now=send_now)
    if effects.thread_id is not None:
        feed.put_messages(tx, effects.thread_id, here)
    # Whether a row could go out at once is only known of the event's own conversation.
    return (*here, *enqueue(tx, effects.elsewhere, cause))
