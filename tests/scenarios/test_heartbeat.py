"""The heartbeat as its owner meets it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.clock import SECOND_US
from core.routine import RunStatus
from core.routine_json import RoutineRefused
from core.routines.manage import RoutineManager
from core.store.routine_rows import RoutineRow, RoutineRunRow
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.scenarios.test_routines import OLIVIA, desk_of, ended, greeted

BEATS = '[heartbeat]\nenabled = true\nevery_s = 60\nactive_hours = ""'
FAST = 60.0


async def heartbeat(desk: RoutineManager) -> RoutineRow:
    return await desk.find(OLIVIA, "heartbeat")


async def over(house: Hub, number: int) -> list[RoutineRunRow]:
    runs = await ended(house, await heartbeat(desk_of(house)), number)
    return [run for run in runs if run.state.over]


async def quiet(house: Hub) -> None:
    """Until the newest run found nothing to tell, and all that was to be told before is told."""

    async def is_quiet() -> bool:
        newest, *_ = runs = await over(house, 1)
        return newest.state is RunStatus.OK and not any(run.notice_state == "due" for run in runs)

    await house.until(is_quiet)
    await house.settled_sends()


async def test_the_list_is_worked_through_and_reported(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=BEATS, speed=FAST) as house:
        await greeted(house)
        asked = len(house.model.log)
        first = await over(house, 1)
        assert {run.state for run in first} == {RunStatus.SKIPPED}
        assert len(house.model.log) == asked  # there is no list: no model was asked
        house.model.rule("call Ada", "Ada waits for your call.")
        (house.workspace / "HEARTBEAT.md").write_text("# Today\n- call Ada\n")
        notice = await house.telegram.wait_text(OWNER, "Ada waits for your call.")
        assert notice.text.startswith("🔔 Routine “heartbeat” has something for you")
        house.model.rule("call Ada", "HEARTBEAT_OK")
        await quiet(house)  # some may have been on their way
        told, (newest, *_) = len(house.says(OWNER)), await over(house, 1)

        async def two_more() -> bool:
            return [run.id for run in await over(house, 1)].index(newest.id) >= 2

        await house.until(two_more)
        await quiet(house)
        assert len(house.says(OWNER)) == told
        desk = desk_of(house)
        with pytest.raises(RoutineRefused, match=r"\[heartbeat\] of the configuration"):
            await desk.delete(OLIVIA, "heartbeat")
        with pytest.raises(RoutineRefused, match=r"\[heartbeat\] of the configuration"):
            await desk.change(OLIVIA, "heartbeat", {"trigger": {"schedule": "every 1 h"}})
        assert not (await desk.switch(OLIVIA, "heartbeat", enabled=False)).enabled


async def test_at_a_time_of_day_it_comes_once_a_day_whatever_the_active_hours_say(tmp_path: Path) -> None:
    at = datetime.now(UTC) + timedelta(hours=2)
    asleep = f"{at + timedelta(hours=1):%H:%M}-{at + timedelta(hours=2):%H:%M}"
    daily = f'[heartbeat]\nenabled = true\nat = "{at:%H:%M}"\nactive_hours = "{asleep}"'
    async with open_hub(tmp_path, extra=daily) as house:
        await greeted(house)
        (house.workspace / "HEARTBEAT.md").write_text("- call Ada\n")
        house.model.rule("call Ada", "Ada waits for your call.")
        slots: list[int] = []
        for number in (1, 2):
            slot = (await heartbeat(desk_of(house))).text.next_slot_at
            assert slot is not None
            slots.append(slot)
            assert len(await over(house, number - 1)) == number - 1
            house.clock.pass_by((slot - house.clock.now()) / SECOND_US)
            runs = await over(house, number)
            assert [run.state for run in runs] == [RunStatus.ATTENTION] * number
        assert f"{datetime.fromtimestamp(slots[0] // SECOND_US, UTC):%H:%M}" == f"{at:%H:%M}"
        assert slots[1] - slots[0] == 24 * 3600 * SECOND_US
