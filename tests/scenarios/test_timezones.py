"""Time zones of people, as they meet them in a chat: quiet hours are those of the routine's owner."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from core.clock import SECOND_US
from tests.harness.telegram_hub import OWNER, open_hub
from tests.scenarios.routine_house import fired, greeted

SAYS = {"type": "lightweight", "prompt": "say: look"}
FAR = "Etc/GMT-12"
"""Twelve hours before the hub's own zone, UTC."""


async def test_quiet_hours_follow_the_time_zone_a_person_sets_in_chat(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        await greeted(house)
        house.telegram.user_sends_text(OWNER, "/timezone Nowhere/Berlin")
        await house.telegram.wait_text(OWNER, "Did you mean Europe/Berlin")
        house.telegram.user_sends_text(OWNER, f"/timezone {FAR}")
        await house.telegram.wait_text(OWNER, f"Your time zone is {FAR}.")
        now = datetime.fromtimestamp(house.clock.now() / SECOND_US, UTC)
        here = f"{now - timedelta(hours=1):%H:%M}-{now + timedelta(hours=2):%H:%M}"
        there = f"{now + timedelta(hours=11):%H:%M}-{now + timedelta(hours=14):%H:%M}"
        held = await fired(house, "held", SAYS, notify={"quiet_hours": there})
        assert held.notice_state == "due"
        await fired(house, "told", SAYS, notify={"quiet_hours": here})
        await house.telegram.wait_text(OWNER, "Routine “told 1” has something for you")
        assert not any("Routine “held" in said for said in house.says(OWNER))
