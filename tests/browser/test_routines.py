"""Routines in the console: made and tried by keyboard alone, run, paused, changed and forgotten; and text of
others that stays text."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.keyboard import tab_to
from tests.harness.process import HubProcess, running_hub

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]

WATCH: dict[str, Any] = {
    "name": "watch",
    "trigger": {"type": "event", "pattern": "deploy (\\w+)"},
    "action": {"type": "lightweight", "prompt": "Look into it."},
    "guardrails": {"cooldown_s": 0},
}
PLANTED = "<img src=x class=planted onerror=planted=1>"


async def type_into(page: Page, label: str, text: str) -> None:
    await tab_to(page, label)
    await page.keyboard.type(text)


def runs(page: Page) -> Locator:
    return page.get_by_role("region", name="Runs", exact=True).locator("tbody tr")


async def test_a_routine_is_created_and_tried_by_keyboard_alone(
    console: Console, complaints: Complaints
) -> None:
    page = console.page
    await console.open("routines")
    await expect(page.get_by_text("No routines yet.")).to_be_visible()
    await tab_to(page, "New")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Name", exact=True)).to_be_focused()
    await page.keyboard.type("watch")
    await type_into(page, "Prompt for the model", "Look into it.")
    await tab_to(page, "Trigger")
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_label("Trigger")).to_have_value("event")
    await expect(page.get_by_label("Trigger")).to_be_focused()
    await type_into(page, "Pattern to match", "deploy (")
    await tab_to(page, "Ignore case")
    await expect(page.get_by_text("has an unclosed parenthesis")).to_be_visible()
    await tab_to(page, "Pattern to match", back=True)
    await page.keyboard.press("End")
    await page.keyboard.type("\\w+)")
    await expect(page.locator(".fires-on")).to_have_text("A message in which “deploy (\\w+)” matches")
    await type_into(page, "A message to test", "deploy it")
    await expect(page.locator(".verdict")).to_contain_text("Fires: the pattern matches")
    await tab_to(page, "Save")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="watch")).to_be_focused()
    await expect(page.locator(".row")).to_contain_text("watch")
    assert complaints.lines == []


async def test_runs_appear_as_they_happen(console: Console, hub: HubProcess, complaints: Complaints) -> None:
    page = console.page
    made = await hub.api("POST", "/routines", WATCH)
    await console.open(f"routines/{made['id']}")
    await expect(page.get_by_text("No runs yet.")).to_be_visible()
    await page.get_by_role("button", name="Run now").click()
    await expect(runs(page)).to_have_count(1)
    await expect(runs(page).first).to_contain_text("attention")
    await hub.api("POST", "/chat/send", {"text": "deploy it", "new": True})
    await expect(runs(page)).to_have_count(2)
    await expect(runs(page).first).to_contain_text("event")
    await expect(page.get_by_role("img", name="The last 2 runs: 2 attention")).to_be_visible()
    await expect(page.locator(".row .badge")).to_have_text("attention")
    await page.get_by_label("A message to test").fill("nothing of it")
    await expect(page.locator(".verdict")).to_contain_text("Does not fire: the pattern")
    assert complaints.lines == []


async def test_a_routine_is_paused_changed_and_deleted(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    cron = {"type": "cron", "schedule": "0 9 * * 1-5", "timezone": "Europe/Berlin", "jitter_s": 5}
    made = await hub.api("POST", "/routines", {**WATCH, "name": "morning", "trigger": cron})
    await console.open("routines")
    await expect(page.locator(".calendar")).to_contain_text("morning")
    await page.locator(".row a").click()
    await page.get_by_role("button", name="Pause", exact=True).click()
    await expect(page.locator(".pane-head .badge")).to_have_text("disabled")
    await expect(page.get_by_role("button", name="Run now")).to_be_disabled()
    await page.get_by_role("button", name="Enable").click()
    await page.get_by_role("button", name="Edit").click()
    await expect(page.locator(".fires-on")).to_contain_text(
        "At 09:00 on Monday to Friday (Europe/Berlin). Next:"
    )
    await page.get_by_label("Schedule").fill("0 25 * * *")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_label("Schedule")).to_be_focused()
    await expect(page.get_by_text("hour: '25' is not from 0 to 23")).to_be_visible()
    for said, read in (
        ("every weekday at 9", "09:00 on Monday to Friday"),
        ("daily at 8:30 pm", "20:30 every day"),
    ):
        await page.get_by_label("Schedule").fill(said)
        await expect(page.locator(".fires-on")).to_contain_text(f"At {read} (Europe/Berlin). Next:")
    await page.get_by_label("Schedule").fill("30 8 * * *")
    await expect(page.locator(".fires-on")).to_contain_text("AM Europe/Berlin")
    await page.get_by_text("Limits and options").click()
    await page.get_by_label("Runs a day").fill("3")
    await page.get_by_text("Notices", exact=True).click()
    await expect(page.get_by_text("In your time zone, UTC. Notices are held back in these")).to_be_visible()
    await page.get_by_label("Quiet hours").fill("22:00-07:00")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator(".pane-head")).to_contain_text("At 08:30 every day (Europe/Berlin)")
    await expect(page.get_by_text("quiet 22:00–07:00 (UTC)")).to_be_visible()
    kept = await hub.api("GET", f"/routines/{made['id']}")
    assert kept["definition"]["trigger"] == {**cron, "schedule": "30 8 * * *"}
    assert kept["definition"]["guardrails"] == {"cooldown_s": 0, "daily_runs": 3}
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("button", name="Delete morning and its runs?").click()
    await expect(page.get_by_text("No routines yet.")).to_be_visible()
    assert complaints.lines == []


async def test_text_from_others_is_never_markup(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    asked = {**WATCH["action"], "prompt": PLANTED}
    trigger = {"type": "event", "pattern": f"{PLANTED} (.*)"}
    made = await hub.api(
        "POST",
        "/routines",
        {**WATCH, "name": PLANTED, "description": PLANTED, "trigger": trigger, "action": asked},
    )
    await hub.api("POST", "/chat/send", {"text": f"{PLANTED} {PLANTED}", "new": True})
    await console.open(f"routines/{made['id']}")
    await expect(runs(page)).to_have_count(1)
    await page.get_by_label("A message to test").fill(f"{PLANTED} {PLANTED}")
    await expect(page.locator(".verdict")).to_contain_text("Fires")
    await page.get_by_role("button", name="Edit").click()
    await expect(page.get_by_label("Name", exact=True)).to_have_value(PLANTED)
    assert await page.locator(".planted").count() == 0
    assert await page.evaluate("() => window.planted") is None
    assert complaints.lines == []


async def test_a_routine_chooses_the_worker_and_image_of_its_container_where_there_are_several(
    tmp_path: Path, browser: Browser, complaints: Complaints
) -> None:
    several = '\n[sandbox]\nenabled = true\nagents = ["claude"]\nimages = ["second"]\n'
    async with running_hub(tmp_path, extra=several) as hub, tab(browser, complaints) as page:
        opened = Console(page, hub.url)
        await opened.log_in(await hub.link())
        await opened.open("routines")
        await expect(
            page.get_by_text("No routines yet.")
        ).to_be_visible()  # a link of other pages is named alike
        await page.get_by_role("link", name="New").click()
        await page.get_by_label("Name", exact=True).fill("sky")
        await page.get_by_label("Trigger").select_option("manual")
        await page.get_by_label("What it does").select_option(label="Dispatch a job")
        await page.get_by_label("Title of the job").fill("Stars")
        await page.get_by_label("Task").fill("Count the stars")
        await page.get_by_text("Limits and options").click()
        await page.get_by_label("Work in a container, on a copy of this directory").fill(".")
        await page.get_by_label("Image of the container").select_option("second")
        await page.get_by_label("What works in the container").select_option("claude")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("heading", name="sky")).to_be_focused()
        (made,) = await hub.api("GET", "/routines")
        kept = (await hub.api("GET", f"/routines/{made['id']}"))["definition"]["action"]
        assert (kept["sandbox"], kept["mode"], kept["image"]) == (".", "claude", "second")
        assert complaints.lines == []


async def test_a_routine_that_dispatches_a_job_is_made_and_run(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    await console.open("routines")
    await expect(page.get_by_text("No routines yet.")).to_be_visible()
    await tab_to(page, "New")
    await page.keyboard.press("Enter")
    await page.get_by_label("Name", exact=True).fill("sky")
    await page.get_by_label("Trigger").select_option("manual")
    await page.get_by_label("What it does").select_option(label="Dispatch a job")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_label("Title of the job")).to_be_focused()
    await page.get_by_label("Title of the job").fill("Stars")
    await page.get_by_label("Task").fill("Count the stars")
    await page.get_by_text("Limits and options").click()
    await page.get_by_label("Rounds at most").fill("9")
    await expect(page.get_by_label("Image of the container")).to_be_hidden()
    await page.get_by_label("Work in a container, on a copy of this directory").fill(".")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Jobs in containers are turned off in this hub")).to_be_visible()
    await page.get_by_label("Work in a container, on a copy of this directory").fill("")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name="sky")).to_be_focused()
    (made,) = await hub.api("GET", "/routines")
    kept = await hub.api("GET", f"/routines/{made['id']}")
    assert kept["definition"]["action"] == {
        "type": "full_job",
        "title": "Stars",
        "description": "Count the stars",
        "max_iterations": 9,
    }
    await page.get_by_role("button", name="Run now").click()
    await expect(runs(page)).to_have_count(1)
    await expect(runs(page).first).to_contain_text("attention")
    (job,) = await hub.api("GET", "/jobs")
    assert job["title"] == "Stars"
    await runs(page).first.get_by_role("link", name="Job").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text(f"{job['short_id']}: Stars")
    await page.get_by_role("link", name="Its routine").click()
    await expect(page.get_by_role("heading", name="sky")).to_be_visible()
    assert complaints.lines == []
