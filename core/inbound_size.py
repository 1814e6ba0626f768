"""How large what people send may be. It is asked before anything else looks at it."""

from dataclasses import replace

from core.messages import (
    MESSAGE_LIMIT_CHARS,
    NAME_LIMIT_CHARS,
    Attachment,
    ChoiceAnswer,
    InboundEvent,
    InboundMessage,
    Sender,
    Unreadable,
)


def within_size(event: InboundEvent) -> InboundEvent:
    """Return the event as it is taken: a message that is too long counts as one that is not understood, a
    form or a change that is too long as unreadable, and long names are cut."""
    match event:
        case InboundMessage(text=text, edits=edits):
            event = _with_short_names(event)
            if len(text) <= MESSAGE_LIMIT_CHARS:
                return event
            if edits is not None:
                return _unreadable(event)
            too_long = f"a message of more than {MESSAGE_LIMIT_CHARS:,} characters"
            return replace(event, text="", not_understood=too_long)
        case ChoiceAnswer(form=str(form)) if len(form) > MESSAGE_LIMIT_CHARS:
            return _unreadable(event)
        case ChoiceAnswer(sender=sender) if _is_long(sender):
            return replace(event, sender=_short_sender(sender))
        case Unreadable(summary=summary) if len(summary) > NAME_LIMIT_CHARS:
            return replace(event, summary=_short(summary))
        case _:
            return event


def _with_short_names(event: InboundMessage) -> InboundMessage:
    if _is_long(event.sender):
        event = replace(event, sender=_short_sender(event.sender))
    if any(
        len(one.name) > NAME_LIMIT_CHARS or len(one.media_type) > NAME_LIMIT_CHARS
        for one in event.attachments
    ):
        event = replace(event, attachments=tuple(map(_short_attachment, event.attachments)))
    return event


def _is_long(sender: Sender) -> bool:
    return len(sender.name) > NAME_LIMIT_CHARS or len(sender.username or "") > NAME_LIMIT_CHARS


def _short_sender(sender: Sender) -> Sender:
    username = None if sender.username is None else _short(sender.username)
    return replace(sender, name=_short(sender.name), username=username)


def _short_attachment(attachment: Attachment) -> Attachment:
    return replace(attachment, name=_short(attachment.name), media_type=_short(attachment.media_type))


def _short(name: str) -> str:
    return name if len(name) <= NAME_LIMIT_CHARS else f"{name[: NAME_LIMIT_CHARS - 1]}…"


def _unreadable(event: InboundMessage | ChoiceAnswer) -> Unreadable:
    summary = f"more than {MESSAGE_LIMIT_CHARS:,} characters"
    return Unreadable(event.key, event.channel, summary, event.sent_at)
