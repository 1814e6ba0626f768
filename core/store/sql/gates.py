"""Queries, answers and changes of gates. A gate gets exactly one outcome (compare-and-set on
`open`)."""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from dataclasses import replace

from core.audit_chain import AuditKind
from core.gates import Answer, Chose, GateKind, Option, Wrote, joint_binding
from core.lazy import dataclass
from core.messages import Address, Message, MessageRef
from core.ports import OutboxRow, SendState
from core.store.accept import ShownCard
from core.store.codecs import (
    answer_to_text,
    message_from_json,
    message_to_json,
    refs_from_json,
    refs_to_json,
    storable,
    strings_to_json,
)
from core.store.conversations import may_become
from core.store.effects import EditCall
from core.store.rows import GateView, TurnStart, TurnState
from core.store.sql.audit import events_of, hidden, record
from core.store.sql.feed import put_outcome
from core.store.sql.gate_open import offer_columns
from core.store.sql.job_changes import judge_changes
from core.store.sql.mapping import GATE_VIEW, GATE_VIEW_FROM, gate_views_of, not_held
from core.store.sql.memory import drop_secrets_of
from core.store.sql.turns import started
from core.store.units import Transaction
from core.users import Principal

# The cards of a gate: every one that was shown is changed to its outcome.


def change_cards(
    tx: Transaction, gate_id: str, card: Message | None, outcome_text: str
) -> tuple[OutboxRow, ...]:
    """Queue a change of every card of a gate: to `card`, or to the same card with its outcome.

    If a card is still to be sent, its change waits until then. Failed cards are left alone.
    """
    copies = tx.all(
        "SELECT id, channel, address, message FROM outbox"
        " WHERE gate_id = ? AND edit_of IS NULL AND state <> 'failed' ORDER BY id",
        gate_id,
    )
    return tuple(
        change_copy(
            tx,
            copy_id,
            channel,
            address,
            gate_id,
            card or replace(message_from_json(message), choices=(), outcome=outcome_text),
        )
        for copy_id, channel, address, message in copies
    )


def change_copy(
    tx: Transaction, copy_id: int, channel: str, address: str, gate_id: str | None, changed: Message
) -> OutboxRow:
    """Queue a change of a message that was put into the outbox."""
    nonce = tx.ids.row_id()
    row_id = tx.insert(
        "INSERT INTO outbox (channel, address, message, state, settled, nonce, edit_of, gate_id,"
        " attempts, created_at) VALUES (?, ?, ?, 'queued', 0, ?, ?, ?, 0, ?)",
        channel,
        address,
        message_to_json(changed),
        nonce,
        copy_id,
        gate_id,
        tx.clock.now(),
    )
    return OutboxRow(row_id, channel, Address(address), changed, SendState.QUEUED, nonce, edit_of=copy_id)


def learn_copy(
    tx: Transaction, gate_id: str, channel: str, address: Address, ref: MessageRef, settled: str | None
) -> tuple[OutboxRow, ...]:
    """Record where a pressed card is shown, if its sending was never answered. From then on it gets
    the outcome like the others.

    `settled`: the gate's outcome in words, if it is closed; the card is then changed at once. An
    outbox row whose outcome was ambiguous is settled by this."""
    rows = tx.all(
        "SELECT message, refs FROM outbox WHERE gate_id = ? AND edit_of IS NULL ORDER BY id", gate_id
    )
    if not rows or any(ref in refs_from_json(refs) for _, refs in rows):
        return ()
    now = tx.clock.now()
    lost = tx.one(
        "SELECT id, refs FROM outbox WHERE gate_id = ? AND edit_of IS NULL AND channel = ? AND address = ?"
        " AND state = 'ambiguous' AND settled = 0 ORDER BY id LIMIT 1",
        gate_id,
        channel,
        address,
    )
    if lost is not None:  # the buttons are on the last part
        _show_at(tx, lost[0], (*refs_from_json(lost[1]), ref))
        return ()
    copy_id = tx.insert(
        "INSERT INTO outbox (channel, address, message, state, settled, nonce, refs, gate_id, attempts,"
        " created_at, sent_at) VALUES (?, ?, ?, 'sent', 1, ?, ?, ?, 0, ?, ?)",
        channel,
        address,
        rows[0][0],
        tx.ids.row_id(),
        refs_to_json((ref,)),
        gate_id,
        now,
        now,
    )
    if settled is None:
        return ()
    changed = replace(message_from_json(rows[0][0]), choices=(), outcome=settled)
    return (change_copy(tx, copy_id, channel, address, gate_id, changed),)


def find_pressed(tx: Transaction) -> None:
    """Settle cards that an ended hub was sending but have been pressed already: they are where
    they were pressed."""
    found = tx.all(
        "SELECT o.id, o.refs, c.refs FROM outbox o JOIN outbox c ON c.gate_id = o.gate_id"
        " WHERE o.settled = 0 AND o.state = 'sending' AND o.edit_of IS NULL AND c.edit_of IS NULL"
        f" AND {not_held('o')}"
        " AND c.state = 'sent' AND c.id > o.id AND c.channel = o.channel AND c.address = o.address"
    )
    for row_id, refs, pressed in found:
        _show_at(tx, row_id, (*refs_from_json(refs), *refs_from_json(pressed)[-1:]))


def _show_at(tx: Transaction, row_id: int, refs: tuple[MessageRef, ...]) -> None:
    """Record that the row's last part is shown."""
    tx.run(
        "UPDATE outbox SET refs = ?, state = 'sent', settled = 1, sent_at = ?, error = NULL"
        " WHERE id = ? AND settled = 0",
        refs_to_json(refs),
        tx.clock.now(),
        row_id,
    )


_REFUSING = frozenset({Option.DENY, Option.SKIP, Option.STOP})


@dataclass(frozen=True, slots=True)
class Closed:
    """The result of closing a gate: card changes to send, and the turn that continues."""

    outbox: tuple[OutboxRow, ...]
    started: TurnStart | None


# --- queries ------------------------------------------------------------------------------------------


def open_in_thread(tx: Transaction, thread_id: str) -> tuple[GateView, ...]:
    """Return the open gates that keep a thread's turn waiting, oldest first."""
    waited_for = "g.thread_id = ? AND g.state = 'open' AND g.kind NOT IN ('changes', 'credential')"
    return _views(tx, f"{waited_for} ORDER BY g.created_at, g.id", thread_id)


def view(tx: Transaction, gate_id: str) -> GateView | None:
    """Return a gate by id, open or not."""
    found = _views(tx, "g.id = ? ORDER BY g.id", gate_id)
    return found[0] if found else None


def shown_as(tx: Transaction, channel: str, ref: MessageRef) -> GateView | None:
    """Return the open gate that a message on a channel is a card of."""
    found = card_with(tx, channel, ref)
    return None if found is None else view(tx, found[0])


def card_with(tx: Transaction, channel: str, ref: MessageRef) -> tuple[str, str] | None:
    """Return the id of that gate, and the card as first sent (JSON)."""
    rows = tx.all(
        "SELECT o.gate_id, o.refs, o.message FROM gates g JOIN outbox o ON o.gate_id = g.id"
        " WHERE g.state = 'open' AND o.channel = ? AND o.edit_of IS NULL",
        channel,
    )
    found = ((gate_id, message) for gate_id, refs, message in rows if ref in refs_from_json(refs))
    return next(found, None)


def cards_of(
    tx: Transaction, open_gates: Sequence[GateView], channel: str, address: str | None
) -> tuple[ShownCard, ...]:
    """Return the cards of the gates at an address."""
    shown: list[ShownCard] = []
    for one in open_gates:
        rows = tx.all(
            "SELECT refs, order_key FROM outbox WHERE gate_id = ? AND channel = ? AND address = ?"
            " AND edit_of IS NULL AND order_key IS NOT NULL ORDER BY id",
            one.gate.id,
            channel,
            address,
        )
        shown.extend(ShownCard(one.gate.id, refs_from_json(row[0]), row[1]) for row in rows)
    return tuple(shown)


def _views(tx: Transaction, condition: str, *parameters: str) -> tuple[GateView, ...]:
    sql = f"SELECT {GATE_VIEW} FROM {GATE_VIEW_FROM} WHERE {condition}, v.at"
    return gate_views_of(tx.all(sql, *parameters))


# --- answering ------------------------------------------------------------------------------------------


def cast_vote(tx: Transaction, gate_id: str, voter: Principal, answer: Answer) -> None:
    """Record a person's answer to an open gate. A later answer replaces an earlier one."""
    row = tx.one(
        "INSERT INTO votes (gate_id, user_id, name, option, at)"
        " SELECT id, ?, ?, ?, ? FROM gates WHERE id = ? AND state = 'open'"
        " ON CONFLICT (gate_id, user_id) DO UPDATE SET option = excluded.option, at = excluded.at"
        " RETURNING (SELECT thread_id FROM gates WHERE id = votes.gate_id)",
        voter.user_id,
        storable(voter.name),
        answer_to_text(answer),
        tx.clock.now(),
        gate_id,
    )
    if row is not None:  # others who must approve may be watching
        (thread_id,) = row
        tx.changes.gates[gate_id] = thread_id
        said = _said(answer)
        record(tx, AuditKind.VOTE, gate_id, actor=voter.user_id, thread_id=thread_id, answer=said)


def edit(tx: Transaction, change: EditCall, editor: Principal) -> tuple[OutboxRow, ...]:
    """Change the arguments an open gate asks about. Earlier approvals were for other arguments, so
    they are deleted."""
    gate = change.edited.gate
    tx.run(
        "UPDATE gates SET title = ?, detail = ?, options = ?, approvers = ?, binding = ?, pattern = ?,"
        " first_choice = ?, changed_at = ? WHERE id = ? AND state = 'open'",
        storable(gate.title),
        storable(gate.detail),
        offer_columns(gate.offer)[0],
        strings_to_json(gate.rule.approvers),
        gate.binding,
        None if gate.pattern is None else storable(gate.pattern),
        gate.first_choice,
        tx.clock.now(),
        gate.id,
    )
    tx.run("DELETE FROM votes WHERE gate_id = ?", gate.id)
    tx.run(
        "UPDATE calls SET edited = ?, edited_by = ?, binding = ? WHERE id = ?",
        storable(change.edited.arguments),
        storable(editor.name),
        gate.binding,
        gate.call_id,
    )
    tx.changes.gates[gate.id] = gate.thread_id
    record(
        tx,
        AuditKind.EDITED,
        gate.id,
        actor=editor.user_id,
        thread_id=gate.thread_id,
        call=gate.call_id,
        arguments=hidden(tx, storable(change.edited.arguments)),
        binding=gate.binding,
    )
    return () if change.card is None else change_cards(tx, gate.id, change.card, "")


def close(
    tx: Transaction,
    gate_id: str,
    outcome: Answer | None,
    outcome_text: str,
    card: Message | None,
    closed_by: Principal | None,
) -> Closed | None:
    """Close a gate with its one outcome. Return None if it has one already.

    A credential stays awaited if no person answered: the person asked may not have seen that the
    request ended."""
    row = tx.one(
        "UPDATE gates SET state = 'closed', outcome = ?, outcome_text = ?, closed_by = ?, closed_at = ?,"
        " awaits = CASE WHEN ? THEN 0 ELSE awaits END"
        " WHERE id = ? AND state = 'open' RETURNING kind, turn_id, call_id, thread_id, calls, binding",
        None if outcome is None else answer_to_text(outcome),
        storable(outcome_text),
        None if closed_by is None else closed_by.user_id,
        tx.clock.now(),
        closed_by is not None,
        gate_id,
    )
    if row is None:
        return None
    kind, turn_id, call_id, thread_id, calls, binding = row
    if kind == GateKind.AUTH:
        tx.run("DELETE FROM sign_ins WHERE id = ?", gate_id)
    put_outcome(tx, thread_id, turn_id, gate_id)
    record(
        tx,
        AuditKind.DECIDED,
        gate_id,
        actor=None if closed_by is None else closed_by.user_id,
        thread_id=thread_id,
        about=kind,
        call=call_id,
        outcome=_said(outcome),
        events=events_of(tx, turn_id),
    )
    tx.changes.gates[gate_id] = thread_id
    if kind == GateKind.CHANGES:
        accepted, actor = outcome is Option.APPROVE, None if closed_by is None else closed_by.user_id
        judge_changes(tx, turn_id, binding, outcome_text, actor, accepted=accepted)
    if call_id is not None and outcome is not None:
        _answer_call(tx, GateKind(kind), call_id, outcome, closed_by)
    if calls is not None and isinstance(outcome, Option):
        _answer_calls(tx, gate_id, turn_id, binding, outcome, closed_by)
    rows = change_cards(tx, gate_id, card, outcome_text)
    if kind == GateKind.SETTINGS:
        _settle_settings(tx, gate_id, turn_id, approved=outcome is Option.APPROVE)
    waits = kind not in (GateKind.SETTINGS, GateKind.CREDENTIAL)
    return Closed(rows, _go_on(tx, turn_id, outcome) if waits else None)


def _settle_settings(tx: Transaction, gate_id: str, run_id: str, *, approved: bool) -> None:
    """Let a change of the configuration file be written after this commit, or forget it."""
    if approved:
        tx.run("UPDATE settings_changes SET approved = 1 WHERE id = ?", gate_id)
    elif row := tx.one("DELETE FROM settings_changes WHERE id = ? RETURNING wanted", gate_id):
        drop_secrets_of(tx, row[0])
    tx.run("UPDATE runs SET state = 'done', ended_at = ? WHERE id = ?", tx.clock.now(), run_id)
    tx.changes.settings = True


def _said(answer: Answer | None) -> str | None:
    """Return an answer as the audit names it. Text written by people stays in the conversation."""
    if answer is None:
        return None
    return answer.value if isinstance(answer, Option) else "answered"


def _answer_call(
    tx: Transaction, kind: GateKind, call_id: str, outcome: Answer, answered_by: Principal | None
) -> None:
    if kind is GateKind.AUTH:
        _signed_in(tx, call_id, well=isinstance(outcome, Wrote) or outcome is Option.SIGNED_IN)
        return
    if kind is GateKind.UNKNOWN_OUTCOME:
        state = "unknown"
    else:
        state = "denied" if outcome in _REFUSING else "approved"
    tx.run(
        "UPDATE calls SET state = ?, answer = ?, answered_by = ?"
        " WHERE id = ? AND state IN ('waiting', 'unknown')",
        state,
        answer_to_text(outcome),
        None if answered_by is None else storable(answered_by.name),
        call_id,
    )


def _signed_in(tx: Transaction, call_id: str, *, well: bool) -> None:
    """Let a call run as it was decided before, or let it end."""
    if not well:
        tx.run(
            "UPDATE calls SET state = 'denied', answer = ? WHERE id = ? AND state = 'waiting'",
            Option.NOT_SIGNED_IN.value,
            call_id,
        )
        return
    tx.run(
        "UPDATE calls SET state = CASE WHEN answer IS NULL THEN 'intent' WHEN answer = 'retry' THEN 'unknown'"
        " ELSE 'approved' END WHERE id = ? AND state = 'waiting'",
        call_id,
    )


def _answer_calls(
    tx: Transaction,
    gate_id: str,
    turn_id: str,
    binding: str,
    outcome: Option,
    answered_by: Principal | None,
) -> None:
    """Record the outcome on a joint gate's calls. If the calls differ from those shown, the approval
    does not count, and each is asked about separately."""
    asked = tx.all(
        "SELECT id, binding FROM calls WHERE turn_id = ? AND gate_id = ? AND state = 'waiting' ORDER BY seq",
        turn_id,
        gate_id,
    )
    state, answer = "approved", outcome
    if outcome is Option.ONE_BY_ONE or joint_binding(bound for _, bound in asked) != binding:
        state, answer = "intent", Option.ONE_BY_ONE
    if outcome in _REFUSING:
        state, answer = "denied", outcome
    name = None if answered_by is None else storable(answered_by.name)
    for call_id, _ in asked:
        tx.run(
            "UPDATE calls SET state = ?, answer = ?, answered_by = ? WHERE id = ?",
            state,
            answer.value,
            name,
            call_id,
        )


_MAY_GO_ON = may_become(TurnState.RUNNING)


def _go_on(tx: Transaction, turn_id: str, outcome: Answer | None) -> TurnStart | None:
    """Continue a waiting turn once it has no open gate left.

    "Continue" and answers to a question are new human input, so the turn's budget is counted from
    here."""
    if tx.one("SELECT 1 FROM gates WHERE turn_id = ? AND state = 'open' LIMIT 1", turn_id) is not None:
        return None
    fresh = outcome is Option.CONTINUE or isinstance(outcome, Chose | Wrote)
    changed = tx.run(
        "UPDATE runs SET state = 'running', attempts = 1, running_since = ?, fence = ?,"
        " spent_us = CASE WHEN ? THEN 0 ELSE spent_us END,"
        " budget_from = CASE WHEN ? THEN last_seq ELSE budget_from END"
        f" WHERE id = ? AND state IN {_MAY_GO_ON}",
        tx.clock.now(),
        tx.lease.fence,
        fresh,
        fresh,
        turn_id,
    )
    return started(tx, turn_id) if changed else None


def cancel_of_turn(tx: Transaction, turn_id: str, outcome_text: str) -> tuple[OutboxRow, ...]:
    """Close a turn's open gates without an answer. The turn must have ended before."""
    rows: list[OutboxRow] = []
    for (gate_id,) in tx.all(
        "SELECT id FROM gates WHERE turn_id = ? AND state = 'open' ORDER BY created_at", turn_id
    ):
        closed = close(tx, gate_id, None, outcome_text, None, None)
        rows.extend(closed.outbox if closed is not None else ())
    return tuple(rows)
