"""Lists with a button for each line, and the threads that a person can switch to."""

from collections.abc import Sequence

from core.messages import ChoiceAnswer, InboundMessage
from core.store.checkpoints import ListMenu, MenuKind, ThreadChoice
from core.store.codecs import strings_from_json, strings_to_json
from core.store.effects import OpenMenu
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
