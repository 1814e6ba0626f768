"""When schedules are due: the grammar, days on which clocks change, downtime, and what people are told."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import SECOND_US
from core.routine import Downtime, in_full
from core.routines.schedule import MAX_COUNTED, Due, Schedule, ScheduleRefused, jitter_us
from core.routines.trial import describe

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def us(text: str) -> int:
    """Microseconds of a time as ISO 8601 writes it."""
    return (datetime.fromisoformat(text).astimezone(UTC) - EPOCH) // timedelta(microseconds=1)


def told(slot: int, zone: str) -> str:
    return (EPOCH + timedelta(microseconds=slot)).astimezone(ZoneInfo(zone)).isoformat()


def slots(schedule: str, zone: str, begin: str, end: str, anchor: str = "1970-01-01T00:00Z") -> list[str]:
    found = Schedule(schedule, ZoneInfo(zone), us(anchor)).between(us(begin), us(end))
    return [told(slot, zone) for slot in found]


BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
SANTIAGO, KATHMANDU = "America/Santiago", "Asia/Kathmandu"

SWITCHES: list[tuple[str, str, str, str, list[str]]] = [
    # One time: the first instant after the gap, the first of two, an instant whatever the clock shows.
    ("at 2026-03-29 02:30", BERLIN, "2026-03-28T12:00+01:00", "2027-03-30T12:00+02:00", [
        "2026-03-29T03:00:00+02:00"]),
    ("at 2026-10-25 02:30", BERLIN, "2026-10-24T12:00+02:00", "2027-10-26T12:00+01:00", [
        "2026-10-25T02:30:00+02:00"]),
    ("at 2026-10-25 01:30 UTC", BERLIN, "2026-10-24T12:00+02:00", "2027-10-26T12:00+01:00", [
        "2026-10-25T02:30:00+01:00"]),
    # Berlin, 29 March 2026: 02:00 to 03:00 do not exist; 25 October: 02:00 to 03:00 exist twice.
    ("30 2 * * *", BERLIN, "2026-03-28T12:00+01:00", "2026-03-30T12:00+02:00", [
        "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
    ("0,30 2 * * *", BERLIN, "2026-03-29T00:00+01:00", "2026-03-29T12:00+02:00", [
        "2026-03-29T03:00:00+02:00"]),
    ("0 3 * * *", BERLIN, "2026-03-29T00:00+01:00", "2026-03-29T12:00+02:00", ["2026-03-29T03:00:00+02:00"]),
    ("0 1-4 * * *", BERLIN, "2026-03-29T00:00+01:00", "2026-03-29T12:00+02:00", [
        "2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"]),
    ("30 2 * * *", BERLIN, "2026-10-24T12:00+02:00", "2026-10-26T12:00+01:00", [
        "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
    ("45 2 * * *", BERLIN, "2026-10-25T02:30+01:00", "2026-10-26T12:00+01:00", ["2026-10-26T02:45:00+01:00"]),
    ("*/30 * * * *", BERLIN, "2026-03-29T01:00+01:00", "2026-03-29T04:00+02:00", [
        "2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00",
        "2026-03-29T04:00:00+02:00"]),
    ("*/30 * * * *", BERLIN, "2026-10-25T01:30+02:00", "2026-10-25T03:00+01:00", [
        "2026-10-25T02:00:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00",
        "2026-10-25T02:30:00+01:00", "2026-10-25T03:00:00+01:00"]),
    ("30 */2 * * *", BERLIN, "2026-03-29T00:00+01:00", "2026-03-29T07:00+02:00", [
        "2026-03-29T00:30:00+01:00", "2026-03-29T04:30:00+02:00", "2026-03-29T06:30:00+02:00"]),
    ("0 * * * *", BERLIN, "2026-10-25T01:30+02:00", "2026-10-25T03:30+01:00", [
        "2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"]),
    ("every 2 d", BERLIN, "2026-03-26T12:00+01:00", "2026-03-31T12:00+02:00", [
        "2026-03-27T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-31T02:30:00+02:00"]),
    ("every 1h", BERLIN, "2026-10-25T01:45+02:00", "2026-10-25T03:45+01:00", [
        "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"]),
    # New York, 8 March and 1 November 2026, at two in the morning.
    ("30 2 * * *", NEW_YORK, "2026-03-08T00:00-05:00", "2026-03-09T12:00-04:00", [
        "2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"]),
    ("30 1 * * *", NEW_YORK, "2026-11-01T00:00-04:00", "2026-11-02T12:00-05:00", [
        "2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"]),
    ("*/20 1 * * *", NEW_YORK, "2026-11-01T00:00-04:00", "2026-11-01T12:00-05:00", [
        "2026-11-01T01:00:00-04:00", "2026-11-01T01:20:00-04:00", "2026-11-01T01:40:00-04:00",
        "2026-11-01T01:00:00-05:00", "2026-11-01T01:20:00-05:00", "2026-11-01T01:40:00-05:00"]),
    # Lord Howe changes by half an hour: on 4 October 2026 without 02:00 to 02:30; on 5 April with 01:30 to
    # 02:00 twice.
    ("15 2 * * *", LORD_HOWE, "2026-10-04T00:00+10:30", "2026-10-05T12:00+11:00", [
        "2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"]),
    ("*/20 2-3 * * *", LORD_HOWE, "2026-10-04T01:00+10:30", "2026-10-04T12:00+11:00", [
        "2026-10-04T02:40:00+11:00", "2026-10-04T03:00:00+11:00", "2026-10-04T03:20:00+11:00",
        "2026-10-04T03:40:00+11:00"]),
    ("45 1 * * *", LORD_HOWE, "2026-04-05T00:00+11:00", "2026-04-06T12:00+10:30", [
        "2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"]),
    ("*/15 1-2 * * *", LORD_HOWE, "2026-04-05T01:10+11:00", "2026-04-05T02:20+10:30", [
        "2026-04-05T01:15:00+11:00", "2026-04-05T01:30:00+11:00", "2026-04-05T01:45:00+11:00",
        "2026-04-05T01:30:00+10:30", "2026-04-05T01:45:00+10:30", "2026-04-05T02:00:00+10:30",
        "2026-04-05T02:15:00+10:30"]),
    # Santiago has days without midnight, such as 6 September 2026, and evenings that go on: 4 April.
    ("0 0 * * *", SANTIAGO, "2026-09-05T12:00-04:00", "2026-09-07T12:00-03:00", [
        "2026-09-06T01:00:00-03:00", "2026-09-07T00:00:00-03:00"]),
    ("*/30 0-1 * * *", SANTIAGO, "2026-09-05T12:00-04:00", "2026-09-06T12:00-03:00", [
        "2026-09-06T01:00:00-03:00", "2026-09-06T01:30:00-03:00"]),
    ("30 23 * * *", SANTIAGO, "2026-04-04T12:00-03:00", "2026-04-05T23:45-04:00", [
        "2026-04-04T23:30:00-03:00", "2026-04-05T23:30:00-04:00"]),
    # Kathmandu is never changed, and five and three quarter hours ahead.
    ("30 2 * * *", KATHMANDU, "2026-03-29T00:00+05:45", "2026-03-30T00:00+05:45", [
        "2026-03-29T02:30:00+05:45"]),
    ("*/30 2 * * *", KATHMANDU, "2026-03-29T00:00+05:45", "2026-03-30T00:00+05:45", [
        "2026-03-29T02:00:00+05:45", "2026-03-29T02:30:00+05:45"]),
]  # fmt: skip


@pytest.mark.parametrize(
    "schedule,zone,begin,end,expected",
    SWITCHES,
    ids=[" in ".join((row[0], row[1], row[2][:10])) for row in SWITCHES],
)
def test_slots_are_right_on_days_when_clocks_change(
    schedule: str, zone: str, begin: str, end: str, expected: list[str]
) -> None:
    anchor = "2026-03-01T02:30+01:00" if schedule.startswith("every") else begin
    assert slots(schedule, zone, begin, end, anchor) == expected


def test_enough_instants_were_computed_by_hand() -> None:
    assert sum(len(expected) for *_, expected in SWITCHES) >= 40


@pytest.mark.parametrize(
    "schedule,expected",
    [
        ("0 9 * * 0", ["2026-03-01T09:00:00+00:00", "2026-03-08T09:00:00+00:00"]),
        ("0 9 * * 7", ["2026-03-01T09:00:00+00:00", "2026-03-08T09:00:00+00:00"]),
        ("0 9 * * SUN", ["2026-03-01T09:00:00+00:00", "2026-03-08T09:00:00+00:00"]),
        ("0 9 * * 0-0", ["2026-03-01T09:00:00+00:00", "2026-03-08T09:00:00+00:00"]),
        ("0 9 * * sun-sun", ["2026-03-01T09:00:00+00:00", "2026-03-08T09:00:00+00:00"]),
        ("0 9 * * sat-0", ["2026-03-01T09:00:00+00:00", "2026-03-07T09:00:00+00:00"]),
        ("0 9 * * fri-sun", ["2026-03-01T09:00:00+00:00", "2026-03-06T09:00:00+00:00"]),
        ("0 9 * * 1", ["2026-03-02T09:00:00+00:00", "2026-03-09T09:00:00+00:00"]),
        ("0 0 13 * 5", ["2026-03-06T00:00:00+00:00", "2026-03-13T00:00:00+00:00"]),
        ("0 0 */10 * 1", ["2026-03-01T00:00:00+00:00", "2026-03-02T00:00:00+00:00"]),
        ("0 0 1 march *", ["2026-03-01T00:00:00+00:00", "2027-03-01T00:00:00+00:00"]),
        ("0 0 29 2 *", ["2028-02-29T00:00:00+00:00", "2032-02-29T00:00:00+00:00"]),
        ("5/20 0 * * ?", ["2026-03-01T00:05:00+00:00", "2026-03-01T00:25:00+00:00"]),
        ("@hourly", ["2026-03-01T00:00:00+00:00", "2026-03-01T01:00:00+00:00"]),
        ("@weekly", ["2026-03-01T00:00:00+00:00", "2026-03-08T00:00:00+00:00"]),
        ("@YEARLY", ["2027-01-01T00:00:00+00:00", "2028-01-01T00:00:00+00:00"]),
        ("every 90m", ["2026-03-01T00:15:00+00:00", "2026-03-01T01:45:00+00:00"]),
        ("every hour", ["2026-03-01T00:15:00+00:00", "2026-03-01T01:15:00+00:00"]),
        ("every 3 days", ["2026-03-02T12:15:00+00:00", "2026-03-05T12:15:00+00:00"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_valid_schedules_are_read(schedule: str, expected: list[str]) -> None:
    said = Schedule(schedule, UTC, us("2026-02-27T12:15:59Z"))
    found = list(islice(said.between(us("2026-02-28T23:59:59.5Z"), us("2040-01-01T00:00Z")), 2))
    assert [told(slot, "UTC") for slot in found] == expected


@pytest.mark.parametrize(
    "schedule,reason",
    [
        ("", "has 0 fields"),
        ("not a cron", "has 3 fields"),
        ("0 0 9 * * 1", "has 6 fields"),
        ("60 * * * *", "minute: '60' is not from 0 to 59"),
        ("* 24 * * *", "hour: '24'"),
        ("* * 0 * *", "day of month: '0'"),
        ("* * * 13 *", "month: '13'"),
        ("* * * * 8", "day of week: '8'"),
        ("* * * * fri-mon", "runs backward"),
        ("22-3 * * * *", "runs backward"),
        ("*/0 * * * *", "minute: '0' is not from 1"),
        ("*/ * * * *", "minute: ''"),
        ("1,,2 * * * *", "minute: ''"),
        ("-1 * * * *", "minute: ''"),
        ("١ * * * *", "minute: '١'"),
        ("0 9 * * mo", "day of week: 'mo'"),
        ("@reboot", "is not one of @hourly"),
        ("every 30s", "must look like"),
        ("every 0 m", "between every minute"),
        ("every 400 d", "and every 366 days"),
        ("0 0 30 2 *", "never occurs"),
        ("0 0 31 4,6 *", "never occurs"),
    ],
)
def test_invalid_schedules_are_refused_with_a_reason(schedule: str, reason: str) -> None:
    with pytest.raises(ScheduleRefused) as refused:
        Schedule(schedule, UTC)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "schedule,words",
    [
        ("* * * * *", "Every minute"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("0 * * * *", "Every hour"),
        ("0 */2 * * *", "Every 2 hours"),
        ("30 * * * *", "At minute 30 of every hour"),
        ("0 9 * * *", "At 09:00 every day"),
        ("0 9,17 * * *", "At 09:00 and 17:00 every day"),
        ("0 9 * * 1-5", "At 09:00 on Monday to Friday"),
        ("0 9 * * 0,6", "At 09:00 on Saturday and Sunday"),
        ("0 9 * * 1", "At 09:00 on Monday"),
        ("*/15 9-17 * * mon-fri", "Every 15 minutes of hours 9 to 17 on Monday to Friday"),
        ("0 0 1,15 * *", "At 00:00 on the 1st and 15th of the month"),
        ("0 0 13 * 5", "At 00:00 on the 13th of the month or on Friday"),
        ("0 12 * jan,jul sun", "At 12:00 on Sunday in January and July"),
        ("0 9 */2 * *", "At 09:00 on every 2nd day of the month from the 1st"),
        ("15 */3 * * *", "At minute 15 of every 3rd hour"),
        ("@weekly", "At 00:00 on Sunday"),
        ("every 90 minutes", "Every 90 minutes"),
        ("every d", "Every day"),
    ],
)
def test_a_schedule_is_described_in_words(schedule: str, words: str) -> None:
    assert describe(schedule) == words
    assert describe(schedule, "Asia/Kathmandu") == f"{words} (Asia/Kathmandu)"


NOON = us("2026-03-10T12:00Z")


def minutes_before(*numbers: int) -> tuple[int, ...]:
    return tuple(NOON - number * 60 * SECOND_US for number in numbers)


@pytest.mark.parametrize(
    "downtime,limit,after_minutes,expected",
    [
        (Downtime.SKIP, 10, 60, Due(minutes_before(0), 5)),
        (Downtime.ONE_CATCH_UP, 10, 60, Due(minutes_before(0), 5)),
        (Downtime.ALL, 10, 60, Due(minutes_before(50, 40, 30, 20, 10, 0), 0)),
        (Downtime.ALL, 2, 60, Due(minutes_before(10, 0), 4)),
        (Downtime.ALL, 10, 10, Due(minutes_before(0), 0)),
        (Downtime.ALL, 10, 0, Due((), 0)),
        (Downtime.ALL, 3, 60 * 24 * 365, Due(minutes_before(20, 10, 0), MAX_COUNTED)),
    ],
)
def test_slots_missed_in_a_downtime_follow_the_setting(
    downtime: Downtime, limit: int, after_minutes: int, expected: Due
) -> None:
    said = Schedule("*/10 * * * *", UTC)
    assert said.due(NOON - after_minutes * 60 * SECOND_US, NOON, downtime, limit) == expected


def test_late_slots_are_skipped_or_caught_up() -> None:
    said = Schedule("0 * * * *", UTC)
    late = NOON + 61 * SECOND_US
    assert said.due(NOON - 1, late, Downtime.SKIP, 10) == Due((), 1)
    assert said.due(NOON - 1, late, Downtime.ONE_CATCH_UP, 10) == Due((NOON,), 0)
    assert said.due(NOON - 1, late, Downtime.SKIP, 10, grace_s=61) == Due((NOON,), 0)


def test_a_clock_set_back_gives_no_slot_twice() -> None:
    said = Schedule("*/10 * * * *", UTC)
    assert said.due(NOON, NOON - 3600 * SECOND_US, Downtime.ALL, 10) == Due((), 0)


def test_jitter_is_each_routines_own() -> None:
    delays = {jitter_us(f"r{number}", 60) for number in range(100)}
    assert len(delays) > 90
    assert all(0 <= delay < 60 * SECOND_US for delay in delays)
    assert jitter_us("r1", 60) == jitter_us("r1", 60)
    assert jitter_us("r1", 0) == 0


fields = st.tuples(
    st.sampled_from(["*", "0", "*/7", "5,35", "10-20"]),
    st.sampled_from(["*", "2", "*/5", "0-3", "1,23"]),
    st.sampled_from(["*", "1", "*/9", "29-31"]),
    st.sampled_from(["*", "3,10", "4-11/3"]),
    st.sampled_from(["*", "0", "1-5"]),
).map(" ".join)
zones = st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, SANTIAGO, KATHMANDU, "UTC", "Africa/Casablanca"])
instants = st.integers(us("2025-01-01T00:00Z"), us("2028-01-01T00:00Z"))


@given(fields, zones, instants)
def test_slots_come_in_order_a_minute_apart_wherever_one_begins(schedule: str, zone: str, begin: int) -> None:
    said = Schedule(schedule, ZoneInfo(zone))
    first = said.next_after(begin)
    assert first is not None
    assert first > begin
    assert first % (60 * SECOND_US) == 0
    following = said.next_after(first)
    assert following is not None
    assert following >= first + 60 * SECOND_US
    assert said.next_after(first - 1) == first
    assert list(islice(said.between(begin, following), 5)) == [first, following]


@pytest.mark.parametrize(
    "said, now, zone, full",
    [
        ("in 20m", "2026-03-29T01:50+01:00", BERLIN, "at 2026-03-29 01:10:00 UTC"),
        ("IN 2 hours", "2026-10-25T02:30+02:00", BERLIN, "at 2026-10-25 02:30:00 UTC"),
        ("in 3 d", "2026-01-01T00:00Z", "UTC", "at 2026-01-04 00:00:00 UTC"),
        ("at 9:00", "2026-01-01T08:59+01:00", BERLIN, "at 2026-01-01 09:00"),
        ("at 09:00", "2026-01-01T09:00+01:00", BERLIN, "at 2026-01-02 09:00"),
        ("at 2026-12-01T09:00+01:00", "2026-01-01T00:00Z", NEW_YORK, "at 2026-12-01 08:00:00 UTC"),
        ("at 2026-12-01 09:00", "2026-01-01T00:00Z", NEW_YORK, "at 2026-12-01 09:00"),
        ("at noon", "2026-01-01T00:00Z", "UTC", "at noon"),
        ("in 999999 d", "2026-01-01T00:00Z", "UTC", "in 999999 d"),
        ("0 9 * * *", "2026-01-01T00:00Z", "UTC", "0 9 * * *"),
    ],
)
def test_a_time_is_written_in_full(said: str, now: str, zone: str, full: str) -> None:
    assert in_full(said, datetime.fromisoformat(now).astimezone(UTC), ZoneInfo(zone)) == full


def test_a_time_that_clocks_skip_is_reported_as_moved() -> None:
    told = "Once at 2026-03-29 03:00 (Europe/Berlin); clocks skip 02:30 that day"
    assert describe("at 2026-03-29 02:30", BERLIN) == told
    assert describe("at 2026-03-29 01:30:05", BERLIN) == "Once at 2026-03-29 01:30:05 (Europe/Berlin)"
    with pytest.raises(ScheduleRefused, match="is not a time; write"):
        Schedule("at 2026-02-30 09:00", UTC)
