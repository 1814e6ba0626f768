"""The slots to come, day by day as the clock on somebody's wall has days."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import islice

from core.clock import SECOND_US
from core.routine import Cron
from core.routines.schedule import Schedule
from core.routines.slots import schedule_of
from core.routines.stored import definition_of
from core.store.routines import RoutineRow

MOST_A_DAY = 24
"""Slots of one routine that are counted on one day; that many stands for "or more"."""
SHOWN_A_DAY = 3


@dataclass(frozen=True, slots=True)
class DaySlots:
    """One routine's slots of one day: the first of them, and how many there are (see MOST_A_DAY)."""

    routine_id: str
    name: str
    slots: tuple[int, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Day:
    """A day on which something is due, the earliest first."""

    date: date
    routines: tuple[DaySlots, ...]


def calendar(rows: Iterable[RoutineRow], zone: tzinfo, now: int, days: int) -> tuple[Day, ...]:
    """The slots of enabled schedules from now until the end of so many days of that zone, today among them.
    Days without any are left out. Jitter is not told: it is small beside a day."""
    end = _midnight(_day(now, zone) + timedelta(days=days), zone)
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
        day = _day(at, zone)
        over = _midnight(day + timedelta(days=1), zone)
        slots = tuple(islice(schedule.between(at - 1, over - 1), MOST_A_DAY))
        yield day, DaySlots(row.id, row.text.name, slots[:SHOWN_A_DAY], len(slots))
        at = schedule.next_after(over - 1)


def _schedule(row: RoutineRow) -> Schedule | None:
    try:
        trigger = definition_of(row).trigger
        return schedule_of(trigger, row.created_at) if isinstance(trigger, Cron) else None
    except ValueError:
        return None  # the list says why


def _day(at: int, zone: tzinfo) -> date:
    return datetime.fromtimestamp(at // SECOND_US, zone).date()


def _midnight(day: date, zone: tzinfo) -> int:
    """When the day begins."""
    begin = datetime(day.year, day.month, day.day, tzinfo=zone)
    return int(begin.astimezone(UTC).timestamp()) * SECOND_US
