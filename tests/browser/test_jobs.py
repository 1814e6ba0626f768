"""Jobs in the console: on the board, live in detail, told something, and their message in a conversation."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.harness.process import HubProcess, running_hub

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]

PLANTED = "<img src=x class=planted onerror=planted=1>"


async def test_a_job_is_on_the_board_and_its_events_are_shown_and_it_is_restarted(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    job = await hub.api("POST", "/jobs", {"task": f"say: {PLANTED}"})
    await console.open("jobs")
    done = page.get_by_role("region", name="Done", exact=True)
    await done.get_by_role("link").first.click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text(job["short_id"])
    events = page.get_by_role("list", name="Events")
    await expect(events.locator("li").last).to_contain_text("result completed")
    await expect(events).to_contain_text(PLANTED)
    await expect(page.locator(".planted")).to_have_count(0)
    await page.get_by_role("button", name="Restart", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).not_to_contain_text(job["short_id"])
    await expect(events.locator("li").last).to_contain_text("result completed")


async def test_a_job_started_in_a_conversation_is_shown_there_by_one_message(
    console: Console, complaints: Complaints
) -> None:
    page = console.page
    await console.open("chat")
    await page.get_by_role("textbox").first.fill("/job say: done")
    await page.keyboard.press("Enter")
    shown = page.locator(".message.notice").filter(has_text="“say: done” is")
    await expect(shown.first).to_contain_text("is completed.")
    await expect(shown.first.get_by_role("button", name="Restart")).to_be_visible()
    await expect(shown).to_have_count(1)


async def test_a_job_for_review_waits_on_home_until_it_is_decided(
    browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    async with (
        running_hub(tmp_path, extra="\n[jobs]\nreview = true\n") as hub,
        tab(browser, complaints) as page,
    ):
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        await console.open("home")
        waiting = page.get_by_role("region", name="Waiting for you")
        await expect(waiting).to_contain_text("Nothing is waiting for you.")
        await hub.api("POST", "/jobs", {"task": "say: done"})
        await waiting.get_by_role("link", name="Review: say: done").click()
        await page.get_by_role("button", name="Reject").click()
        await console.open("home")
        await expect(waiting).to_contain_text("Nothing is waiting for you.")
    assert complaints.lines == []
