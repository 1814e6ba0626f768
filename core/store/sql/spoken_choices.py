"""Menus: messages whose choices are words that a press sends in the person's name, once."""

from dataclasses import replace

from core.messages import ChoiceAnswer, InboundMessage
from core.ports import OutboxRow
from core.store.codecs import message_from_json
from core.store.sql import people
from core.store.sql.gates import change_copy
from core.store.transaction import Transaction


def spoken(tx: Transaction, event: ChoiceAnswer) -> InboundMessage | None:
    """Return the message that a press on a menu is; None if there is no such menu or choice, or another
    person's conversation.

    The message follows the waiting ones in its conversation."""
    row = tx.one(
        "SELECT o.message, coalesce(o.order_key, ''), t.owner_id, coalesce(k.scope, t.scope),"
        " (SELECT max(w.order_key) FROM inbox w WHERE w.thread_id = t.id AND w.outcome = 'waiting')"
        " FROM outbox o LEFT JOIN runs r ON r.id = o.turn_id LEFT JOIN inbox i ON i.id = o.event_id"
        " JOIN threads t ON t.id = coalesce(r.thread_id, i.thread_id)"
        " LEFT JOIN thread_keys k ON k.thread_id = t.id AND k.channel = o.channel"
        " WHERE o.menu_id = ? AND o.channel = ? ORDER BY o.id LIMIT 1",
        event.gate_id,
        event.channel,
    )
    if row is None:
        return None
    message, order_key, owner_id, scope, waiting = row
    choices = message_from_json(message).choices
    speaker = people.identity(tx, event.channel, event.sender.platform_user_id)
    if speaker is None or speaker.user.user_id != owner_id or not 0 <= event.choice < len(choices):
        return None
    return InboundMessage(
        key=event.key,
        order_key=max(order_key, waiting or ""),
        channel=event.channel,
        address=event.address,
        scope=scope[1:] if scope.startswith("=") else None,
        sender=event.sender,
        text=choices[event.choice].says,
        sent_at=event.sent_at,
        direct=event.direct,
        menu_id=event.gate_id,
    )


def answered(tx: Transaction, menu_id: str) -> str | None:
    """Return what was said with a menu, which is said once; None while its choices are there."""
    row = tx.one(
        "SELECT e.message FROM outbox o JOIN outbox e ON e.edit_of = o.id"
        " WHERE o.menu_id = ? AND e.marks = 0 LIMIT 1",
        menu_id,
    )
    return None if row is None else message_from_json(row[0]).outcome


_OF_MENU = (
    "SELECT id, channel, address, message FROM outbox WHERE menu_id = ?1 OR id IN"
    " (SELECT n.outbox_id FROM routine_runs r JOIN notices n ON n.key = 'routine:' || r.id"
    " WHERE r.menu_id = ?1)"
)


def settle(tx: Transaction, menu_id: str, outcome: str) -> tuple[OutboxRow, ...]:
    """Replace the choices of a menu by what was said."""
    rows = tx.all(_OF_MENU, menu_id)
    changed: list[OutboxRow] = []
    for row_id, channel, address, message in rows:
        shown = replace(message_from_json(message), choices=(), outcome=outcome)
        changed.append(change_copy(tx, row_id, channel, address, None, shown))
    return tuple(changed)
