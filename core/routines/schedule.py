"""Schedules: when a routine is due, as instants.

`cronsim` computes with the wall clock; the rules for days when clocks change stand here, because its own
rules
miss slots where clocks change by half an hour or at midnight:

- Times of day (`30 2 * * *`) happen once a day: one that does not exist at the first instant that does, one
  that exists twice the first time.
- A rhythm (`*` or a step in minute or hour) happens at every real instant whose reading fits: not at readings
  that never show, and twice at those that show twice.
- `at` a date and time happens once (`core.routine`).
- `every N m` and `h` count real time from the anchor; `every N d` keeps the anchor's time of day.

Instants are microseconds UTC. Slots are at least a minute apart.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import Any, cast

from cronsim import CronSim, CronSimError

from core.clock import SECOND_US
from core.lazy import dataclass
from core.routine import FORMS, Cron, Downtime, Once, in_full, is_once, read_once
from core.users import zone_of

# The text of a schedule, read once: the computation of slots and the description share the
# result.
#
# Five fields (minute, hour, day of month, month, day of week) of values, ranges, lists and
# steps, names of months and weekdays, 0 and 7 both Sunday; `@hourly` and the like; `every N m`,
# `h` or `d`.

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
    """Error for an unusable schedule; the message names the part, and a correct form."""


@dataclass(frozen=True, slots=True)
class Part:
    """One field: the values it accepts, and its written form. `open`: `*` alone, so no restriction;
    `step`: of `*/step`, else 1; `stepped`: with a step or a `*` anywhere, so that it means "every"."""

    values: tuple[int, ...]
    open: bool
    step: int
    stepped: bool


@dataclass(frozen=True, slots=True)
class Fields:
    """A schedule by wall clock time."""

    minute: Part
    hour: Part
    day: Part
    month: Part
    weekday: Part

    @property
    def at_fixed_hours(self) -> bool:
        """Return whether it names times of day, rather than a rhythm."""
        return not (self.minute.stepped or self.hour.stepped)


@dataclass(frozen=True, slots=True)
class Every:
    """A rhythm: every `count` minutes, hours or days (`unit` m, h, d)."""

    count: int
    unit: str

    @property
    def period_s(self) -> int:
        """Length of the period; a day counts as 24 hours."""
        return self.count * _UNITS_S[self.unit]


def read_schedule(text: str) -> Fields | Every | Once:
    """Read a schedule. Raises ScheduleRefused."""
    said = text.strip().lower()
    if is_once(said):
        once = read_once(said)
        if once is None:
            raise ScheduleRefused(f"is not a time; write {FORMS}")
        return once
    if said.startswith("every"):
        return _every(said)
    if said.startswith("@"):
        if said not in NAMED:
            raise ScheduleRefused(f"{said!r} is not one of {', '.join(NAMED)}")
        said = NAMED[said]
    parts = said.split()
    if len(parts) != 5:
        raise ScheduleRefused(
            f"has {len(parts)} fields; it needs five: minute, hour, day of month, month, day of week"
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
            "must look like 'every 15 m', 'every 2 hours' or 'every 3 d', and be at least one minute"
        )
    every = Every(int(found[1] or 1), found[2][0])
    if not 0 < every.period_s <= MAX_EVERY_DAYS * 86_400:
        raise ScheduleRefused(f"must be between every minute and every {MAX_EVERY_DAYS} days")
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
    """Return values by name, whole or by its first three letters."""
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
        high = 7  # "fri-sun": a week may end with Sunday, too
    if high < low:
        raise ScheduleRefused(f"{name}: the range {span!r} runs backward; write it as two ranges")
    return set(range(low, (min(high, 6) if slash and not dash and most == 7 else high) + 1, step))


def _number(name: str, text: str, least: int, most: int, names: dict[str, int]) -> int:
    if text in names:
        return names[text]
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and least <= int(text) <= most):
        raise ScheduleRefused(f"{name}: {text!r} is not from {least} to {most}")
    return int(text)


_SECOND = timedelta(seconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STRIDE = timedelta(days=7)
"""Step between two checks for a clock change; no change is undone within so short a time."""
MAX_COUNTED = 1000
"""Number of skipped slots counted; this number means "or more"."""


@dataclass(frozen=True, slots=True)
class Due:
    """Slots to run now, the oldest first, and the number of skipped ones (see MAX_COUNTED)."""

    slots: tuple[int, ...]
    skipped: int


class Schedule:
    """The slots of one schedule in one time zone. `anchor`: the start for `every`; whole minutes."""

    def __init__(self, text: str, zone: tzinfo, anchor: int = 0) -> None:
        """Read the schedule. Raises ScheduleRefused, also for a schedule without any slot."""
        self.said = read_schedule(text)
        self._zone = zone
        self._anchor = _instant(anchor // (60 * SECOND_US) * 60 * SECOND_US)
        self._expression = expression(self.said) if isinstance(self.said, Fields) else ""
        if not isinstance(self.said, Once) and self.next_after(anchor) is None:
            raise ScheduleRefused("never occurs: there is no such date")

    def next_after(self, after: int) -> int | None:
        """Return the first slot later than the instant; None if there is none within fifty years."""
        slot = next(self._slots(_instant(after)), None)
        return None if slot is None else _microseconds(slot)

    def between(self, after: int, until: int) -> Iterator[int]:
        """Yield the slots later than `after` and not later than `until`."""
        for instant in self._slots(_instant(after)):
            slot = _microseconds(instant)
            if slot > until:
                return
            yield slot

    def due(self, after: int, now: int, downtime: Downtime, limit: int, grace_s: int = 60) -> Due:
        """Return the slots later than `after`, the last one handled, that must run. Slots within `grace_s`
        are on time. Of
        older ones `SKIP` runs none, `ONE_CATCH_UP` the newest if none is on time, and `ALL` the newest, so
        that at most
        `limit` run altogether."""
        passed, more = self._newest(after, now, limit if downtime is Downtime.ALL else 1)
        on_time = [slot for slot in passed if slot >= now - grace_s * SECOND_US]
        kept = on_time if downtime is Downtime.SKIP else passed
        return Due(tuple(kept), min(len(passed) - len(kept) + more, MAX_COUNTED))

    def _newest(self, after: int, now: int, count: int) -> tuple[list[int], int]:
        """Return the newest slots, at most `count`, and the number of the others."""
        window = 3600 * SECOND_US
        while True:
            begin = max(after, now - window)
            found = list(self.between(begin, now))
            if len(found) >= count or begin == after:
                earlier = sum(1 for _ in islice(self.between(after, begin), MAX_COUNTED))
                return found[-count:], max(len(found) - count, 0) + earlier
            window *= 4

    # --- instants ---

    def _slots(self, after: datetime) -> Iterator[datetime]:
        """Yield all later slots, in order."""
        match self.said:
            case Every(unit="d"):
                yield from self._every_days(after, self.said.count)
            case Every():
                period = timedelta(seconds=self.said.period_s)
                slot = self._anchor + ((after - self._anchor) // period + 1) * period
                while True:
                    yield slot
                    slot += period
            case Once():
                slot = once_at(self.said, self._zone)
                if slot > after:
                    yield slot
            case Fields():
                find = self._at_times_of_day if self.said.at_fixed_hours else self._in_rhythm
                yield from find(after)

    def _at_times_of_day(self, after: datetime) -> Iterator[datetime]:
        last = after
        for reading in self._readings(self._reading(after)):
            slot = first_instant(reading, self._zone)
            if slot > last:
                yield slot
                last = slot

    def _in_rhythm(self, after: datetime) -> Iterator[datetime]:
        """Yield slots from clock change to clock change; in between, readings and instants run in
        parallel."""
        offset = self._offset(after)
        begin = after
        while True:
            change: datetime | None = None
            for reading in self._readings((begin + offset).replace(tzinfo=None)):
                slot = reading.replace(tzinfo=UTC) - offset
                if self._offset(slot) != offset:
                    change = next_change(begin + _SECOND, slot, self._zone)
                    break
                yield slot
                begin = slot
            if change is None:
                return
            begin, offset = change - _SECOND, self._offset(change)

    def _every_days(self, after: datetime, count: int) -> Iterator[datetime]:
        anchor = self._reading(self._anchor)
        number = max((self._reading(after) - anchor).days // count - 1, 0)
        while True:
            number += 1
            slot = first_instant(anchor + timedelta(days=number * count), self._zone)
            if slot > after:
                yield slot

    def _readings(self, after: datetime) -> Iterator[datetime]:
        """Yield the wall clock's readings at slots, as if clocks never changed."""
        try:
            yield from CronSim(self._expression, after)
        except CronSimError:
            return  # such as 30 February

    def _reading(self, instant: datetime) -> datetime:
        return instant.astimezone(self._zone).replace(tzinfo=None)

    def _offset(self, instant: datetime) -> timedelta:
        return instant.astimezone(self._zone).utcoffset() or timedelta(0)


def first_instant(reading: datetime, zone: tzinfo) -> datetime:
    """Return when the wall clock first reads that, or, if it never does, the first instant after the gap."""
    early = reading.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if early.astimezone(zone).replace(tzinfo=None) == reading:
        return early
    late = reading.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return next_change(min(early, late), max(early, late), zone)


def once_at(once: Once, zone: tzinfo) -> datetime:
    """Return the instant of a one-time schedule: the first that the wall clock shows so, or the first after
    the gap."""
    return first_instant(once.reading, UTC if once.exact else zone)


def next_change(begin: datetime, end: datetime, zone: tzinfo) -> datetime:
    """Return the first instant after `begin` at which the zone's offset differs from that at `begin`;
    there is one not later than `end`."""
    offset = begin.astimezone(zone).utcoffset()
    while begin + _STRIDE < end and (begin + _STRIDE).astimezone(zone).utcoffset() == offset:
        begin += _STRIDE
    end = min(end, begin + _STRIDE)
    while end - begin > _SECOND:
        middle = begin + (end - begin) // 2
        middle = middle.replace(microsecond=0)
        if middle <= begin:
            break
        if middle.astimezone(zone).utcoffset() == offset:
            begin = middle
        else:
            end = middle
    return end.replace(microsecond=0)


def expression(fields: Fields) -> str:
    """Return the expression for cronsim. It takes a field that begins with `*` as unrestricted, so every
    other field is
    written out: then day of month and day of week are alternatives, as intended."""
    return " ".join("*" if part.open else _listed(part) for part in _parts(fields))


def _parts(fields: Fields) -> tuple[Part, ...]:
    return fields.minute, fields.hour, fields.day, fields.month, fields.weekday


def _listed(part: Part) -> str:
    return ",".join(map(str, part.values))


def jitter_us(routine_id: str, jitter_s: int) -> int:
    """Return the delay of a routine's runs after their slots: the same for all its slots, different for
    each routine."""
    if jitter_s == 0:
        return 0
    return int.from_bytes(sha256(routine_id.encode()).digest()[:8]) % (jitter_s * SECOND_US)


def _instant(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _microseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1)


# The slots of a trigger that run at a look, and the time of the next look.


@dataclass(frozen=True, slots=True)
class DueSlots:
    """The due slots of a schedule. `slots`: to run now, in order; `skipped`: the number left out;
    `next_slot_at`: None if there is none."""

    slots: tuple[int, ...]
    skipped: int
    next_slot_at: int | None


def slots_due(trigger: Cron, slot_at: int, now: int, anchor: int) -> DueSlots:
    """Return the slots from `slot_at` up to now that run, by the routine's downtime policy. `anchor`: the
    start of
    "every 2 h". Raises ValueError for a schedule this version cannot read."""
    schedule = schedule_of(trigger, anchor)
    due = schedule.due(slot_at - 1, now, trigger.downtime, trigger.catch_up_limit)
    return DueSlots(due.slots, due.skipped, schedule.next_after(max(now, slot_at)))


def next_slot(trigger: Cron, after: int, anchor: int) -> int | None:
    """Return the first slot after that time; None if there are no more. Raises ValueError for an
    unreadable schedule."""
    return schedule_of(trigger, anchor).next_after(after)


def schedule_of(trigger: Cron, anchor: int) -> Schedule:
    """Return the trigger's schedule. Raises ValueError for one this version cannot read."""
    return _schedule(trigger.schedule, trigger.timezone, anchor)


def with_time_in_full(page: Mapping[str, object], now: int, timezone: str) -> Mapping[str, object]:
    """Return a page that describes a routine (see core.routine_json) with its one-time schedule, such as
    `in 20 m`, written in full. `timezone`: of a schedule without one."""
    given = page.get("trigger")
    trigger = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    schedule, named = trigger.get("schedule"), trigger.get("timezone") or timezone
    if not isinstance(schedule, str) or not isinstance(named, str):
        return page
    moment = datetime.fromtimestamp(now // SECOND_US, UTC)
    return {**page, "trigger": {**trigger, "schedule": in_full(schedule, moment, zone_of(named) or UTC)}}


@lru_cache(maxsize=1024)
def _schedule(text: str, timezone: str, anchor: int) -> Schedule:
    found = zone_of(timezone)
    if found is None:
        raise ValueError(f"there is no time zone {timezone}")
    return Schedule(text, found, anchor)
