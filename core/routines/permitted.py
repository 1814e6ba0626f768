"""What a routine may be, seen from who makes it."""

from collections.abc import Iterator

from core.forms import Problem
from core.routine import Definition, Webhook
from core.users import Principal, Role


def not_permitted(definition: Definition, by: Principal) -> Iterator[Problem]:
    """All that this person may not have, or nobody yet."""
    if by.role is Role.GUEST:
        yield Problem("", "guests have no routines")
    if isinstance(definition.trigger, Webhook) and by.role is not Role.OWNER:
        yield Problem("trigger.type", "webhook is for the owner, whose secrets sign requests")
    if getattr(definition.action, "use_tools", False):
        yield Problem("action.use_tools", "is not there yet: runs have no tools")
    if getattr(definition.action, "context_paths", ()) and by.role is not Role.OWNER:
        yield Problem("action.context_paths", "is for the owner, whose workspace it is")
