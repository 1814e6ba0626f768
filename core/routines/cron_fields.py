"""The text of a schedule, read once: what computes its slots and what tells it to people share the result.

Five fields — minute, hour, day of month, month, day of week — of values, ranges, lists and steps, names of
months and weekdays, 0 and 7 both Sunday; `@hourly` and its like; `every N m`, `h` or `d`.
"""

import re
from dataclasses import dataclass

MAX_EVERY_DAYS = 366
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_UNITS_S = {"m": 60, "h": 3600, "d": 86_400}
_EVERY = re.compile(
    r"every (\d{1,6})? ?(m|min|mins|minutes?|h|hrs?|hours?|d|days?)", re.ASCII | re.IGNORECASE
)


class ScheduleRefused(ValueError):
    """A schedule that cannot be used; the message says which part, and what would be right."""


@dataclass(frozen=True, slots=True)
class Part:
    """One field: the values it takes, and how it was written. `open`: `*` alone, so that it asks for nothing;
    `step`: of `*/step`, else 1; `stepped`: with a step or a `*` anywhere, so that it means "every"."""

    values: tuple[int, ...]
    open: bool
    step: int
    stepped: bool


@dataclass(frozen=True, slots=True)
class Fields:
    """A schedule by the clock on the wall."""

    minute: Part
    hour: Part
    day: Part
    month: Part
    weekday: Part

    @property
    def at_fixed_hours(self) -> bool:
        """Whether it names times of day, rather than a rhythm."""
        return not (self.minute.stepped or self.hour.stepped)


@dataclass(frozen=True, slots=True)
class Every:
    """A rhythm: every `count` minutes, hours or days (`unit` m, h, d)."""

    count: int
    unit: str

    @property
    def period_s(self) -> int:
        """Of a day, as long as most are."""
        return self.count * _UNITS_S[self.unit]


def read_schedule(text: str) -> Fields | Every:
    """Raises ScheduleRefused."""
    said = text.strip().lower()
    if said.startswith("every"):
        return _every(said)
    if said.startswith("@"):
        if said not in NAMED:
            raise ScheduleRefused(f"{said!r} is none of {', '.join(NAMED)}")
        said = NAMED[said]
    parts = said.split()
    if len(parts) != 5:
        raise ScheduleRefused(
            f"has {len(parts)} fields, not the five of minute, hour, day of month, month, day of week"
        )
    minute, hour, day, month, weekday = parts
    return Fields(
        _part("minute", minute, 0, 59),
        _part("hour", hour, 0, 23),
        _part("day of month", "*" if day == "?" else day, 1, 31),
        _part("month", month, 1, 12, _named(MONTHS, 1)),
        _part("day of week", "*" if weekday == "?" else weekday, 0, 7, _named(WEEKDAYS, 0)),
    )


def _every(said: str) -> Every:
    found = _EVERY.fullmatch(" ".join(said.split()))
    if found is None:
        raise ScheduleRefused(
            "must be such as 'every 15 m', 'every 2 hours' or 'every 3 d'; a minute at least"
        )
    every = Every(int(found[1] or 1), found[2][0])
    if not 0 < every.period_s <= MAX_EVERY_DAYS * 86_400:
        raise ScheduleRefused(f"must be from every minute to every {MAX_EVERY_DAYS} days")
    return every


def _part(name: str, text: str, least: int, most: int, names: dict[str, int] | None = None) -> Part:
    values: set[int] = set()
    for item in text.split(","):
        values |= _item(name, item, least, most, names or {})
    step = re.fullmatch(r"\*/(\d+)", text)
    weekdays = most == 7
    kept = {value % 7 for value in values} if weekdays else values
    return Part(tuple(sorted(kept)), text == "*", int(step[1]) if step else 1, "*" in text or "/" in text)


def _named(names: tuple[str, ...], first: int) -> dict[str, int]:
    """Values by name, whole or by its first three letters."""
    numbered = [(name.lower(), number) for number, name in enumerate(names, first)]
    return {spelt: number for name, number in numbered for spelt in (name, name[:3])}


def _item(name: str, item: str, least: int, most: int, names: dict[str, int]) -> set[int]:
    span, slash, step_text = item.partition("/")
    step = _number(name, step_text, 1, most, {}) if slash else 1
    low_text, dash, high_text = span.partition("-")
    if span == "*":
        return set(range(least, (6 if most == 7 else most) + 1, step))
    low = _number(name, low_text, least, most, names)
    high = _number(name, high_text, least, most, names) if dash else most if slash else low
    if dash and low > high == 0 and most == 7:
        high = 7  # "fri-sun": a week ends with Sunday, too
    if high < low:
        raise ScheduleRefused(f"{name}: {span!r} runs backwards; write it as two ranges")
    return set(range(low, (min(high, 6) if slash and not dash and most == 7 else high) + 1, step))


def _number(name: str, text: str, least: int, most: int, names: dict[str, int]) -> int:
    if text in names:
        return names[text]
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and least <= int(text) <= most):
        raise ScheduleRefused(f"{name}: {text!r} is not from {least} to {most}")
    return int(text)
