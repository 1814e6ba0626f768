"""Extensions on the console's page of channels: what there is, adding by address, turning off, removing."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.test_gates import MODEL
from tests.harness.process import running_hub
from tests.simulators.mcp.web import open_web_server
from tests.simulators.model import ModelSimulator
from tests.simulators.oauth import open_authorization_server

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]


async def added(console: Console, url: str) -> Locator:
    """Add an extension; return its card."""
    await console.open("channels")
    form = console.page.locator("details", has_text="Add an extension by its address")
    await form.locator("summary").click()
    await form.get_by_label("Name", exact=True).fill("web")
    await form.get_by_label("Address").fill(url)
    await form.get_by_role("button", name="Add extension").click()
    return console.page.get_by_role("region", name="Extensions").locator(".card")


async def test_an_extension_is_added_by_its_address_disabled_and_removed(
    console: Console, complaints: Complaints
) -> None:
    async with open_web_server() as web:
        page, card = console.page, await added(console, web.url)
        await expect(card).to_contain_text("ready, 5 tools")
        await expect(card).to_contain_text(web.url)
        await card.get_by_role("button", name="Disable").click()
        await expect(card.locator(".badge")).to_have_text("disabled")
        await card.get_by_role("button", name="Remove").click()
        await card.get_by_role("button", name="Remove").click()
        await expect(page.get_by_text("No MCP server is connected.")).to_be_visible()
    assert complaints.lines == []


async def signed_in(console: Console, link: Locator) -> str:
    """Follow a link in a tab of its own; return the address where it ended."""
    async with console.page.expect_popup() as opening:
        await link.click()
    there = await opening.value
    await expect(there.get_by_text("Signed in to web.")).to_be_visible()
    address = there.url
    await there.close()
    return address


async def test_a_member_signs_in_to_an_extension_of_their_own(
    browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    members = '\n[roles.member]\ntools = ["tool_install", "sign_in"]\n'
    async with (
        open_web_server() as web,
        open_authorization_server() as issuer,
        ModelSimulator(api_key="k", models=("sim-1",)) as model,
        running_hub(tmp_path, model=MODEL.format(url=model.openai_base_url), extra=members) as hub,
        tab(browser, complaints) as page,
        tab(browser, complaints) as members_page,
    ):
        issuer.resource, web.guard = web.url, issuer.challenge
        web.resource_metadata = lambda: issuer.resource_metadata
        owner, mia = Console(page, hub.url), Console(members_page, hub.url)
        await owner.log_in(await hub.link())
        await mia.log_in((await hub.api("POST", "/invitations", {"name": "Mia"}))["url"])
        await mia.say_in_a_new_thread(f'please call: tool_install {{"name": "web", "url": "{web.url}"}}')
        await owner.open("approvals")
        await owner.decide("Approve")
        await mia.sees("Done: ")
        await mia.say('please call: sign_in {"server": "web"}')
        link = mia.card().get_by_role("link", name="Sign in")
        await expect(link).to_be_visible()
        await signed_in(mia, link)
        await mia.sees("Signed in to web.")
        assert len(issuer.grants) == 1
    assert complaints.lines == []


async def test_the_button_leads_to_a_sign_in_and_a_call_runs_again_after_one(
    browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    async with (
        open_web_server() as web,
        open_authorization_server() as issuer,
        ModelSimulator(api_key="k", models=("sim-1",)) as model,
        running_hub(tmp_path, model=MODEL.format(url=model.openai_base_url)) as hub,
        tab(browser, complaints) as page,
    ):
        issuer.resource, web.guard = web.url, issuer.challenge
        web.resource_metadata = lambda: issuer.resource_metadata
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        card = await added(console, web.url)
        await card.get_by_role("button", name="Sign in").click()
        address = await signed_in(console, card.get_by_role("link", name="Open sign-in page"))
        again = await page.request.get(address)
        assert (again.status, "used before" in await again.text()) == (400, True)

        async def ready() -> bool:
            await console.reload()
            await expect(card).to_be_visible()
            return "ready, 5 tools" in await card.inner_text()

        while not await ready():
            pass
        issuer.revoke()
        await console.say_in_a_new_thread('please call: web__add {"a": 20, "b": 22}')
        link = console.card().get_by_role("link", name="Sign in")
        await expect(link).to_be_visible()
        assert web.calls == []
        await signed_in(console, link)
        await console.sees("42")
        assert [one["name"] for one in web.calls] == ["add"]
    assert complaints.lines == []
