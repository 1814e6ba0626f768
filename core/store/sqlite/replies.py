"""What is quoted where several people write: whatever is said because of a message quotes that message, so
that who wrote it knows whom it is for."""

from collections.abc import Sequence
from dataclasses import replace

from core.messages import ChoiceAnswer, InboundMessage
from core.store.rows import Draft
from core.store.sqlite.transaction import Transaction


def as_replies(tx: Transaction, turn_id: str, messages: Sequence[Draft]) -> Sequence[Draft]:
    """A turn's answers and cards. Copies elsewhere quote nothing: what was asked is not there."""
    row = messages and tx.one(
        "SELECT u.reply_to, t.channel, t.address FROM turns u JOIN threads t ON t.id = u.thread_id"
        " WHERE u.id = ?",
        turn_id,
    )
    if not row or row[0] is None:
        return messages
    reply_to, *here = row
    return [
        replace(draft, message=replace(draft.message, reply_to=reply_to))
        if [draft.channel, draft.address] == here
        else draft
        for draft in messages
    ]


def in_reply(event: InboundMessage | ChoiceAnswer, messages: Sequence[Draft]) -> list[Draft]:
    """What the hub says at once to an event, such as a command's answer."""
    if not isinstance(event, InboundMessage) or event.direct or event.ref is None:
        return list(messages)
    return [replace(draft, message=replace(draft.message, reply_to=event.ref)) for draft in messages]
