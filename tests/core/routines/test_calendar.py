"""The slots to come, by the days of whoever looks."""

from zoneinfo import ZoneInfo

from core.routine import Cron, Definition, Lightweight, Manual, Trigger
from core.routines.definitions import text_of
from core.routines.schedule import next_slot
from core.routines.trial import MAX_A_DAY, SHOWN_A_DAY, calendar
from core.store.routine_rows import RoutineRow
from tests.core.routines.test_schedule import us

NOW = us("2026-03-28T12:00+01:00")


def row(name: str, trigger: Trigger) -> RoutineRow:
    definition = Definition(name, trigger, Lightweight("p"))
    slot_at = next_slot(trigger, NOW, NOW) if isinstance(trigger, Cron) else None
    text = text_of(definition, slot_at)
    return RoutineRow(name, "owner", text, True, None, None, 0, None, None, 0, 0, 0, "", None, 1, NOW, NOW)


def shown(rows: list[RoutineRow], zone: str, days: int) -> list[tuple[str, str, int]]:
    return [
        (f"{day.date}", one.name, one.count)
        for day in calendar(rows, ZoneInfo(zone), NOW, days)
        for one in day.routines
    ]


def test_days_follow_the_viewers_time_zone() -> None:
    late = row("late", Cron("30 23 * * *", "UTC"))
    assert shown([late], "UTC", 2) == [("2026-03-28", "late", 1), ("2026-03-29", "late", 1)]
    # In Tokyo it is the next morning; today's is over there.
    assert shown([late], "Asia/Tokyo", 2) == [("2026-03-29", "late", 1)]


def test_a_day_with_a_skipped_hour_has_its_remaining_slots() -> None:
    hourly = row("hourly", Cron("0 * * * *", "Europe/Berlin"))
    days = calendar([hourly], ZoneInfo("Europe/Berlin"), NOW, 3)
    assert [day.routines[0].count for day in days] == [11, 23, 24]
    assert days[1].routines[0].slots[:3] == tuple(
        us(f"2026-03-29T{hour}") for hour in ("00:00+01:00", "01:00+01:00", "03:00+02:00")
    )


def test_many_slots_are_counted_up_to_a_limit_and_the_earliest_come_first() -> None:
    rows = [row("often", Cron("* * * * *")), row("noon", Cron("1 12 * * *")), row("never", Manual())]
    (today, tomorrow) = calendar(rows, ZoneInfo("UTC"), NOW, 2)
    assert [(one.name, one.count) for one in today.routines] == [("often", MAX_A_DAY), ("noon", 1)]
    assert len(today.routines[0].slots) == SHOWN_A_DAY
    assert tomorrow.routines[0].slots[0] == us("2026-03-29T00:00Z")
