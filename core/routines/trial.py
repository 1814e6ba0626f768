"""What a text would do to a routine, without running it."""

from dataclasses import dataclass

from core.messages import Address, InboundMessage, Sender
from core.routine import Event, Lightweight
from core.routines.asking import Asked, user_text
from core.routines.listening import Listening
from core.routines.stored import definition_of
from core.store.routines import RoutineRow


@dataclass(frozen=True, slots=True)
class Trial:
    """`model_input`: what the model would be asked, without the files of its context."""

    fires: bool
    why: str
    model_input: str | None = None


def try_text(row: RoutineRow, text: str) -> Trial:
    """Whether a message of this text would fire the routine, and what the model would get."""
    try:
        definition = definition_of(row)
    except ValueError as error:
        return Trial(False, str(error))
    trigger = definition.trigger
    if not isinstance(trigger, Event):
        return Trial(
            False, f"it is not fired by messages but by its {row.text.kind.replace('_', ' ')} trigger"
        )
    listening = Listening()
    listening.changed(row)
    matches = listening.matches(_message(trigger, text))
    if not row.enabled:
        return Trial(False, "it is paused")
    if not matches:
        return Trial(False, f"the pattern {trigger.pattern!r} is not found in the text")
    found = matches[0].found
    groups = ", ".join(f"{number}: {group!r}" for number, group in enumerate(found.groups, start=1))
    why = f"the pattern is found{f' (groups {groups})' if groups else ''}"
    if not isinstance(definition.action, Lightweight):
        return Trial(True, why)
    asked = Asked(definition.name, "", definition.action, found, {}, {}, row.state, 0, "UTC")
    return Trial(True, why, user_text(asked))


def _message(trigger: Event, text: str) -> InboundMessage:
    """One that passes every filter."""
    sender = trigger.sender or "you"
    return InboundMessage(
        key="test",
        order_key="",
        channel=trigger.channel or "test",
        address=Address("test"),
        scope=None,
        sender=Sender(sender, sender, sender),
        text=text,
        sent_at=0,
    )
