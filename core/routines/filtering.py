"""What of a payload concerns a routine: the fields its filters ask for, and those its model is shown."""

from collections.abc import Mapping
from typing import Any, cast

from core.routine import Filters, SystemEvent


def passes(filters: Filters, payload: Any) -> bool:
    """Whether the payload has every named field, as a text, number or truth value that reads as the filter
    does, without regard to case. A payload that is no object passes where nothing is asked."""
    return all(_reads_as(value_of(payload, name), wanted) for name, wanted in filters)


def value_of(payload: Any, name: str) -> Any:
    """One field, `a.b` being field `b` of field `a`; one that is itself called `a.b` comes first. None where
    there is none."""
    if not isinstance(payload, dict):
        return None
    page = cast("dict[str, Any]", payload)
    if name in page:
        return page[name]
    first, _, rest = name.partition(".")
    return value_of(page.get(first), rest) if rest else None


def _reads_as(value: Any, wanted: str) -> bool:
    match value:
        case bool():
            text = "true" if value else "false"
        case str():
            text = value
        case int() | float():
            text = str(value)
        case _:
            return False
    return text.casefold() == wanted.casefold()


def listens(trigger: SystemEvent, source: str, event_type: str, payload: Mapping[str, Any]) -> bool:
    """Whether such an event is meant by the trigger; the case of letters makes no difference."""
    same = trigger.source.casefold() == source.casefold()
    return (
        same and trigger.event_type.casefold() == event_type.casefold() and passes(trigger.filters, payload)
    )
