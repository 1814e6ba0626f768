"""People of a platform in the console: they are the owner, or refused; what they call themselves is text."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.screens import barriers, misfits
from tests.harness.process import STRANGER, HubProcess, running_hub
from tests.harness.telegram_hub import LIMIT_S
from tests.simulators.telegram import TelegramSimulator

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]

PLOTTER = 10
IMAGE = "<img src=x class=planted onerror=planted=1>"
SCRIPT = "<script class=planted>planted=1</script>"
MEMBERS_RUN = """
[roles.member]
tools = ["shell"]
"""


@pytest_asyncio.fixture(loop_scope="session")
async def hub(tmp_path: Path, telegram: TelegramSimulator) -> AsyncIterator[HubProcess]:
    """A hub whose platform has somebody with a name for a browser; members may ask for commands."""
    telegram.add_user(PLOTTER, first_name=IMAGE, last_name=SCRIPT, username="plotter")
    async with running_hub(tmp_path, telegram=telegram, extra=MEMBERS_RUN) as running:
        yield running


async def test_this_is_me_links_an_account_to_the_owner(
    console: Console, telegram: TelegramSimulator, complaints: Complaints
) -> None:
    telegram.user_sends_text(STRANGER, "it is me, from another telephone")
    await console.open("channels")
    asking = console.page.get_by_role("region", name="Pairing requests")
    await asking.get_by_role("button", name="This is me").click()
    await telegram.wait_text(STRANGER, "You now have access.", timeout_s=LIMIT_S)
    await expect(asking.get_by_text("No pairing requests.")).to_be_visible()
    people = console.page.get_by_role("region", name="People")
    await expect(people.locator(".card").filter(has_text="owner")).to_contain_text("telegram 9 · paired")
    telegram.user_sends_text(STRANGER, "run: echo mine")
    await console.open("approvals")
    await expect(console.card()).to_contain_text("Asked by owner on telegram")
    assert complaints.lines == []


async def test_a_refused_login_shows_nothing(
    console: Console, telegram: TelegramSimulator, complaints: Complaints
) -> None:
    telegram.user_sends_text(STRANGER, "let me in")
    await console.open("channels")
    asking = console.page.get_by_role("region", name="Pairing requests")
    await asking.get_by_role("button", name="Deny").click()
    await expect(asking.get_by_text("No pairing requests.")).to_be_visible()
    people = console.page.get_by_role("region", name="People")
    await expect(people).not_to_contain_text("Stan")
    telegram.user_sends_text(STRANGER, "what time is it")
    await console.open("why")
    await expect(console.page.locator(".event").filter(has_text="refused").first).to_be_visible()
    assert not [one for one in telegram.bot_messages(STRANGER) if one.text.startswith("It is")]
    assert complaints.lines == []


async def test_a_double_click_pairs_no_one_else(
    console: Console, telegram: TelegramSimulator, complaints: Complaints
) -> None:
    for person in (STRANGER, PLOTTER):
        telegram.user_sends_text(person, "let me in")
        await telegram.wait_text(person, "This assistant is private.", timeout_s=LIMIT_S)
    await console.open("channels")
    asking = console.page.get_by_role("region", name="Pairing requests")
    members = asking.get_by_role("button", name="Member")
    await expect(members).to_have_count(2)
    await expect(console.page.get_by_text("Loading…")).to_have_count(0)  # nothing moves any more
    spot = await members.first.bounding_box()
    assert spot is not None
    where = spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2
    await console.page.mouse.click(*where)
    await expect(asking.locator(".count")).to_have_text("1")  # the list has been read anew since
    await console.page.mouse.click(*where)
    await console.page.mouse.dblclick(*where)
    await expect(members).to_have_count(1)
    await expect(asking.locator(".outcome")).to_have_text("allowed as Stan (member)")
    telegram.user_sends_text(STRANGER, "hello")
    await telegram.wait_text(STRANGER, "You said: hello", timeout_s=LIMIT_S)
    assert not [one for one in telegram.bot_messages(PLOTTER) if one.text.startswith("You now have access.")]
    assert complaints.lines == []


async def test_display_names_are_shown_as_text_everywhere(
    console: Console, telegram: TelegramSimulator, complaints: Complaints
) -> None:
    page = console.page

    async def shown_in(place: str, selector: str) -> None:
        await console.open(place)
        await expect(page.locator(selector).filter(has_text=IMAGE).first).to_be_visible()
        await nothing_planted(console)

    telegram.user_sends_text(PLOTTER, "let me in")
    await shown_in("channels", ".card .name")
    await page.get_by_role("button", name="Member").click()
    await telegram.wait_text(PLOTTER, "You now have access.", timeout_s=LIMIT_S)
    await shown_in("channels", ".card h3")
    telegram.user_sends_document(PLOTTER, name=f"{IMAGE}.txt", caption="run: ls")
    await shown_in("approvals", "article.approval .meta")
    await shown_in("threads", ".row-preview")
    await page.locator(".row a").first.click()
    await expect(page.locator(".pane-head .about")).to_contain_text(IMAGE)
    await console.sees("run: ls", "user")
    await nothing_planted(console)
    (card,) = [one for one in telegram.bot_messages(PLOTTER) if (one.keyboard or {}).get("inline_keyboard")]
    telegram.user_presses_button(PLOTTER, card.id, 0)
    await expect(console.outcome()).to_contain_text(f"Approved by {IMAGE}")
    await nothing_planted(console)
    await shown_in("approvals/history", ".outcome")
    telegram.user_sends_text(PLOTTER, SCRIPT)
    await telegram.wait_text(PLOTTER, "You said", timeout_s=LIMIT_S)
    await shown_in("why", ".event .name")
    await expect(page.locator(".event-text").filter(has_text=SCRIPT).first).to_be_visible()
    assert complaints.lines == []


async def test_an_invited_member_has_their_own_conversations_and_nothing_else(
    console: Console, browser: Browser, telegram: TelegramSimulator, complaints: Complaints
) -> None:
    owners = await console.say_in_a_new_thread("for the owner alone")
    await console.open("channels")
    people = console.page.get_by_role("region", name="People")
    await people.get_by_text("Invite a member to the console").click()
    await people.get_by_label("Name").fill(IMAGE)
    await people.get_by_label("Name").press("Enter")
    shown = people.get_by_label(f"Link for {IMAGE}")
    await expect(shown).to_have_value(re.compile("/login#code="))
    member = people.locator(".card").filter(has_text=IMAGE)
    await expect(member).to_contain_text("the console · paired")
    await console.page.evaluate(
        "() => document.querySelectorAll('details').forEach((one) => one.open = true)"
    )
    assert await misfits(console.page) + await barriers(console.page) == []
    await nothing_planted(console)
    async with tab(browser, complaints) as page:
        theirs = Console(page, console.url)
        await theirs.log_in(await shown.input_value())
        pages = page.get_by_role("navigation", name="Pages").get_by_role("link")
        await expect(pages).to_have_text([re.compile("Inbox"), re.compile("Approvals"), re.compile("Memory")])
        await expect(page.get_by_text("for the owner alone")).to_have_count(0)
        await theirs.say_in_a_new_thread("run: echo theirs")
        await expect(theirs.card()).to_be_visible()
        await console.open("approvals")
        await expect(console.card()).to_contain_text(IMAGE)
        await nothing_planted(console)
        await theirs.decide("Approve")
        await theirs.sees("I ran")
        for place in ("channels", "home", "usage", "routines"):
            await theirs.open(place)
            await expect(page.get_by_role("heading", name="Inbox")).to_be_attached()
        await theirs.open(f"chat/{owners}")
        await expect(page.get_by_role("heading", name="Conversation not found")).to_be_visible()
        await theirs.open("approvals")
        assert await misfits(page) + await barriers(page) == []
        await console.open("channels")
        remove = member.get_by_role("button", name="Remove access: the console")
        await remove.click()
        undo = console.page.locator(".toast").get_by_role("button", name="Undo")
        await undo.focus()  # it stays until then
        await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
        await undo.press("Enter")
        await expect(remove).to_be_visible()
        await page.reload()
        await expect(pages).to_have_count(3)
        await nothing_planted(theirs)


async def test_a_members_role_change_applies_at_once_and_can_be_undone(
    console: Console, browser: Browser, complaints: Complaints
) -> None:
    await console.open("channels")
    people = console.page.get_by_role("region", name="People")
    await people.get_by_text("Invite a member to the console").click()
    await people.get_by_label("Name").fill("Mia")
    await people.get_by_label("Name").press("Enter")
    link = people.get_by_label("Link for Mia")
    await expect(link).to_have_value(re.compile("/login#code="))
    async with tab(browser) as page:
        await Console(page, console.url).log_in(await link.input_value())
        mia = people.locator(".card").filter(has_text="Mia")
        await mia.get_by_role("button", name="Make a guest: Mia").click()
        undo = console.page.locator(".toast").get_by_role("button", name="Undo")
        await undo.focus()
        await expect(mia.locator(".badge")).to_have_text("guest")
        await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
        await undo.press("Enter")
        await expect(mia.locator(".badge")).to_have_text("member")
        await page.reload()
        await expect(page.get_by_role("navigation", name="Pages").get_by_role("link")).to_have_count(3)
    await expect(people.get_by_role("button", name="Make a guest: owner")).to_have_count(0)
    assert complaints.lines == []


async def nothing_planted(console: Console) -> None:
    """No name became an element or ran."""
    assert await console.page.locator(".planted").count() == 0
    assert await console.page.evaluate("() => window.planted") is None
