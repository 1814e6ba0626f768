"""Questions that nobody answers for a while, as the console shows them while time passes: the reminder, who
is asked, too, and the end. The hub looks after them faster here, and hours pass at a word."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from core.users import Role
from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.harness.telegram_hub import Hub, open_hub
from tests.scenarios.team import BEN_ID

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(180),
]

BEN = 8
RUN = "please run: touch made"
SPEED = 20
HOUR_S = 3_600
PASSES = "[approvals]\nexpires_after_s = 40_000"
ESCALATES = """
[approvals]
expires_after_s = 86400
[roles.member]
tools = ["shell"]
[[approvals.rules]]
role = "member"
approvers = "team:ops"
escalate_after_s = 40_000
escalate_to = "owner"
[teams.ops]
users = ["{ben}"]
"""


@contextlib.asynccontextmanager
async def at_the_console(browser: Browser, house: Hub) -> AsyncIterator[Console]:
    """The console of a hub in this process; nothing is complained of."""
    complaints = Complaints()
    async with tab(browser, complaints) as page:
        console = Console(page, house.app.url)
        await console.log_in(house.app.login_url())
        yield console
    assert complaints.lines == []


async def test_an_unanswered_gate_reminds_once_and_then_denies(browser: Browser, tmp_path: Path) -> None:
    async with (
        open_hub(tmp_path, extra=PASSES, speed=SPEED) as house,
        at_the_console(browser, house) as console,
    ):
        page = console.page
        await console.say_in_a_new_thread(RUN)
        await expect(console.card()).to_contain_text("touch made")
        house.clock.skip(10.5 * HOUR_S)
        await console.sees("Still waiting for your answer: Run `touch made`?", "notice")
        await expect(console.card()).to_have_count(1)
        house.clock.skip(HOUR_S)
        await expect(console.outcome()).to_contain_text("Not approved: no answer in time.")
        await expect(console.card()).to_have_count(0)
        settled = page.locator("article.approval.closed")
        for name in ("Approve", "Deny", "Always allow", "Edit…"):
            await expect(settled.get_by_role("button", name=name)).to_have_count(0)
        await console.sees("Done:")
        await expect(console.messages("notice").filter(has_text="Still waiting")).to_have_count(1)
        await expect(page.get_by_role("link", name="Approvals", exact=True)).to_be_visible()
        await console.open("approvals/history")
        await expect(settled.first).to_contain_text("Not approved: no answer in time.")
        assert not (house.workspace / "made").exists()


async def test_expiring_gates_show_their_time(browser: Browser, tmp_path: Path) -> None:
    async with (
        open_hub(tmp_path, extra=PASSES, speed=SPEED) as house,
        at_the_console(browser, house) as console,
    ):
        page = console.page
        await console.say_in_a_new_thread(RUN)
        await expect(console.card()).to_be_visible()
        await console.open("approvals")
        await expect(console.card()).to_contain_text("expires in")
        house.clock.skip(12 * HOUR_S)
        await expect(page.locator("article.approval").get_by_role("button", name="Approve")).to_have_count(0)
        await console.open("approvals/history")  # where it is wherever the page was read anew meanwhile
        await expect(console.outcome()).to_contain_text("Not approved: no answer in time.")


async def test_a_members_unanswered_gate_escalates_to_the_owner(browser: Browser, tmp_path: Path) -> None:
    async with (
        open_hub(tmp_path, extra=ESCALATES.format(ben=BEN_ID), speed=SPEED) as house,
        at_the_console(browser, house) as console,
    ):
        page = console.page
        house.telegram.add_user(BEN, first_name="Ben")
        await house.app.store.people.ensure_user(BEN_ID, Role.MEMBER, "Ben")
        await house.app.store.people.link_account(BEN_ID, "telegram", str(BEN), "Ben")
        await console.open("approvals")
        await expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
        house.telegram.user_sends_text(BEN, RUN)
        await expect(console.card()).to_contain_text("Asked by Ben on telegram")
        await expect(console.card()).to_contain_text("Someone else must decide this.")
        await expect(console.card().get_by_role("button", name="Approve")).to_have_count(0)
        house.clock.skip(12 * HOUR_S)
        await house.telegram.wait_text(BEN, "I have also asked owner.")
        await console.decide("Approve")
        await expect(console.outcome()).to_contain_text("Approved by you")
        await house.telegram.wait_text(BEN, "Done:")
        assert (house.workspace / "made").exists()
