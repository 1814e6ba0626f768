"""Filters of events and webhooks: what a payload must say for a routine to fire."""

from typing import Any, cast

from core.routine import Filters


def passes(filters: Filters, payload: Any) -> bool:
    """Whether the payload has every named field at its top level, as a text, number or truth value that reads
    as the filter does, without regard to case. A payload that is no object passes where nothing is asked."""
    if not filters:
        return True
    if not isinstance(payload, dict):
        return False
    page = cast("dict[str, Any]", payload)
    return all(_reads_as(page.get(name), wanted) for name, wanted in filters)


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
