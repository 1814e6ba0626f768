"""A year of slots in five time zones, against croniter wherever the clocks are left alone.

croniter is asked for readings of the clock on the wall, without a time zone: on a day that has 24 hours these
are the readings at our slots. Days on which clocks change are computed by hand in test_schedule.
"""

import random
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter

from core.routines.schedule import Schedule
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC")
BEGIN = datetime(2026, 1, 1)  # noqa: DTZ001 — a reading of the clock on the wall
DAY = timedelta(days=1)
EXPRESSIONS = 200
DENSE = 24
"""Slots a day beyond which a few days tell as much as the year."""

MINUTES = ("0", "30", "*/15", "5,35", "*", "10-20", "7", "59", "3-59/17", "0,15,30,45")
HOURS = ("9", "*", "0", "2", "*/2", "9-17", "1,3,23", "8-18/5", "3", "22")
DAYS = ("*", "*", "*", "1", "15,31", "1-7", "29-31")
MONTHS = ("*", "*", "*", "jan", "3,10", "4-9", "feb,NOV")
WEEKDAYS = ("*", "*", "1-5", "0", "7", "sun", "MON-FRI", "2,4,6", "5-7", "sat")


def expressions(generator: random.Random) -> list[str]:
    """All different."""
    drawn: set[str] = set()
    while len(drawn) < EXPRESSIONS:
        parts = (generator.choice(each) for each in (MINUTES, HOURS, DAYS, MONTHS, WEEKDAYS))
        drawn.add(" ".join(parts))
    return sorted(drawn)


DRAWN = expressions(random.Random(2026))


@cache
def ordinary_days(zone: str) -> frozenset[int]:
    """Days of the year, from 0, that have 24 hours there."""
    there = ZoneInfo(zone)
    lengths = {
        number: (BEGIN + (number + 1) * DAY).replace(tzinfo=there).astimezone(UTC)
        - (BEGIN + number * DAY).replace(tzinfo=there).astimezone(UTC)
        for number in range(365)
    }
    return frozenset(number for number, length in lengths.items() if length == DAY)


def readings(schedule: Schedule, zone: str, day: int) -> list[datetime]:
    """Return what the clock on the wall reads at the slots of a day."""
    there = ZoneInfo(zone)
    begin, end = ((BEGIN + number * DAY).replace(tzinfo=there) for number in (day, day + 1))
    found = schedule.between(
        *((one.astimezone(UTC) - EPOCH) // timedelta(microseconds=1) - 1 for one in (begin, end))
    )
    return [(EPOCH + timedelta(microseconds=slot)).astimezone(there).replace(tzinfo=None) for slot in found]


def by_croniter(expression: str, day: int) -> list[datetime]:
    """The same, as croniter has it."""
    ticks = croniter(expression.replace("5-7", "5,6,0"), BEGIN + day * DAY - timedelta(seconds=1))
    found: list[datetime] = []
    while (reading := ticks.get_next(datetime)) < BEGIN + (day + 1) * DAY:
        found.append(reading)
    return found


def compared(expression: str, days: list[int]) -> int:
    """Compare these days in all zones; gives how many slots there were."""
    count = 0
    schedules = {zone: Schedule(expression, ZoneInfo(zone)) for zone in ZONES}
    for day in days:
        expected = by_croniter(expression, day)
        for zone in ZONES:
            if day in ordinary_days(zone):
                assert readings(schedules[zone], zone, day) == expected, (expression, zone, day)
                count += len(expected)
    return count


def test_some_days_of_the_year_have_the_slots_that_croniter_gives(profile: Profile) -> None:
    generator = random.Random(profile.seed)
    for expression in generator.sample(DRAWN, 40):
        compared(expression, [generator.randrange(365), generator.randrange(365)])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(8))
def test_the_whole_year_has_the_slots_that_croniter_gives(
    part: int, profile: Profile, proof_record: ProofRecord
) -> None:
    slots = days = 0
    for expression in DRAWN[part::8]:
        dense = len(by_croniter(expression, 45)) > DENSE or len(by_croniter(expression, 200)) > DENSE
        chosen = list(range(0, 365, 14 if dense else profile.pick(test=14, ci=7, proof=1)))
        slots += compared(expression, chosen)
        days += len(chosen)
    proof_record("routines-cron", expressions=len(DRAWN[part::8]), zones=len(ZONES), days=days, slots=slots)


def test_all_zones_but_two_change_their_clocks_in_the_year() -> None:
    assert [365 - len(ordinary_days(zone)) for zone in ZONES] == [2, 2, 0, 2, 0]
