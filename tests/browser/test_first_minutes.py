"""A newcomer, a minute after `make run`: a conversation, a tool that asks, a login for nobody else."""

import asyncio
import os
import re
import signal
import time
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from bot.app import App, Seams, serve
from bot.config.load import load
from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.clock import ManualClock
from tests.harness.process import START_LIMIT_S, HubProcess
from tests.plugins.profile import Profile

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest.fixture
def hub(newcomers_hub: HubProcess) -> HubProcess:
    """One for all."""
    return newcomers_hub


FIRST_TOOL_LIMIT_S = 60.0
MAX_ACTIONS = 5


class Newcomer:
    """Somebody who takes their time before each thing they do."""

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self.actions = 0

    async def acts(self) -> None:
        """Thinks, then does one thing."""
        await asyncio.sleep(self._pause_s)
        self.actions += 1


async def test_the_first_approved_tool_takes_five_actions_at_most(
    browser: Browser, hub: HubProcess, profile: Profile, complaints: Complaints
) -> None:
    began = time.monotonic()
    person = Newcomer(pause_s=profile.pick(test=0.0, ci=1.0, proof=1.0))
    async with tab(browser, complaints) as page:
        link = await _printed_link(hub)
        await person.acts()
        await page.goto(link)
        console = Console(page, hub.url)
        await person.acts()
        await page.get_by_role("button", name="run: ls").click()
        await person.acts()
        await console.field.press("Enter")
        await expect(console.card()).to_contain_text("ls")
        await person.acts()
        await console.decide("Approve")
        await console.sees("I ran ls. Result:")
        await expect(console.outcome()).to_contain_text("Approved by you")
    assert person.actions <= MAX_ACTIONS
    assert time.monotonic() - began <= FIRST_TOOL_LIMIT_S
    assert complaints.lines == []


async def _printed_link(hub: HubProcess) -> str:
    """Return what the start printed for people to open."""
    async with asyncio.timeout(START_LIMIT_S):
        return await _read_link(hub)


async def _read_link(hub: HubProcess) -> str:
    while not (found := re.search(r"http://\S+/login#code=\S+", hub.out)):
        assert hub.process.stdout is not None
        line = await hub.process.stdout.readline()
        assert line, hub.out
        hub.out += line.decode()
    return found.group(0)


async def test_a_login_link_works_once_and_is_required(browser: Browser, hub: HubProcess) -> None:
    link = await hub.link()
    async with tab(browser) as page:
        await page.goto(hub.url)
        await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
        await expect(page.get_by_text("hubbub login")).to_be_visible()
        await page.goto(re.sub("code=.*", "code=wrong", link))
        await expect(page.locator("body")).to_contain_text("This link is not valid")
        await expect(page.locator("body")).to_contain_text("hubbub login")
        await expect(page.get_by_role("button", name="Open the console")).to_have_count(0)
        console = Console(page, hub.url)
        await console.log_in(link)
        assert page.url.startswith(f"{hub.url}/")
        assert "code" not in page.url
        # A link that is no good, wherever it comes from, ends nothing.
        await page.goto(re.sub("code=.*", "code=wrong", link))
        await expect(page.locator("body")).to_contain_text("This link is not valid")
        await page.get_by_role("button", name="Open the console").click()
        await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    async with tab(browser) as page:
        await page.goto(link)
        await expect(page.get_by_role("heading", name="Not logged in")).to_be_visible()
        await page.goto(hub.url)
        await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()


@pytest.mark.slow
async def test_a_login_link_expires_after_15_minutes(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hubbub.toml"
    path.write_text(f'[hub]\ndata_dir = "{tmp_path}/data"\n[http]\nport = 0\n')
    clock, ready = ManualClock(), asyncio.get_running_loop().create_future()
    running = asyncio.create_task(serve(load(path, environ={}), Seams(clock=clock), ready.set_result))
    app: App = await asyncio.wait_for(ready, START_LIMIT_S)
    try:
        for age_s, good in ((14 * 60, True), (15 * 60, False)):
            link = app.login_url()
            clock.advance(age_s)
            async with tab(browser) as page:
                await page.goto(link)
                shown = (
                    page.get_by_role("navigation", name="Pages")
                    if good
                    else page.get_by_role("heading", name="Not logged in")
                )
                await expect(shown).to_be_visible()
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.wait_for(running, START_LIMIT_S)


async def test_enter_that_ends_a_composition_sends_nothing(console: Console) -> None:
    await console.open("chat/new")
    await console.field.fill("你好")
    for composing in ({"isComposing": True}, {"keyCode": 229}):
        await console.field.dispatch_event("keydown", {"key": "Enter", "bubbles": True, **composing})
    await expect(console.field).to_have_value("你好")
    await console.field.press("Enter")
    await console.in_a_thread()
    await console.sees("你好", "user")
    assert [line["text"] for line in await console.feed() if line["text"] == "你好"] == ["你好"]
