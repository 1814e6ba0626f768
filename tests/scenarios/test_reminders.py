"""Reminders and one-time routines as their owner meets them: set by talking, snoozed, done."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from core.clock import SECOND_US
from tests.harness.people import Shown, hears
from tests.harness.telegram_hub import LIMIT_S, OWNER, Card, Hub, open_hub
from tests.scenarios.routine_house import OLIVIA, desk_of, ended, greeted, runs_of
from tests.scenarios.scenes import open_scene

FAST = 60.0
"""The hub looks at what is due twice a second."""
SHOWN = "⏰ Reminder\n\ncall Ada"
SNOOZE, DONE = 0, 1
MINUTE_S = 60.0


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, speed=FAST) as opened:
        await greeted(opened)
        yield opened


def shown(house: Hub) -> list[str]:
    return [text for text in house.says(OWNER) if text.startswith(SHOWN)]


async def comes(house: Hub, number: int) -> Card:
    """The reminder, once it has come so many times."""
    await house.telegram.wait_for(lambda: len(shown(house)) >= number, LIMIT_S)
    return [card for card in house.open_cards(OWNER) if card.text.startswith(SHOWN)][-1]


async def looked(house: Hub) -> None:
    """Until the hub has looked at what is due after now."""
    await house.clock.sleep(MINUTE_S)
    await house.settled_sends()


async def test_a_reminder_comes_once_is_snoozed_once_and_is_done(house: Hub) -> None:
    told = await house.told("remind", text="call Ada", when="in 3 h")
    assert "Reminder set: Once at" in told
    (row,) = await desk_of(house).listed(OLIVIA)
    asked = len(house.model.log)
    await looked(house)
    assert shown(house) == []
    house.clock.skip(3 * 3600)
    card = await comes(house, 1)
    first = house.telegram.user_presses_button(OWNER, card.id, data=card.choices[SNOOZE])
    again = house.telegram.user_presses_button(OWNER, card.id, data=card.choices[SNOOZE])
    answers = [
        (await house.telegram.wait_callback_answer(query.id, LIMIT_S)).answers[0].get("text", "")
        for query in (first, again)
    ]
    assert sorted(answers) == ["Already snoozed.", "Snoozed for 10 minutes."]
    await house.telegram.wait_for(lambda: shown(house)[0].endswith("Snoozed for 10 minutes."), LIMIT_S)
    waiting, ran = await runs_of(house, row)
    assert (waiting.due_at - (ran.ended_at or 0)) / SECOND_US > 9 * MINUTE_S
    await looked(house)
    assert len(shown(house)) == 1
    house.clock.skip(10 * 60)
    card = await comes(house, 2)
    assert await house.pressed(OWNER, card, DONE) == "Done."
    assert await house.pressed(OWNER, card, SNOOZE) == "Already done."
    house.clock.skip(24 * 3600)
    await looked(house)
    assert len(shown(house)) == 2
    assert len(await ended(house, row, 2)) == 2
    assert len(house.model.log) == asked, "no model is asked for a reminder"


async def test_a_reminder_done_after_a_snooze_does_not_come_again(house: Hub) -> None:
    await house.told("remind", text="call Ada", when="in 1 s")
    card = await comes(house, 1)
    assert await house.pressed(OWNER, card, SNOOZE) == "Snoozed for 10 minutes."
    assert await house.pressed(OWNER, card, DONE) == "Done."
    house.clock.skip(3600)
    await looked(house)
    assert len(shown(house)) == 1
    (row,) = await desk_of(house).listed(OLIVIA)
    assert [run.state.value for run in await runs_of(house, row)] == ["skipped", "attention"]


async def test_a_time_of_day_is_in_the_persons_zone_and_a_skipped_one_is_moved_with_a_note(
    house: Hub,
) -> None:
    assert await house.store.people.set_preferences(
        OLIVIA.user_id, lambda was: replace(was, timezone="Europe/Berlin")
    )
    told = await house.told("remind", text="call Ada", when="2027-03-28 02:30")
    assert "Once at 2027-03-28 03:00 (Europe/Berlin); clocks skip 02:30 that day" in told
    told = await house.told("remind", text="call Bo", when="2027-10-31 02:30")
    assert "Once at 2027-10-31 02:30 (Europe/Berlin)." in told
    at = {row.text.next_slot_at for row in await desk_of(house).listed(OLIVIA)}
    assert at == {1806195600 * SECOND_US, 1824942600 * SECOND_US}
    told = await house.told("remind", text="call Ada", when="2020-01-01 09:00")
    assert "is in the past; choose a time to come" in told


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["slack", "discord"])
async def test_a_reminder_is_snoozed_and_done_everywhere(tmp_path: Path, platform: str) -> None:
    async with open_scene(platform, tmp_path, speed=FAST) as scene:
        owner = scene.owner

        def open_ones() -> list[Shown]:
            return [one for one in owner.shown() if "⏰ Reminder" in one.text and one.buttons]

        owner.say('please call: remind {"text": "call Ada", "when": "in 1 s"}')
        await owner.until(open_ones)
        await owner.press(open_ones()[0], "Snooze 10 min")
        await hears(owner, "Snoozed for 10 minutes.")
        await owner.until(lambda: not open_ones())
        scene.place.clock.skip(601)
        await owner.until(open_ones)
        await owner.press(open_ones()[0], "Done")
        await hears(owner, "Done.")
        await owner.until(lambda: not open_ones())


async def test_across_a_restart_and_clock_changes_a_reminder_comes_once_for_each_time(
    house: Hub,
) -> None:
    await house.told("remind", text="call Ada", when="in 3 h")
    house.clock.skip(-3600)
    await looked(house)
    assert shown(house) == [], "a clock that is set back brings nothing early"
    await house.stop()
    house.clock.skip(5 * 3600)
    await house.start()
    card = await comes(house, 1)
    assert await house.pressed(OWNER, card, SNOOZE) == "Snoozed for 10 minutes."
    await house.stop()
    house.clock.skip(-2 * 3600)
    await house.start()
    await looked(house)
    assert len(shown(house)) == 1
    await house.stop()
    house.clock.skip(3 * 3600)
    await house.start()
    card = await comes(house, 2)
    assert await house.pressed(OWNER, card, DONE) == "Done."
    house.clock.skip(-24 * 3600)
    await looked(house)
    house.clock.skip(2 * 24 * 3600)
    await looked(house)
    assert len(shown(house)) == 2


SPRING, AUTUMN = 1806195600, 1824944400
"""When clocks in Berlin are set in 2027: from 02:00 to 03:00, and from 03:00 back to 02:00."""


@pytest.mark.parametrize(
    "when, at",
    [
        pytest.param("2027-03-28 02:30", SPRING, id="skipped"),
        pytest.param("2027-10-31 02:55", AUTUMN - 5 * 60, id="twice"),
    ],
)
async def test_around_a_change_of_clocks_a_reminder_comes_once_and_a_snooze_is_ten_minutes(
    house: Hub, when: str, at: int
) -> None:
    assert await house.store.people.set_preferences(
        OLIVIA.user_id, lambda was: replace(was, timezone="Europe/Berlin")
    )
    await house.told("remind", text="call Ada", when=when)
    house.clock.skip(at - 30 * MINUTE_S - house.clock.now() / SECOND_US)
    await looked(house)
    assert shown(house) == []
    house.clock.skip(30 * MINUTE_S)
    card = await comes(house, 1)
    (row,) = await desk_of(house).listed(OLIVIA)
    assert await house.pressed(OWNER, card, SNOOZE) == "Snoozed for 10 minutes."
    waiting, ran = await runs_of(house, row)
    assert ran.due_at == at * SECOND_US
    assert 9 * MINUTE_S < (waiting.due_at - (ran.ended_at or 0)) / SECOND_US < 60 * MINUTE_S
    house.clock.skip(601)
    await comes(house, 2)
    house.clock.skip(2 * 3600)
    await looked(house)
    assert len(shown(house)) == 2
