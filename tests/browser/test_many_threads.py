"""Ten thousand conversations are listed and scrolled without a moment in which the page does not answer."""

import math
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.crowd import multiply
from tests.harness.process import HubProcess, running_hub
from tests.plugins.profile import Profile

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]

COUNT = 10_000
LONGEST_TASK_MS = 100
"""The limit is judged where nothing else has the processor, which is so in the proof."""
MAX_ROWS = 60
"""Rows that exist at a time, whatever the number of threads."""

WATCH = """
window.long = [];
new PerformanceObserver((list) => window.long.push(...list.getEntries().map((one) => one.duration)))
  .observe({type: 'longtask', buffered: true});
"""
SCROLL = """
async () => {
  const list = document.querySelector('.virtual');
  for (let step = 0; step < 20; step++) {
    list.scrollTop += list.clientHeight * 0.9;
    await new Promise(requestAnimationFrame);
  }
  return {
    listed: Number(list.querySelector('.row').getAttribute('aria-setsize')),
    rows: list.querySelectorAll('.row').length,
  };
}
"""


@pytest_asyncio.fixture(loop_scope="session")
async def crowded(tmp_path: Path) -> AsyncIterator[HubProcess]:
    """A hub with ten thousand threads."""
    async with running_hub(tmp_path) as hub:
        sent = await hub.api("POST", "/chat/send", {"text": "hello", "new": True})
        while (await hub.api("GET", f"/threads/{sent['thread_id']}"))["thread"]["turn"] is not None:
            pass
        await hub.stop()
        multiply(hub.directory / "data" / "hub.db", sent["thread_id"], COUNT - 1)
        await hub.restart()
        yield hub


async def test_many_threads_are_listed_and_scroll_smoothly(
    browser: Browser, crowded: HubProcess, complaints: Complaints, profile: Profile
) -> None:
    longest_ms = profile.pick(test=math.inf, proof=LONGEST_TASK_MS)
    async with tab(browser, complaints) as page:
        await page.add_init_script(WATCH)
        console = Console(page, crowded.url)
        await console.log_in(await crowded.link())
        await console.open("threads")
        await expect(page.locator(".row").first).to_be_visible()
        listed = await scroll_to_the_end(page)
        assert listed == COUNT
        await page.locator(".row a[tabindex='0']").focus()
        await page.keyboard.press("End")
        await expect(page.locator(".row a:focus")).to_contain_text(f"{COUNT - 2} ")
        await page.get_by_role("searchbox").fill("9998 ")
        await expect(page.locator(".row a").first).to_contain_text("9998 ")
        await expect(page.locator(".row")).to_have_count(1)
        long_ms = await page.evaluate("() => window.long")
        assert [one for one in long_ms if one > longest_ms] == []
    assert complaints.lines == []


async def scroll_to_the_end(page: Page) -> int:
    """How many are listed once there are no more; few of them exist at a time."""
    listed = 0
    for _ in range(COUNT // 20):
        state = await page.evaluate(SCROLL)
        assert state["rows"] <= MAX_ROWS
        if state["listed"] == COUNT:
            return COUNT
        listed = state["listed"]
    return listed
