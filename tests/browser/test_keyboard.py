"""Every flow by keyboard alone; where the focus is, is always seen."""

import asyncio
import re

import pytest
from playwright.async_api import Browser, Route, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.keyboard import tab_to
from tests.harness.process import HubProcess
from tests.patience import PATIENCE_S

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]


async def test_a_conversation_with_a_decision_works_by_keyboard(
    console: Console, complaints: Complaints
) -> None:
    page = console.page
    await console.open("approvals")
    await expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    await tab_to(page, "Skip to content")
    await tab_to(page, "Approvals")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="New conversation")).to_be_visible()
    await tab_to(page, "Message")
    await page.keyboard.type("run: ls -a")
    await page.keyboard.press("Enter")
    await expect(console.card()).to_be_visible()
    await expect(console.field).to_be_focused()
    await tab_to(page, "Edit…", back=True)
    await page.keyboard.press("Enter")
    await expect(console.card().get_by_label("command")).to_be_focused()
    await page.keyboard.press("Control+A")
    await page.keyboard.type("echo typed")
    await tab_to(page, "Approve as edited")
    await page.keyboard.press("Enter")
    await console.sees("typed")
    await expect(console.outcome()).to_contain_text("by you")
    assert complaints.lines == []


async def test_turns_are_undone_and_a_conversation_is_renamed_by_keyboard(
    browser: Browser, console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    thread = await console.say_in_a_new_thread("say: one")
    await console.sees("one")
    await console.say("say: two")
    await console.sees("two")
    await expect(page.get_by_role("meter")).to_have_accessible_name(re.compile(r"Context: \d.* tokens"))
    undone = page.locator(".message.undone")
    async with tab(browser, complaints) as looked_at:
        other = Console(looked_at, hub.url)
        await other.log_in(await hub.link())
        await other.open(f"chat/{thread}")
        await other.sees("two")
        await tab_to(page, "Undo this message and everything after it", back=True)
        await page.keyboard.press("Enter")
        for one in (page, looked_at):
            await expect(one.locator(".message.undone")).to_have_count(2)
        await tab_to(page, "Bring back what was undone last", back=True)
        await page.keyboard.press("Enter")
        await expect(looked_at.locator(".message.undone")).to_have_count(0)
    await tab_to(page, "Answer the last message again", back=True)
    await page.keyboard.press("Enter")
    await expect(undone.filter(has_text="two").first).to_be_visible()
    await expect(page.locator(".message.assistant:not(.undone)").filter(has_text="two")).to_have_count(1)

    await tab_to(page, "Conversation menu", back=True)
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Title")).to_be_focused()
    await page.keyboard.type("Shopping")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Shopping")).to_be_visible()
    await expect(page.get_by_label("Conversation menu")).to_be_focused()
    await page.keyboard.press("Enter")
    await tab_to(page, "Approvals")
    await page.keyboard.press("Enter")
    await page.get_by_label("Dangerous tools").fill("shell, echo")
    await page.get_by_label("Time limits").fill("shell 60")
    await page.get_by_label("Preset").select_option("whitelist")
    await page.get_by_role("button", name="Save approvals").press("Enter")
    await expect(page.get_by_text("In effect: whitelist.")).to_be_visible()
    policy = await hub.api("GET", f"/threads/{thread}/approval-policy")
    assert policy["effective"]["dangerous_tools"] == ["echo", "shell"]
    assert (policy["effective"]["tool_timeouts"], policy["thread"]["preset"]) == ({"shell": 60}, "whitelist")
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Title")).to_be_hidden()
    await page.get_by_label("Conversation menu").press("Enter")
    await page.get_by_role("button", name="Delete").press("Enter")
    await page.get_by_role("button", name="Delete it for good, not exported?").press("Enter")
    await expect(page.locator("#announcer")).to_contain_text("Deleted.")
    threads = (await hub.api("GET", "/threads"))["threads"]
    assert thread not in [one["id"] for one in threads]
    assert complaints.lines == []


async def test_lists_are_walked_with_arrows_and_left_with_escape(
    console: Console, complaints: Complaints
) -> None:
    page = console.page
    for number in range(3):
        await console.say_in_a_new_thread(f"conversation {number}")
        await console.sees("I am the built-in demo model")
    await console.open("threads")
    await expect(page.locator(".row")).to_have_count(3)
    await tab_to(page, "Search conversations")
    await page.keyboard.press("ArrowDown")
    for key, words in (
        ("ArrowDown", "conversation 1"),
        ("End", "conversation 0"),
        ("Home", "conversation 2"),
    ):
        await page.keyboard.press(key)
        await expect(page.locator(".row a:focus")).to_contain_text(words)
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page.locator(".conversation h2")).to_have_text("conversation 1")
    await expect(console.field).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator(".row a:focus")).to_contain_text("conversation 1")
    assert complaints.lines == []


async def test_the_theme_is_changed_and_the_user_logs_out_by_keyboard(console: Console) -> None:
    page = console.page
    await console.open("why")
    await expect(page.locator("main h1")).to_be_visible()
    await tab_to(page, "Theme: auto")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Theme: light")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Theme: dark")).to_be_focused()
    assert await page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    await console.reload()
    assert await page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    await page.set_viewport_size({"width": 768, "height": 1024})
    await expect(page.get_by_role("button", name="Pause tools")).to_be_in_viewport()
    await expect(page.get_by_role("button", name="Log out")).to_be_in_viewport(ratio=1)
    await tab_to(page, "Log out")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
    await console.reload()
    await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()


async def test_new_messages_are_announced_to_screen_readers(console: Console) -> None:
    await console.say_in_a_new_thread("what time is it")
    await console.sees("It is")
    announcer = console.page.locator("#announcer")
    await expect(announcer).to_contain_text("It is")
    async with asyncio.timeout(PATIENCE_S):
        while "It is" in (await announcer.text_content() or ""):  # gone with its page, once it was heard
            for place, heading in (("why", "Why"), ("memory", "Memory")):
                await console.open(place)
                await expect(console.page.get_by_role("heading", level=1)).to_have_text(heading)


async def test_an_answer_older_than_its_page_is_announced_too(console: Console) -> None:
    page = console.page

    async def once_answered(route: Route) -> None:
        while True:
            response = await route.fetch()
            if any(item["kind"] == "assistant" for item in (await response.json())["items"]):
                return await route.fulfill(response=response)

    await page.route(re.compile(r"/api/threads/[^?]+\?limit=100"), once_answered)
    await console.say_in_a_new_thread("what time is it")
    await expect(page.locator("#announcer")).to_contain_text("It is")
    await console.reload()
    await console.sees("It is")
    await expect(page.locator("#announcer")).to_have_text("")
