"""Extensions on the console's page of channels: what there is, adding by address, turning off, removing."""

import pytest
from playwright.async_api import expect

from tests.browser.chromium import Complaints
from tests.browser.console import Console
from tests.simulators.mcp.web import open_web_server

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]


async def test_an_extension_is_added_by_its_address_disabled_and_removed(
    console: Console, complaints: Complaints
) -> None:
    async with open_web_server() as web:
        await console.open("channels")
        page = console.page
        await page.get_by_text("Add an extension by its address").click()
        await page.get_by_role("textbox", name="Name", exact=True).last.fill("web")
        await page.get_by_label("Address").fill(web.url)
        await page.get_by_role("button", name="Add extension").click()
        card = page.get_by_role("region", name="Extensions").locator(".card")
        await expect(card).to_contain_text("ready, 5 tools", timeout=60_000)
        await expect(card).to_contain_text(web.url)
        await card.get_by_role("button", name="Disable").click()
        await expect(card.locator(".badge")).to_have_text("disabled")
        await card.get_by_role("button", name="Remove").click()
        await card.get_by_role("button", name="Remove").click()
        await expect(page.get_by_text("No MCP server is connected.")).to_be_visible()
    assert complaints.lines == []
