"""A newcomer's first day, from `make run` on: a tool, a routine and its notice, a member, a model of their
own, the switch of all tools. What each took is printed; profile `proof` begins in a fresh clone."""

import re
import time
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.harness.clone import newcomers_hub
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model import ModelSimulator

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

MAX_ACTIONS = {"first_tool": 5, "routine": 8, "member": 5, "model": 11, "pause": 4}


class Newcomer:
    """Somebody at the console whose every click, filled field and key counts."""

    def __init__(self, page: Page, began: float) -> None:
        self.page = page
        self.actions = 0
        self.took: dict[str, tuple[int, float]] = {}
        self._began = began

    async def goes(self, name: str) -> None:
        """Follow a link of the navigation."""
        self.actions += 1
        await self.page.get_by_role("navigation", name="Pages").get_by_role("link", name=name).click()

    async def clicks(self, name: str, within: str = "main", *, exact: bool = True) -> None:
        """Press a button."""
        self.actions += 1
        await self.page.locator(within).get_by_role("button", name=name, exact=exact).first.click()

    async def fills(self, label: str, text: str, within: str = "main") -> None:
        """Write into a field."""
        self.actions += 1
        await self.page.locator(within).get_by_label(label, exact=True).fill(text)

    async def opens(self, text: str) -> None:
        """Unfold what is folded."""
        self.actions += 1
        await self.page.get_by_text(text).click()

    async def says(self, text: str) -> None:
        """Write a message and send it."""
        self.actions += 2
        await Console(self.page, "").say(text)

    def did(self, what: str) -> None:
        """End a part of the day."""
        self.took[what] = (self.actions, time.monotonic() - self._began)
        self.actions, self._began = 0, time.monotonic()


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_newcomers_day_takes_few_actions(
    browser: Browser,
    tmp_path: Path,
    complaints: Complaints,
    profile: Profile,
    proof_record: ProofRecord,
    capsys: pytest.CaptureFixture[str],
) -> None:
    began = time.monotonic()
    async with (
        ModelSimulator(api_key="k-new", models=("sim-1",)) as simulator,
        newcomers_hub(tmp_path, profile) as hub,
        tab(browser, complaints) as page,
    ):
        console, person = Console(page, hub.url), Newcomer(page, began)
        await console.log_in(hub.link)
        person.actions += 2  # `make run`, and the link
        await page.get_by_role("button", name="run: ls").click()
        person.actions += 2
        await console.field.press("Enter")
        await person.clicks("Approve", "article.approval")
        await console.sees("I ran ls. Result:")
        person.did("first_tool")

        await person.says("every weekday at 9: what time is it")
        await expect(console.card()).to_contain_text("Create routine")
        await person.clicks("Approve", "article.approval:not(.closed)")
        await expect(page.locator("article.approval.closed")).to_have_count(2)
        await person.goes("Routines")
        person.actions += 1
        await page.locator(".row a[href*=routines]").first.click()
        await person.clicks("Run now")
        await expect(page.get_by_role("region", name="Runs", exact=True)).to_contain_text("what time is it")
        await person.goes("Inbox")
        person.actions += 1
        await page.locator(".row a[href*=chat]").first.click()
        await expect(console.messages("notice").last).to_contain_text("what time is it")
        person.did("routine")

        await person.goes("Channels")
        await person.opens("Invite a member to the console")
        await person.fills("Name", "Mia", "section[aria-label=People], [aria-label=People]")
        person.actions += 1
        await page.get_by_role("region", name="People").get_by_label("Name").press("Enter")
        shown = page.get_by_label("Link for Mia")
        await expect(shown).to_have_value(re.compile("/login#code="))
        async with tab(browser, complaints) as theirs:
            member = Console(theirs, hub.url)
            await member.log_in(await shown.input_value())
            await member.say_in_a_new_thread("hello")
            await member.sees("You said: hello")
        person.did("member")

        await person.goes("Settings")
        await person.fills("Secret name", "mine")
        await person.fills("Value", "k-new")
        await person.clicks("Store secret")
        await expect(page.get_by_text("vault:mine")).to_be_visible()
        await person.opens("Add a model")
        added = 'details:has-text("Add a model")'
        for label, text in {
            "Name": "second",
            "Model": "sim-1",
            "Base URL": simulator.openai_base_url,
            "API key": "vault:mine",
        }.items():
            await person.fills(label, text, added)
        await person.clicks("Add model")
        await person.clicks("Approve", "article.approval")
        first = page.get_by_role("region", name="Models").get_by_role("listitem").first
        await expect(first).to_contain_text("seconddefault")
        called = len(simulator.log)
        await console.say_in_a_new_thread("hello")
        await expect(console.messages("assistant").last).to_be_visible()
        assert len(simulator.log) > called
        person.did("model")

        await person.goes("System")
        await person.clicks("Pause all tools")
        await expect(page.get_by_role("region", name="Hub", exact=True)).to_contain_text("Toolspaused")
        await person.clicks("Unpause tools")
        await expect(page.get_by_role("region", name="Hub", exact=True)).to_contain_text("Toolsnot paused")
        person.did("pause")
    with capsys.disabled():
        for what, (actions, seconds) in person.took.items():
            print(f"\nnewcomer, {what}: {actions} actions, {seconds:.1f} s", end="")
    took = {what: {"actions": actions, "took_s": round(s, 1)} for what, (actions, s) in person.took.items()}
    proof_record("newcomer-browser", **took)
    assert {what: actions for what, (actions, _) in person.took.items() if actions > MAX_ACTIONS[what]} == {}
    assert complaints.lines == []
