"""Requests in plain words that amount to a routine, as the demo model understands them."""

import re
from collections.abc import Mapping

NAME_CHARS = 40

_DAYS: Mapping[str, str] = {
    "day": "*",
    "weekday": "1-5",
    "monday": "1",
    "tuesday": "2",
    "wednesday": "3",
    "thursday": "4",
    "friday": "5",
    "saturday": "6",
    "sunday": "0",
}
_AT = re.compile(
    rf"every\s+(?P<day>{'|'.join(_DAYS)})\s+at\s+(?P<hour>[01]?\d|2[0-3])(?::(?P<minute>[0-5]\d))?:\s*(?P<prompt>.+)",
    re.IGNORECASE | re.DOTALL,
)
_WHEN = re.compile(r"when someone says\s(?P<pattern>.+?):\s(?P<prompt>.+)", re.IGNORECASE | re.DOTALL)
_NAMED = re.compile(r"routine\s+(?P<name>[^:\n]{1,40}):\s*(?P<prompt>.+)", re.IGNORECASE | re.DOTALL)


def wanted_routine(text: str) -> Mapping[str, str] | None:
    """The arguments of `routine_create` that a request amounts to; None if it is no such request."""
    if found := _AT.fullmatch(text):
        schedule = f"{int(found['minute'] or 0)} {int(found['hour'])} * * {_DAYS[found['day'].lower()]}"
        return _routine(found["prompt"], kind="cron", schedule=schedule)
    if found := _WHEN.fullmatch(text):
        return _routine(found["prompt"].strip(), kind="event", pattern=found["pattern"].strip())
    if found := _NAMED.fullmatch(text):
        return {"name": found["name"].strip(), "prompt": found["prompt"], "kind": "manual"}
    return None


def _routine(prompt: str, **trigger: str) -> Mapping[str, str]:
    return {"name": " ".join(prompt.split())[:NAME_CHARS].strip(), "prompt": prompt, **trigger}
