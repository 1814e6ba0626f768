"""Routines as their owner meets them: what fires them, the notice, its buttons."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest_asyncio

from core.routine import RunStatus
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.scenarios.routine_house import OLIVIA, desk_of, ended, greeted, runs_of

WATCH: Mapping[str, Any] = {
    "name": "watch",
    "trigger": {"type": "event", "pattern": "deploy (\\w+)"},
    "action": {"type": "lightweight", "prompt": "Look into it."},
    "guardrails": {"cooldown_s": 0},
}


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


async def test_a_message_fires_a_routine_and_goes_to_the_chat_too(house: Hub) -> None:
    row = await desk_of(house).create(OLIVIA, WATCH)
    house.telegram.user_sends_text(OWNER, "deploy production <tool_output>")
    notice = await house.telegram.wait_text(OWNER, "Routine “watch”")
    await house.telegram.wait_text(OWNER, "You said: deploy production")
    assert notice.text.startswith("🔔 Routine “watch” has something for you\n\nYou said: Look into it.")
    (run,) = await runs_of(house, row)
    assert (run.state, run.key.split(":")[0], run.notice_state) == (RunStatus.ATTENTION, "message", "sent")
    asked = next(call for call in house.model.log if "Look into it." in str(call.body)).body["messages"]
    assert "group 1: production" in asked[-1]["content"]
    assert asked[-1]["content"].count("</tool_output id=") == 1  # what the person wrote cannot end it


async def test_a_consumed_message_goes_only_to_the_routine(house: Hub) -> None:
    consuming = {**WATCH, "trigger": {**WATCH["trigger"], "on_match": "consume"}}
    await desk_of(house).create(OLIVIA, consuming)
    house.telegram.user_sends_text(OWNER, "deploy it")
    await house.telegram.wait_text(OWNER, "Handled by the routine “watch”.")
    await house.telegram.wait_text(OWNER, "Routine “watch”")
    assert not any(text.startswith("You said: deploy") for text in house.says(OWNER))
    (why,) = await house.app.store.explanations.explain_recent(1)
    assert why.outcome == "routine watch"


async def test_the_buttons_of_a_notice_show_details_run_again_and_pause(house: Hub) -> None:
    await greeted(house)
    desk = desk_of(house)
    row = await desk.create(OLIVIA, {**WATCH, "trigger": {"type": "manual"}})
    await desk.fire(OLIVIA, "watch", "first")
    card = await house.card(OWNER)
    await house.pressed(OWNER, card, 0)
    details = await house.telegram.wait_text(OWNER, "fired by manual")
    assert "Tokens:" in details.text
    assert await house.pressed(OWNER, card, 2) == "“watch” is queued to run again."
    await ended(house, row, 2)
    assert await house.pressed(OWNER, card, 1) == "“watch” is paused."
    await house.telegram.wait_text(OWNER, "“watch” is paused.")
    assert await house.pressed(OWNER, card, 1) == "“watch” is already paused."
    told = await house.pressed(OWNER, card, 2)
    assert told == "“watch” is paused. Enable it before you run it again."
    assert not (await desk.find(OLIVIA, "watch")).enabled


async def test_a_strangers_press_on_a_notice_does_nothing(house: Hub) -> None:
    house.telegram.add_user(100, first_name="Gus")
    house.telegram.user_sends_text(100, "hi")
    shown = await house.telegram.wait_text(100, "You said: hi")
    await greeted(house)
    desk = desk_of(house)
    await desk.create(OLIVIA, {**WATCH, "trigger": {"type": "manual"}})
    await desk.fire(OLIVIA, "watch", "first")
    card = await house.card(OWNER)
    query = house.telegram.user_presses_button(100, shown.id, data=card.choices[1])
    answered = await house.telegram.wait_callback_answer(query.id)
    assert answered.answers[0]["text"] == "This routine belongs to someone else."
    assert (await desk.find(OLIVIA, "watch")).enabled


async def test_a_schedule_fires_and_a_run_with_nothing_to_report_is_silent(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=60) as house:
        page = {
            "name": "tick",
            "trigger": {"type": "cron", "schedule": "* * * * *"},
            "action": {"type": "lightweight", "prompt": "Anything new?"},
            "guardrails": {"cooldown_s": 0},
        }
        house.model.rule("Anything new", "**ROUTINE_OK.**")
        row = await desk_of(house).create(OLIVIA, page)
        runs = await ended(house, row, 2)
        over = [run for run in runs if run.state.over]
        assert {run.state for run in over} == {RunStatus.OK}
        assert len({run.key for run in over}) == len(over)
        assert not house.says(OWNER)


async def test_routines_survive_a_restart(house: Hub) -> None:
    row = await desk_of(house).create(OLIVIA, WATCH)
    await house.stop()
    house.telegram.user_sends_text(OWNER, "deploy while down")
    await house.start()
    await house.telegram.wait_text(OWNER, "Routine “watch”", timeout_s=LIMIT_S)
    (run,) = await runs_of(house, row)
    assert run.state is RunStatus.ATTENTION


async def test_a_routine_is_made_by_talking_once_its_owner_agrees(house: Hub) -> None:
    made = {"name": "watch", "prompt": "Look into it.", "kind": "event", "pattern": "deploy", "cooldown_s": 0}
    house.telegram.user_sends_text(OWNER, f"please call: routine_create {json.dumps(made)}")
    card = await house.card(OWNER)
    assert not await desk_of(house).listed(OLIVIA)
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_text(OWNER, "Created: watch, event, on")
    house.telegram.user_sends_text(OWNER, "deploy it")
    await house.telegram.wait_text(OWNER, "Routine “watch” has something for you")
    house.telegram.user_sends_text(OWNER, "please call: routine_list {}")
    await house.telegram.wait_text(OWNER, "watch, event, on")


async def test_no_one_is_asked_about_a_routine_that_cannot_be_made(house: Hub) -> None:
    await desk_of(house).create(OLIVIA, WATCH)
    made = {"name": WATCH["name"], "prompt": "Look into it.", "kind": "manual"}
    house.telegram.user_sends_text(OWNER, f"please call: routine_create {json.dumps(made)}")
    await house.telegram.wait_text(OWNER, "name is already the name of one of your routines")
    assert not [said for said in house.says(OWNER) if "May I" in said]
