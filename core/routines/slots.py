"""Which slots of a schedule are run when the hub looks, and when it has to look again."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from core.clock import SECOND_US
from core.routine import Cron, Downtime

ON_TIME_US = 60 * SECOND_US
"""A slot that is no older was not missed."""
MOST_COUNTED = 10_000
"""Slots that were missed are counted up to so many."""


@dataclass(frozen=True, slots=True)
class DueSlots:
    """`slots`: to be run now, in order; `skipped`: passed over; `next_slot_at`: None: there is none."""

    slots: tuple[int, ...]
    skipped: int
    next_slot_at: int | None


def slots_due(trigger: Cron, slot_at: int, now: int) -> DueSlots:
    """What becomes of the slots from `slot_at` up to now, by the routine's policy on downtime."""
    counted = itertools.takewhile(lambda at: at <= now, _slots_after(trigger, slot_at))
    passed = [slot_at, *itertools.islice(counted, MOST_COUNTED)]
    following = next_slot(trigger, max(now, passed[-1]))
    late = passed[-1] < now - ON_TIME_US
    match trigger.downtime:
        case Downtime.SKIP:
            run = [] if late else passed[-1:]
        case Downtime.ONE_CATCH_UP:
            run = passed[-1:]
        case Downtime.ALL:
            run = passed[-trigger.catch_up_limit :]
    return DueSlots(tuple(run), len(passed) - len(run), following)


def next_slot(trigger: Cron, after: int) -> int | None:
    """The first slot after that time; None: there is none any more. Raises ValueError for no schedule."""
    return next(_slots_after(trigger, after), None)


def _slots_after(trigger: Cron, after: int) -> Iterator[int]:
    moment = datetime.fromtimestamp(after / SECOND_US, ZoneInfo(trigger.timezone))
    try:
        slots = CronSim(trigger.schedule, moment)
    except CronSimError as error:
        raise ValueError(f"is no schedule: {error}") from error
    for found in slots:
        yield int(found.timestamp()) * SECOND_US
