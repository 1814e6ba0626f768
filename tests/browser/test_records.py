"""Pages that tell of the past, on a hub where nobody has configured anything: Jobs, Usage and Why."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.harness.process import HubProcess

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.slow
async def test_jobs_usage_and_why_pages_show_past_activity(
    browser: Browser, newcomers_hub: HubProcess, complaints: Complaints
) -> None:
    async with tab(browser, complaints) as page:
        console = Console(page, newcomers_hub.url)
        await console.log_in(await newcomers_hub.link())
        job = await newcomers_hub.api("POST", "/jobs", {"task": "say: the job is done"})
        await console.say_in_a_new_thread("run: touch recorded")
        await expect(console.card().get_by_role("heading")).to_have_text("Run touch recorded?")
        await console.decide("Approve")
        await console.sees("I ran")
        await console.open("why?q=recorded")
        await expect(page.locator(".event").first).to_contain_text("Run touch recorded? Approved by you")
        await console.open("usage")
        models = page.locator("section", has=page.get_by_role("heading", name="Models,"))
        await expect(models.get_by_role("row").filter(has_text="demo")).to_contain_text("free")
        (today,) = (await newcomers_hub.api("GET", "/usage?by=day"))["rows"]
        tokens = f"{today['input_tokens'] + today['output_tokens']:,} tokens"
        plot = page.get_by_role("img", name=f"Usage of the last 30 days; the highest bar is {tokens}")
        await expect(plot.locator("g")).to_have_count(30)
        bars = plot.locator("g", has=page.locator("rect"))
        await expect(bars.locator("title")).to_have_text([f"{today['name']}: free, {tokens}"])
        await console.open("jobs")
        await page.get_by_role("link").filter(has_text=job["short_id"]).click()
        await expect(page.get_by_role("list", name="Events")).to_contain_text("result completed")
    assert complaints.lines == []
