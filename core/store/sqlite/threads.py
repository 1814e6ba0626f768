"""Threads as they begin: the first message of one, and the key that leads to it from then on."""

from core.messages import ChoiceAnswer, InboundMessage
from core.store.codec import storable
from core.store.rows import ThreadRow
from core.store.sqlite import people
from core.store.sqlite.thread_keys import lead_to
from core.store.sqlite.transaction import Transaction
from core.thread_key import ThreadKey, scope_of

TITLE_LIMIT_CHARS = 80


def begin(
    tx: Transaction, event: InboundMessage | ChoiceAnswer, owner_id: str, thread_id: str, title: str
) -> ThreadRow:
    """Open a thread where the event came from, and let its key lead there."""
    now = tx.clock.now()
    scope = scope_of(event.scope if isinstance(event, InboundMessage) else None)
    tx.run(
        "INSERT INTO threads (id, owner_id, channel, scope, address, title, created_at, last_active_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        thread_id,
        owner_id,
        event.channel,
        scope,
        event.address,
        title,
        now,
        now,
    )
    lead_there(tx, event, owner_id, thread_id)
    return ThreadRow(thread_id, owner_id, event.channel, scope, event.address, title, now, now)


def lead_there(tx: Transaction, event: InboundMessage | ChoiceAnswer, user_id: str, thread_id: str) -> None:
    """Let the event's key lead to a thread that there is, which becomes its person's active one."""
    external_id = event.scope if isinstance(event, InboundMessage) else None
    lead_to(tx, ThreadKey(user_id, event.channel, external_id), thread_id)
    people.set_active_thread(tx, user_id, thread_id)


def title_of(text: str) -> str:
    """A thread is called by the first words said in it; a command that opens one is none of them."""
    first_line = text.strip().partition("\n")[0]
    return storable(first_line[:TITLE_LIMIT_CHARS])
