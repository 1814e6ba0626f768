"""The slots of a schedule that run at a look, and the time of the next look."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, cast

from core.clock import SECOND_US
from core.routine import Cron
from core.routines.once import in_full
from core.routines.schedule import Schedule
from core.timezones import zone


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
    return {**page, "trigger": {**trigger, "schedule": in_full(schedule, moment, zone(named) or UTC)}}


@lru_cache(maxsize=1024)
def _schedule(text: str, timezone: str, anchor: int) -> Schedule:
    found = zone(timezone)
    if found is None:
        raise ValueError(f"there is no time zone {timezone}")
    return Schedule(text, found, anchor)
