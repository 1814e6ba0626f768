"""Lists with a button for each line, the threads that a person can switch to, and choices that speak."""

from collections.abc import Sequence
from dataclasses import replace

from core.messages import ChoiceAnswer, InboundMessage
from core.ports import OutboxRow
from core.store.checkpoints import ListMenu, MenuKind, ThreadChoice
from core.store.codecs import message_from_json, strings_from_json, strings_to_json
from core.store.effects import OpenMenu
from core.store.sql import people
from core.store.sql.gates import change_copy
from core.store.sql.mapping import contains, like, marks
from core.store.transaction import Row, Transaction
from core.users import ThreadKey


def open_menu(
    tx: Transaction,
    opened: OpenMenu,
    user_id: str,
    thread_id: str | None,
    event: InboundMessage | ChoiceAnswer,
) -> None:
    """Record a list, so that presses in it are understood."""
    tx.run(
        "INSERT INTO menus (id, kind, user_id, thread_id, scope, items, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        opened.message.gate_id,
        opened.kind.value,
        user_id,
        thread_id,
        event.scope if isinstance(event, InboundMessage) else None,
        strings_to_json(opened.items),
        tx.clock.now(),
    )


def menu(tx: Transaction, menu_id: str) -> ListMenu | None:
    """Return a list by the id in its buttons."""
    row = tx.one("SELECT kind, user_id, thread_id, scope, items FROM menus WHERE id = ?", menu_id)
    if row is None:
        return None
    return ListMenu(menu_id, MenuKind(row[0]), row[1], row[2], row[3], strings_from_json(row[4]))


MAX_LISTED = 20
"""The number of threads in a list, which each platform can show as buttons."""
_CHOICE = (
    "SELECT t.id, t.title, t.channel, t.closed_at FROM threads t WHERE t.kind = 'chat' AND t.owner_id = ?"
)
_NEWEST = f"ORDER BY t.last_active_at DESC, t.id DESC LIMIT {MAX_LISTED}"


def own_threads(tx: Transaction, user_id: str, thread_ids: Sequence[str]) -> Sequence[ThreadChoice]:
    """Return those of the threads that the person owns."""
    return _choices(tx.all(f"{_CHOICE} AND t.id IN {marks(thread_ids)} {_NEWEST}", user_id, *thread_ids))


def find_threads(
    tx: Transaction, user_id: str, wanted: str, thread_id: str | None, here: ThreadKey | None
) -> Sequence[ThreadChoice]:
    """Return a person's threads by id, else by their whole title, else by a part of it. Empty `wanted`: all
    that are not archived. `here`: only those that began in this conversation and were last active in it."""
    only, place = "", ()
    if here is not None:
        only, place = " AND t.channel = ? AND t.scope = ?", (here.channel, here.scope)
    if not wanted:
        return _choices(tx.all(f"{_CHOICE}{only} AND t.archived_at IS NULL {_NEWEST}", user_id, *place))
    if thread_id is not None and (own := _by_id(tx, user_id, thread_id, only, place)):
        return own
    whole = tx.all(f"{_CHOICE}{only} AND lower(t.title) = lower(?) {_NEWEST}", user_id, *place, wanted)
    part = f"{_CHOICE}{only} AND {contains('t.title')} {_NEWEST}"
    return _choices(whole or tx.all(part, user_id, *place, like(wanted)))


def _by_id(
    tx: Transaction, user_id: str, thread_id: str, only: str, place: tuple[str, ...]
) -> Sequence[ThreadChoice]:
    return _choices(tx.all(f"{_CHOICE}{only} AND t.id = ?", user_id, *place, thread_id))


def _choices(rows: Sequence[Row]) -> Sequence[ThreadChoice]:
    return tuple(ThreadChoice(row[0], row[1], row[2], row[3] is not None) for row in rows)


# Menus whose choices are words that a press sends in the person's name, once.


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
