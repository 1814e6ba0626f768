"""The kill switch in the console: seen on every page, used from every page, whoever paused."""

import pytest
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.harness.process import HubProcess

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

PAGES = ("chat", "threads", "approvals", "routines", "channels", "why")
BANNER = "All tools are paused: no tool runs in chats, jobs or routines. Answers still come."


async def test_every_page_shows_that_tools_are_paused(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    banner = console.page.get_by_text(BANNER)
    await hub.api("POST", "/tools/pause", {})
    for page in PAGES:
        await console.open(page)
        await expect(banner).to_be_visible()
    await console.page.get_by_role("button", name="Unpause tools").click()
    await expect(banner).to_be_hidden()
    assert await hub.api("GET", "/tools") == {"paused": False}
    assert complaints.lines == []


async def test_a_member_is_told_that_tools_are_paused_and_who_can_unpause_them(
    hub: HubProcess, browser: Browser, complaints: Complaints
) -> None:
    invited = await hub.api("POST", "/invitations", {"name": "Mia"})
    async with tab(browser, complaints) as page:
        await Console(page, hub.url).log_in(invited["url"])
        banner = page.get_by_text(f"{BANNER} Only the owner can unpause them.")
        for change, shown in (("pause", True), ("unpause", False)):
            await hub.api("POST", f"/tools/{change}", {})
            await expect(banner).to_be_visible(visible=shown)
            await expect(page.get_by_role("button", name="ause tools")).to_have_count(0)
    assert complaints.lines == []


@pytest.mark.slow
async def test_tools_can_be_unpaused_from_every_page(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    banner = console.page.get_by_text(BANNER)
    pause = console.page.get_by_role("button", name="Pause tools", exact=True)
    unpause = console.page.get_by_role("button", name="Unpause tools")
    for page in PAGES:
        await console.open(page)
        await expect(banner).to_be_hidden()
        place = await pause.bounding_box()
        await pause.click()
        await expect(banner).to_be_visible()
        await expect(pause).to_be_hidden()
        assert await unpause.bounding_box() == place
        assert await hub.api("GET", "/tools") == {"paused": True}
        await unpause.click()
        await expect(banner).to_be_hidden()
    await hub.api("POST", "/tools/pause", {})
    await expect(banner).to_be_visible()
    await console.reload()
    await expect(banner).to_be_visible()
    await hub.api("POST", "/tools/unpause", {})
    await expect(banner).to_be_hidden()
    assert complaints.lines == []
