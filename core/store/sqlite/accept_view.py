"""The state an event is judged on, read in the transaction that accepts it."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.messages import ChoiceAnswer, InboundMessage
from core.store.accept import (
    AcceptView,
    Admitted,
    Judge,
    ShownCard,
    Survey,
    ThreadCandidate,
)
from core.store.codec import refs_from_json
from core.store.pairing import ClaimView
from core.store.rows import PromptView, ThreadRow, TurnState
from core.store.sqlite import credentials, halting, pairing, prompts, standing, strangers
from core.store.sqlite.mapping import ACTIVE_TURN, THREAD, thread_of
from core.store.sqlite.steps import used_of
from core.store.sqlite.strangers import Person
from core.store.sqlite.transaction import Transaction
from core.thread_key import ThreadKey
from core.users import Principal

if TYPE_CHECKING:
    from core.store.routines import MenuView, RoutineStanding


def accept_view(tx: Transaction, event: Person, judge: Judge, admitted: Admitted) -> AcceptView:
    """What `judge` asked for about the event, and nothing that it has no use for."""
    principal = admitted.principal
    named = prompts.view(tx, judge.prompt_id) if judge.prompt_id is not None else None
    if isinstance(event, ChoiceAnswer):
        # A press says nothing of a conversation's key: it belongs to the prompt's thread.
        thread, running_since, waiting = (
            (None, None, 0) if named is None else _thread_by_id(tx, named.prompt.thread_id)
        )
        candidate = None
    else:
        thread, running_since, waiting = _thread_by_key(
            tx, ThreadKey(principal.user_id, event.channel, event.scope)
        )
        candidate = _candidate(tx, event.scope, principal) if thread is None else None
    open_prompts: tuple[PromptView, ...] = ()
    if thread is not None and thread.active_turn_state is TurnState.WAITING:
        open_prompts = prompts.open_in_thread(tx, thread.id)
    return AcceptView(
        principal=principal,
        thread=thread,
        candidate=candidate,
        waiting=waiting,
        running_since=running_since,
        open_prompts=open_prompts,
        prompt=named,
        cards=_cards(tx, event, open_prompts) if open_prompts else (),
        now=tx.clock.now(),
        asked=credentials.asked(tx, event, principal.user_id) if isinstance(event, InboundMessage) else None,
        replied=_replied(tx, event),
        recent=strangers.recent(tx, event) if admitted.limited else 0,
        claims=_claims(tx, event, admitted.claims) if admitted.claims is not None else None,
        routines=_routines(tx, tuple(judge.routine_ids)) if judge.routine_ids else (),
        menu=_menu(tx, event.prompt_id) if named is None and isinstance(event, ChoiceAnswer) else None,
        survey=_survey(tx, principal, thread) if admitted.surveys else None,
    )


def _routines(tx: Transaction, routine_ids: tuple[str, ...]) -> "Sequence[RoutineStanding]":
    from core.store.sqlite import routines  # most events match none

    return routines.standing(tx, routine_ids)


def _menu(tx: Transaction, menu_id: str) -> "MenuView | None":
    from core.store.sqlite import routine_views  # most presses are on prompts

    return routine_views.menu(tx, menu_id)


def _survey(tx: Transaction, principal: Principal, thread: ThreadRow | None) -> Survey:
    said = standing.in_thread(tx, principal.user_id, "" if thread is None else thread.id)
    active = None if thread is None else thread.active_turn_id
    used = None if active is None else used_of(tx, active)
    return Survey(said, standing.grants_of(tx, principal.user_id), used, halting.tools_halted(tx))


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
    row = tx.one(f"SELECT {_THREAD_STATE} FROM threads t {ACTIVE_TURN} WHERE t.id = ?", thread_id)
    return (None, None, 0) if row is None else (thread_of(row), row[11], row[12])


def _candidate(tx: Transaction, scope: str | None, principal: Principal) -> ThreadCandidate | None:
    thread_id = _thread_id_in(scope)
    if thread_id is None:
        return None
    owner = tx.one("SELECT owner_id FROM threads WHERE id = ?", thread_id)
    mapped = tx.one("SELECT 1 FROM thread_keys WHERE thread_id = ? LIMIT 1", thread_id)
    own = owner is not None and owner[0] == principal.user_id
    return ThreadCandidate(thread_id, own=own, taken=owner is not None, mapped=mapped is not None)


def _thread_id_in(scope: str | None) -> str | None:
    """The thread id that an external id may stand for: a UUID, dashed or plain, in its dashed form."""
    if scope is None or len(scope) not in {32, 36}:
        return None
    try:
        return str(uuid.UUID(scope))
    except ValueError:
        return None


def _replied(tx: Transaction, event: Person) -> PromptView | None:
    if not isinstance(event, InboundMessage) or event.reply_to is None:
        return None
    return prompts.shown_as(tx, event.channel, event.reply_to)


def _cards(tx: Transaction, event: Person, open_prompts: tuple[PromptView, ...]) -> tuple[ShownCard, ...]:
    shown: list[ShownCard] = []
    for one in open_prompts:
        rows = tx.all(
            "SELECT refs, order_key FROM outbox WHERE prompt_id = ? AND channel = ? AND address = ?"
            " AND edit_of IS NULL AND order_key IS NOT NULL ORDER BY id",
            one.prompt.id,
            event.channel,
            event.address,
        )
        shown.extend(ShownCard(one.prompt.id, refs_from_json(row[0]), row[1]) for row in rows)
    return tuple(shown)
