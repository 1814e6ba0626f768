"""Prompts: opening them. Their turn waits from then on."""

from collections.abc import Sequence
from typing import assert_never

from core.audit_chain import AuditKind
from core.errors import StaleTurn
from core.ports import OutboxRow
from core.prompts import Offer, Options, Prompt, Replies
from core.store.codecs import asked_to_json, storable, strings_to_json
from core.store.rows import Draft
from core.store.sqlite.audit import record
from core.store.sqlite.connection import Transaction
from core.store.sqlite.feed import put_card
from core.store.sqlite.inbox import as_replies
from core.store.sqlite.outbox import Cause, enqueue
from core.store.sqlite.previews import withdraw
from core.store.sqlite.turns import events_of, require_running


def ask_person(tx: Transaction, prompts: Sequence[Prompt], cards: Sequence[Draft]) -> tuple[OutboxRow, ...]:
    """See Store.ask_person. All prompts are of one turn."""
    turn_id = prompts[0].turn_id
    require_running(tx, turn_id, heed_stop=True)
    _wait(tx, turn_id)
    for prompt in prompts:
        _insert(tx, prompt)
        if prompt.call_id is not None:
            _bind(tx, prompt, prompt.call_id, prompt.binding)
        for call in prompt.calls:
            _bind(tx, prompt, call.call_id, call.binding)
    return (*withdraw(tx, turn_id), *_show(tx, turn_id, cards))


def _bind(tx: Transaction, prompt: Prompt, call_id: str, binding: str) -> None:
    """The call waits for what is said to that prompt."""
    changed = tx.run(
        "UPDATE calls SET state = iif(state = 'unknown', 'unknown', 'waiting'), binding = ?,"
        " prompt_id = ?, answer = NULL, answered_by = NULL"
        " WHERE id = ? AND turn_id = ? AND state IN ('intent', 'approved', 'unknown')",
        binding,
        prompt.id,
        call_id,
        prompt.turn_id,
    )
    if not changed:
        raise StaleTurn(f"call {call_id} has nothing to ask about any more")


def mark_unknown(
    tx: Transaction, call_id: str, prompt: Prompt, cards: Sequence[Draft]
) -> tuple[OutboxRow, ...]:
    """See Store.mark_unknown. A stop that was asked for before the hub died is overtaken by the question:
    the person is told of the call, and may stop again."""
    changed = tx.run(
        "UPDATE calls SET state = 'unknown', binding = ?, prompt_id = ?, answer = NULL, answered_by = NULL"
        " WHERE id = ? AND turn_id = ? AND state = 'running'",
        prompt.binding,
        prompt.id,
        call_id,
        prompt.turn_id,
    )
    if not changed:
        raise StaleTurn(f"call {call_id} of turn {prompt.turn_id} was not running")
    _wait(tx, prompt.turn_id)
    _insert(tx, prompt)
    return (*withdraw(tx, prompt.turn_id), *_show(tx, prompt.turn_id, cards))


def _show(tx: Transaction, turn_id: str, cards: Sequence[Draft]) -> tuple[OutboxRow, ...]:
    return enqueue(tx, as_replies(tx, turn_id, cards), Cause(turn_id=turn_id))


def _wait(tx: Transaction, turn_id: str) -> None:
    tx.run(
        "UPDATE turns SET state = 'waiting', attempts = 0, stop_requested = 0, running_since = NULL,"
        " spent_us = spent_us + max(0, ? - running_since) WHERE id = ? AND state = 'running'",
        tx.clock.now(),
        turn_id,
    )


def _insert(tx: Transaction, prompt: Prompt) -> None:
    secret = prompt.offer.secret if isinstance(prompt.offer, Replies) else None
    tx.run(
        "INSERT INTO prompts (id, kind, state, thread_id, turn_id, call_id, requester_id, title, detail,"
        " options, labels, free_text, approvers, quorum, not_requester, binding, tool, pattern, created_at,"
        " expires_at, escalate_to, remind_at, escalate_at, calls, secret, awaits)"
        " VALUES (?, ?, 'open', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        prompt.id,
        prompt.kind.value,
        prompt.thread_id,
        prompt.turn_id,
        prompt.call_id,
        prompt.requester_id,
        storable(prompt.title),
        storable(prompt.detail),
        *offer_columns(prompt.offer),
        strings_to_json(prompt.rule.approvers),
        prompt.rule.quorum,
        int(prompt.rule.not_requester),
        prompt.binding,
        prompt.tool,
        None if prompt.pattern is None else storable(prompt.pattern),
        prompt.created_at,
        prompt.expires_at,
        strings_to_json(prompt.rule.escalate_to),
        prompt.remind_at,
        prompt.escalate_at,
        asked_to_json(prompt.calls),
        secret,
        int(secret is not None),
    )
    put_card(tx, prompt.thread_id, prompt.turn_id, prompt.id)
    tx.changes.prompts[prompt.id] = prompt.thread_id
    record(
        tx,
        AuditKind.ASKED,
        prompt.id,
        actor=prompt.requester_id,
        thread_id=prompt.thread_id,
        about=prompt.kind.value,
        call=prompt.call_id,
        calls=[call.call_id for call in prompt.calls],
        tool=prompt.tool,
        binding=prompt.binding,
        approvers=list(prompt.rule.approvers),
        quorum=prompt.rule.quorum,
        events=events_of(tx, prompt.turn_id),
    )


def offer_columns(offer: Offer) -> tuple[str, str | None, int]:
    """`options`, `labels` and `free_text`."""
    match offer:
        case Options(options):
            return " ".join(options), None, 0
        case Replies(labels, free_text, _):
            return "", strings_to_json(tuple(storable(label) for label in labels)), int(free_text)
        case _:
            assert_never(offer)
