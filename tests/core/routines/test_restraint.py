"""Limits on routines: quiet hours, rests after failures and runs, and failures reported ever more rarely.

Numbers are those the documentation names, written out: a limit that changes must be seen here.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
import pytest_asyncio

from core.clock import SECOND_US
from core.routine import RunStatus
from core.routines.engine import budget_day, end_of
from core.routines.run import Performed
from core.store.routine_rows import RoutineRow
from tests.core.routines.engine_world import OLIVIA, Works, open_works

MINUTE, HOUR, DAY = 60, 3600, 86_400
MANUAL = {"type": "manual"}


@pytest_asyncio.fixture
async def works(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Works]:
    async with open_works(tmp_path_factory.mktemp("works")) as opened:
        yield opened


async def fired(works: Works, row: RoutineRow) -> None:
    """Somebody asks for a run, and all that can be done at once is over."""
    await works.desk.fire(OLIVIA, row.id, works.ids.row_id())
    await works.settled()


async def starts_s(works: Works, row: RoutineRow) -> list[int]:
    """When its runs began, the earliest first, in seconds after the first."""
    began = sorted(run.started_at for run in await works.runs(row) if run.started_at is not None)
    return [(at - began[0]) // SECOND_US for at in began]


def hours(works: Works, begin_s: int, end_s: int) -> dict[str, Any]:
    """Quiet hours from and until so many seconds from now, of an owner in UTC."""
    now = works.clock.now() // SECOND_US
    begin, end = (datetime.fromtimestamp(now + away, UTC) for away in (begin_s, end_s))
    return {"quiet_hours": f"{begin:%H:%M}-{end:%H:%M}"}


# --- quiet hours ----------------------------------------------------------------------------------------


async def test_findings_in_quiet_hours_are_sent_afterwards(works: Works) -> None:
    row = await works.make("watch", trigger=MANUAL, notify=hours(works, -HOUR, 2 * HOUR))
    works.model.answer = "Look at this."
    await fired(works, row)
    (run,) = await works.runs(row)
    assert (run.state, run.notice_state) == (RunStatus.ATTENTION, "due")
    await works.passes(2 * HOUR - 2 * MINUTE)
    assert works.told.texts == []
    await works.passes(3 * MINUTE)
    assert len(works.told.texts) == 1
    await fired(works, row)
    assert len(works.told.texts) == 2, "outside of quiet hours it is told at once"


async def test_a_run_that_the_budget_ended_brings_no_rest_and_no_pause(works: Works) -> None:
    row = await works.make("watch", trigger=MANUAL)
    performed = Performed(RunStatus.FAILED, "used up", None, out_of_budget=True)
    zones = {"timezone": "UTC", "owners_timezone": "UTC"}
    end = end_of(row, performed, now=works.clock.now(), menu_id="menu", **zones)
    assert (end.backoff_us, end.pause_after, end.state) == (0, 0, RunStatus.FAILED)


async def test_a_routines_day_begins_at_midnight_in_the_hubs_time_zone(works: Works) -> None:
    row = await works.make("watch", trigger=MANUAL)
    performed = Performed(RunStatus.FAILED, "used up", None, out_of_budget=True)
    zones = {"timezone": "Asia/Kathmandu", "owners_timezone": "UTC"}
    at, midnight = (datetime(2026, 1, 1, hour, 15, tzinfo=UTC).timestamp() for hour in (23, 18))
    now = int(at) * SECOND_US
    end = end_of(row, performed, now=now, menu_id="menu", **zones)
    assert (end.budget_since, budget_day(now, "Asia/Kathmandu").since) == (midnight * SECOND_US,) * 2


async def test_failures_and_used_up_budgets_respect_the_quiet_hours_too(works: Works) -> None:
    quiet = hours(works, -HOUR, HOUR)
    rows = [
        await works.make("fails", trigger=MANUAL, notify=quiet),
        await works.make("spent", trigger=MANUAL, notify=quiet, guardrails={"daily_runs": 1}),
    ]
    await fired(works, rows[1])
    works.model.refuses = True
    for row in rows:
        await fired(works, row)
    assert works.told.texts == []
    await works.passes(HOUR + MINUTE)
    assert len(works.told.texts) == 2


@pytest.mark.parametrize("hub_is_quiet", [False, True])
async def test_quiet_hours_are_those_of_the_owners_time_zone(works: Works, hub_is_quiet: bool) -> None:
    """Twelve hours away, the owner's night is the hub's day."""
    assert await works.store.people.set_preferences(
        OLIVIA.user_id, lambda was: replace(was, timezone="Etc/GMT-12")
    )
    begin_s = -HOUR if hub_is_quiet else 11 * HOUR
    quiet = hours(works, begin_s, begin_s + 2 * HOUR)
    rows = [
        await works.make("watch", trigger=MANUAL, notify=quiet),
        await works.make("spent", trigger=MANUAL, notify=quiet, guardrails={"daily_runs": 1}),
    ]
    works.model.answer = "Look at this."
    for row in (*rows, rows[1]):
        await fired(works, row)
    assert len(works.told.texts) == (3 if hub_is_quiet else 0)
    await works.passes(HOUR + MINUTE)
    assert len(works.told.texts) == 3


# --- failures -------------------------------------------------------------------------------------------


async def test_after_each_failure_a_routine_waits_twice_as_long_up_to_an_hour(works: Works) -> None:
    row = await works.make("often", guardrails={"cooldown_s": 0, "pause_after_failures": 100})
    works.model.refuses = True
    for _ in range(125):
        await works.passes(MINUTE)
    began = await starts_s(works, row)
    rests = [later - earlier for earlier, later in pairwise(began)]
    assert rests == [60, 120, 240, 480, 960, 1920, 3600]


async def test_event_runs_wait_for_the_backoff_and_success_ends_it(
    works: Works,
) -> None:
    trigger = {"type": "system_event", "source": "ci", "event_type": "red"}
    guardrails = {"cooldown_s": 0, "pause_after_failures": 100}
    row = await works.make("hears", trigger=trigger, guardrails=guardrails)
    works.model.refuses = True
    await emitted(works)
    await works.settled()
    works.model.refuses = False
    await emitted(works)
    await works.settled()
    await works.passes(58)
    assert len(await starts_s(works, row)) == 1
    await works.passes(4)
    assert len(await starts_s(works, row)) == 2
    await emitted(works)
    await works.settled()
    assert len(await starts_s(works, row)) == 3, "nothing rests after a run that went well"


async def test_queued_runs_wait_after_a_failure_but_manual_runs_do_not(
    works: Works,
) -> None:
    trigger = {"type": "system_event", "source": "ci", "event_type": "red"}
    guardrails = {"cooldown_s": 0, "pause_after_failures": 100}
    row = await works.make("hears", trigger=trigger, guardrails=guardrails)
    works.model.refuses = True
    works.model.hold()
    for _ in range(2):
        await emitted(works)
    await works.until(lambda: works.model.asking == 1)
    works.model.open()
    await works.settled()
    assert len(await starts_s(works, row)) == 1
    works.model.refuses = False
    await fired(works, row)
    assert len(await starts_s(works, row)) == 2
    await works.passes(61)
    assert len(await starts_s(works, row)) == 3


async def emitted(works: Works) -> None:
    await works.desk.emit(OLIVIA, "ci", "red", {}, works.ids.row_id())


async def test_consecutive_failures_1_2_4_and_8_are_reported(works: Works) -> None:
    row = await works.make("fails", trigger=MANUAL, guardrails={"pause_after_failures": 100})
    works.model.refuses = True
    told: list[int] = []
    for number in range(1, 12):
        before = len(works.told.texts)
        await fired(works, row)
        await works.passes(2 * HOUR)  # its rest is over, and so is the hour in which notices are counted
        if len(works.told.texts) > before:
            told.append(number)
    assert len(await works.runs(row)) == 11
    assert told == [1, 2, 4, 8]
    works.model.refuses = False
    await fired(works, row)
    works.model.refuses = True
    before = len(works.told.texts)
    await fired(works, row)
    assert len(works.told.texts) == before + 1, "after a run that went well it is the first again"


# --- cooldown -------------------------------------------------------------------------------------------


async def test_a_manual_run_starts_the_cooldown_of_automatic_runs(works: Works) -> None:
    row = await works.make("rests", guardrails={"cooldown_s": 300})
    await fired(works, row)
    for _ in range(20):
        await works.passes(MINUTE)
    assert await starts_s(works, row) == [0, 300, 600, 900, 1200]
    await fired(works, row)
    assert len(await starts_s(works, row)) == 6, "who asks for a run gets it, whatever the cooldown"


async def test_a_slot_that_came_during_a_run_waits_until_the_cooldown_after_it(works: Works) -> None:
    row = await works.make("rests", guardrails={"cooldown_s": 300})
    works.model.hold()
    for _ in range(3):
        works.clock.advance(MINUTE)
        await works.looked()
        await works.until(lambda: works.model.asking == 1)
    works.model.open()
    await works.settled()
    for _ in range(8):
        await works.passes(MINUTE)
    assert await starts_s(works, row) == [0, 420]
