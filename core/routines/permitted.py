"""What a routine may be, seen from who makes it."""

from collections.abc import Iterator

from core.forms import Problem
from core.routine import Definition, Webhook
from core.users import Principal, Role


def not_permitted(definition: Definition, by: Principal, *, priced: bool) -> Iterator[Problem]:
    """All that this person may not have, or nobody yet. `priced`: whether it is known what models cost."""
    if by.role is Role.GUEST:
        yield Problem("", "guests have no routines")
    if isinstance(definition.trigger, Webhook) and by.role is not Role.OWNER:
        yield Problem("trigger.type", "webhook is for the owner, whose secrets sign requests")
    if getattr(definition.action, "context_paths", ()) and by.role is not Role.OWNER:
        yield Problem("action.context_paths", "is for the owner, whose workspace it is")
    if getattr(definition.action, "grants", ()) and by.role is not Role.OWNER:
        yield Problem("action.grants", "is for the owner: such calls need a person's word each time")
    if definition.notify.address is not None and by.role is not Role.OWNER:
        told = "is for the owner: leave it out, and you are told where you write to the hub yourself"
        yield Problem("notify.address", told)
    if definition.guardrails.daily_budget_micro_usd is not None and not priced:
        told = "needs a price of the model: set input_usd_per_million there, or use daily_tokens"
        yield Problem("guardrails.daily_budget_micro_usd", told)
