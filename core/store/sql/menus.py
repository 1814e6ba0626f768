"""Lists with a button for each line, the threads that a person can switch to, and choices that speak; and
credential requests that concern an event, found by its person and channel, never by its thread.
"""

# ruff: noqa: S608 - column lists are constants of this package, values are always bound

from collections.abc import Sequence
from dataclasses import replace

from core.messages import ChoiceAnswer, InboundMessage, MessageRef
from core.ports import OutboxRow
from core.store.accept import ASKED_FOR, AskedCredentials, ShownCard
from core.store.codecs import message_from_json, refs_from_json, strings_from_json, strings_to_json
from core.store.conversations import ListMenu, MenuKind, ThreadChoice
from core.store.effects import OpenMenu
from core.store.rows import GateView
from core.store.sql import people
from core.store.sql.gates import change_copy
from core.store.sql.mapping import GATE_VIEW, GATE_VIEW_FROM, contains, gate_views_of, like, marks
from core.store.units import Row, Transaction
from core.users import Identity, ThreadKey


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


_AWAITED = "g.requester_id = ? AND g.secret IS NOT NULL AND g.awaits = 1 AND t.channel = ?"


def asked(tx: Transaction, event: InboundMessage, user_id: str) -> AskedCredentials | None:
    """Return the requests a person's text on this channel may answer. None for nearly every text."""
    sql = f"SELECT {GATE_VIEW} FROM {GATE_VIEW_FROM} WHERE {_AWAITED} ORDER BY g.created_at, g.id, v.at"
    waits = "SELECT 1 FROM gates WHERE requester_id = ? AND secret IS NOT NULL AND awaits = 1 LIMIT 1"
    requests = gate_views_of(tx.all(sql, user_id, event.channel)) if tx.one(waits, user_id) else ()
    replied = None if event.reply_to is None else _shown_as(tx, event.channel, user_id, event.reply_to)
    joins = event.album is not None and _album_withheld(tx, event.album, event.channel, user_id)
    if not requests and replied is None and not joins:
        return None
    cards = tuple(card for request in requests for card in _cards(tx, request))
    return AskedCredentials(requests, replied, cards, joins_withheld=joins)


def is_awaited(tx: Transaction, identity: Identity | None, channel: str) -> bool:
    """Return True if a text of this account may be a credential that its person was asked for."""
    if identity is None:
        return False
    sql = f"SELECT 1 FROM gates g JOIN threads t ON t.id = g.thread_id WHERE {_AWAITED} LIMIT 1"
    return tx.one(sql, identity.user.user_id, channel) is not None


def forget(tx: Transaction, gate_ids: tuple[str, ...]) -> None:
    """Forget requests that the person knows are over. Their texts are ordinary again."""
    for gate_id in gate_ids:
        tx.run("UPDATE gates SET awaits = 0 WHERE id = ?", gate_id)


def _cards(tx: Transaction, request: GateView) -> list[ShownCard]:
    """Return the request's cards in its own conversation."""
    rows = tx.all(
        "SELECT refs, order_key FROM outbox WHERE gate_id = ? AND channel = ? AND address = ?"
        " AND edit_of IS NULL AND order_key IS NOT NULL ORDER BY id",
        request.gate.id,
        request.thread.channel,
        request.thread.address,
    )
    return [ShownCard(request.gate.id, refs_from_json(refs), order_key) for refs, order_key in rows]


def _shown_as(tx: Transaction, channel: str, user_id: str, ref: MessageRef) -> GateView | None:
    """Return the request, open or closed, that a message is a card of."""
    rows = tx.all(
        "SELECT g.id, o.refs FROM gates g JOIN outbox o ON o.gate_id = g.id"
        " WHERE g.requester_id = ? AND g.secret IS NOT NULL AND o.channel = ? AND o.edit_of IS NULL",
        user_id,
        channel,
    )
    found = next((gate_id for gate_id, refs in rows if ref in refs_from_json(refs)), None)
    if found is None:
        return None
    sql = f"SELECT {GATE_VIEW} FROM {GATE_VIEW_FROM} WHERE g.id = ? ORDER BY v.at"
    return gate_views_of(tx.all(sql, found))[0]


def _album_withheld(tx: Transaction, album: str, channel: str, user_id: str) -> bool:
    """Return True if another part of the album was withheld: one message is one credential."""
    return None is not tx.one(
        "SELECT 1 FROM inbox WHERE album = ? AND channel = ? AND user_id = ?"
        " AND substr(outcome, 1, ?) = ? LIMIT 1",
        album,
        channel,
        user_id,
        len(ASKED_FOR),
        ASKED_FOR,
    )
