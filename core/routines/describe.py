"""Triggers in words. A schedule is described from the same fields that its slots are computed from."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice
from typing import assert_never

from core.clock import SECOND_US
from core.lazy_dataclass import dataclass
from core.routine import Cron, Event, Filters, Manual, SystemEvent, Trigger, Webhook
from core.routines.definitions import definition_of
from core.routines.once import Once
from core.routines.schedule import (
    MONTHS,
    WEEKDAYS,
    Every,
    Fields,
    Part,
    Schedule,
    once_at,
    read_schedule,
    schedule_of,
)
from core.store.routine_rows import RoutineRow
from core.timezones import zone

_UNITS = {"m": "minute", "h": "hour", "d": "day"}
_MAX_TIMES = 6


def what_fires(trigger: Trigger) -> str:
    """Describe a trigger, such as "A message on chat in which “deploy” is found". Raises
    ScheduleRefused."""
    match trigger:
        case Cron():
            return describe(trigger.schedule, trigger.timezone)
        case Event():
            channel = f" on {trigger.channel}" if trigger.channel else ""
            sender = f" by {trigger.sender}" if trigger.sender else ""
            return f"A message{channel}{sender} in which “{trigger.pattern}” matches"
        case SystemEvent():
            return f"The event {trigger.source} {trigger.event_type}{_where(trigger.filters)}"
        case Webhook():
            return f"A request to /api/webhooks/{trigger.path}{_where(trigger.filters)}"
        case Manual():
            return "Started by a person only"
        case _:
            assert_never(trigger)


def _where(filters: Filters) -> str:
    return f" where {_joined([f'{name} is “{value}”' for name, value in filters])}" if filters else ""


def describe(schedule: str, timezone: str = "") -> str:
    """Describe a schedule, such as "At 09:00 on Monday to Friday (Europe/Berlin)". Raises
    ScheduleRefused."""
    said = read_schedule(schedule)
    if isinstance(said, Once):
        return _once(said, timezone)
    words = _every(said.count, _UNITS[said.unit]) if isinstance(said, Every) else _fields(said)
    zone = f" ({timezone})" if timezone else ""
    return f"{words[0].upper()}{words[1:]}{zone}"


def _once(once: Once, timezone: str) -> str:
    """Describe one time; of one that clocks skip, also why it is later than written."""
    found = zone(timezone) if timezone else None
    local = once_at(once, found or UTC).astimezone(found or UTC)
    words = f"once at {local:%Y-%m-%d} {_clock(local)}{f' ({timezone})' if found else ''}"
    skipped = not once.exact and local.replace(tzinfo=None) != once.reading
    told = f"; clocks skip {_clock(once.reading)} that day" if skipped else ""
    return f"{words[0].upper()}{words[1:]}{told}"


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S}" if at.second else f"{at:%H:%M}"


def _fields(fields: Fields) -> str:
    return " ".join(filter(None, (_time(fields.minute, fields.hour), _day(fields), _month(fields.month))))


def _time(minute: Part, hour: Part) -> str:
    times = [f"{at:02}:{past:02}" for at in hour.values for past in minute.values]
    if not hour.stepped and not minute.stepped and len(times) <= _MAX_TIMES:
        return f"at {_joined(times)}"
    hours = "" if hour.open else f" of {_hours(hour)}"
    if minute.open or minute.step > 1:
        return _every(minute.step, "minute") + hours
    if minute.values == (0,):
        return _every(hour.step, "hour") if hour.open or hour.step > 1 else f"on the hour{hours}"
    past = (
        f"at minute{'s' if len(minute.values) > 1 else ''} {_ranges(list(map(str, minute.values)), minute)}"
    )
    return past + (" of every hour" if hour.open else hours)


def _hours(hour: Part) -> str:
    if hour.step > 1:
        return f"every {_ordinal(hour.step)} hour"
    return f"hour{'s' if len(hour.values) > 1 else ''} {_ranges(list(map(str, hour.values)), hour)}"


def _day(fields: Fields) -> str:
    day, weekday = fields.day, fields.weekday
    days = f"on the {_ranges([_ordinal(value) for value in day.values], day)} of the month"
    if day.step > 1:
        days = f"on every {_ordinal(day.step)} day of the month from the 1st"
    ordered = sorted(weekday.values, key=lambda value: value or 7)
    names = [WEEKDAYS[value] for value in ordered]
    weekdays = f"on {_ranges(names, weekday, ordered)}"
    match day.open, weekday.open:
        case True, True:
            fixed = not (fields.minute.stepped or fields.hour.stepped)
            return "every day" if fixed and fields.month.open else ""
        case False, True:
            return days
        case True, False:
            return weekdays
        case _:
            return f"{days} or {weekdays}"


def _month(month: Part) -> str:
    return "" if month.open else f"in {_ranges([MONTHS[value - 1] for value in month.values], month)}"


def _ranges(names: list[str], part: Part, values: Sequence[int] | None = None) -> str:
    """Return names of values; three or more in a row as "first to last"."""
    numbers = list(part.values if values is None else (value or 7 for value in values))
    if len(names) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{names[0]} to {names[-1]}"
    return _joined(names)


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _every(count: int, unit: str) -> str:
    return f"every {unit}" if count == 1 else f"every {count} {unit}s"


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


# The next slots, by calendar day in the local time zone.

MAX_A_DAY = 24
"""Slots of one routine counted on one day; this number means "or more"."""
SHOWN_A_DAY = 3


@dataclass(frozen=True, slots=True)
class DaySlots:
    """One routine's slots of one day: the first ones, and their number (see MAX_A_DAY)."""

    routine_id: str
    name: str
    slots: tuple[int, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Day:
    """A day with due slots, the earliest first."""

    date: date
    routines: tuple[DaySlots, ...]


def calendar(rows: Iterable[RoutineRow], zone: tzinfo, now: int, days: int) -> tuple[Day, ...]:
    """Return the slots of enabled schedules from now until the end of `days` days in `zone`, today included.
    Days without slots are left out. Jitter is not shown, because it is small next to a day."""
    end = _midnight(_local_day(now, zone) + timedelta(days=days), zone)
    found: dict[date, list[DaySlots]] = {}
    for row in rows:
        for day, slots in _by_day(row, zone, now, end):
            found.setdefault(day, []).append(slots)
    return tuple(
        Day(day, tuple(sorted(found[day], key=lambda one: (one.slots, one.name)))) for day in sorted(found)
    )


def _by_day(row: RoutineRow, zone: tzinfo, now: int, end: int) -> Iterator[tuple[date, DaySlots]]:
    schedule = _schedule(row)
    if schedule is None or row.text.next_slot_at is None:
        return
    at = schedule.next_after(max(now, row.text.next_slot_at - 1))
    while at is not None and at < end:
        day = _local_day(at, zone)
        over = _midnight(day + timedelta(days=1), zone)
        slots = tuple(islice(schedule.between(at - 1, over - 1), MAX_A_DAY))
        yield day, DaySlots(row.id, row.text.name, slots[:SHOWN_A_DAY], len(slots))
        at = schedule.next_after(over - 1)


def _schedule(row: RoutineRow) -> Schedule | None:
    try:
        trigger = definition_of(row).trigger
        return schedule_of(trigger, row.created_at) if isinstance(trigger, Cron) else None
    except ValueError:
        return None  # the list shows the reason


def _local_day(at: int, zone: tzinfo) -> date:
    return datetime.fromtimestamp(at // SECOND_US, zone).date()


def _midnight(day: date, zone: tzinfo) -> int:
    """Return the first moment of the day."""
    begin = datetime(day.year, day.month, day.day, tzinfo=zone)
    return int(begin.astimezone(UTC).timestamp()) * SECOND_US
