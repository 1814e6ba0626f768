"""A person in the assistant's place, and a thread that is taken up again."""

from collections.abc import Callable

from core.messages import InboundMessage, Message, plain
from core.ports import OutboxRow
from core.store.accept import Accepted
from core.store.effects import StopThread
from core.store.rows import Draft
from core.store.sqlite import people
from core.store.sqlite.effects import Effects
from core.store.sqlite.feed import position, put_event, put_messages
from core.store.sqlite.inbox import NewEvent, record
from core.store.sqlite.outbox import Cause, enqueue
from core.store.sqlite.thread_keys import lead_to, leads_to
from core.store.sqlite.transaction import Transaction
from core.store.sqlite.transcript import append
from core.store.sqlite.turns import thread
from core.thread_key import ThreadKey
from core.transcript import OperatorSaid
from core.users import Principal

ANSWERED = "answered as operator"
STOPPED = "command: /stop"
STOPPED_NOTHING = "command: /stop, nothing was running"


def answer(
    tx: Transaction, event: InboundMessage, by: Principal, thread_id: str, message: Message
) -> tuple[OutboxRow, ...]:
    """See Store.answer_as_operator. While a turn is active, it is said within that turn: entries of a turn
    stay side by side."""
    if tx.one("SELECT 1 FROM inbox WHERE key = ?", event.key) is not None:
        return ()
    on = thread(tx, thread_id)
    append(tx, thread_id, on.active_turn_id, [OperatorSaid(event.text, by.name)])
    tx.run("UPDATE threads SET last_active_at = ? WHERE id = ?", tx.clock.now(), thread_id)
    event_id = record(tx, NewEvent(event, ANSWERED, user_id=by.user_id, thread_id=thread_id))
    draft = Draft(on.channel, on.address, message, tx.ids.row_id())
    return enqueue(tx, [draft], Cause(event_id=event_id))


def take_up(tx: Transaction, user_id: str, channel: str, external_id: str, thread_id: str) -> bool:
    """See Store.take_up_thread."""
    mine = "SELECT 1 FROM threads WHERE id = ? AND owner_id = ? AND channel = ?"
    if tx.one(mine, thread_id, user_id, channel) is None:
        return False
    key = ThreadKey(user_id, channel, external_id)
    if not leads_to(tx, key, thread_id):
        lead_to(tx, key, thread_id)
    people.set_active_thread(tx, user_id, thread_id)
    return True


def stop(
    tx: Transaction, event: InboundMessage, by: Principal, thread_id: str, told: Callable[[int], str]
) -> Accepted:
    """See Store.stop_thread."""
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
