"""Pages other than Chat by keyboard alone: who is let in, what was asked, what became of a message, files."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import FileChooser, expect

from tests.browser.chromium import Complaints
from tests.browser.console import Console
from tests.browser.keyboard import tab_to
from tests.harness.process import STRANGER, HubProcess, running_hub
from tests.harness.telegram_hub import LIMIT_S
from tests.simulators.telegram import TelegramSimulator

OTHER = 10

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest_asyncio.fixture(loop_scope="session")
async def hub(tmp_path: Path, telegram: TelegramSimulator) -> AsyncIterator[HubProcess]:
    """A hub with a platform."""
    async with running_hub(tmp_path, telegram=telegram) as running:
        yield running


async def test_a_person_is_paired_answered_found_and_removed(
    console: Console, telegram: TelegramSimulator, complaints: Complaints
) -> None:
    page = console.page
    await console.open("channels")
    telegram.user_sends_text(STRANGER, "let me in")
    await expect(page.get_by_role("button", name="Member")).to_be_visible()
    await tab_to(page, "Member")
    telegram.add_user(OTHER, first_name="Otto")
    telegram.user_sends_text(OTHER, "me too")
    await expect(page.get_by_role("button", name="Member")).to_have_count(2)
    asks = page.get_by_role("listitem").filter(has_text="Stan")
    await expect(asks.get_by_role("button", name="Member")).to_be_focused()
    await page.keyboard.press("Enter")
    await telegram.wait_text(STRANGER, "You now have access.", timeout_s=LIMIT_S)
    await expect(page.get_by_role("button", name="Member")).to_have_count(1)
    await tab_to(page, "Deny")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("No pairing requests.")).to_be_visible()
    await expect(page.get_by_role("heading", name="Pairing requests")).to_be_focused()

    telegram.user_sends_text(STRANGER, "what time is it")
    await telegram.wait_text(STRANGER, "It is", timeout_s=LIMIT_S)
    await tab_to(page, "Channels", back=True)
    for _ in ("Jobs", "Routines", "Approvals", "Inbox"):
        await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Enter")
    await tab_to(page, "All")
    await page.keyboard.press("Enter")
    await expect(page.locator(".row").first).to_contain_text("what time is it")
    await tab_to(page, "Search conversations", back=True)
    await page.keyboard.type("what time")
    await expect(page.locator(".row").filter(has_text="message")).to_have_count(1)
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(console.field).to_be_focused()
    await page.keyboard.type("Time for a walk.")
    await page.keyboard.press("Enter")
    await console.sees("Time for a walk.", "operator")
    await telegram.wait_text(STRANGER, "Time for a walk.", timeout_s=LIMIT_S)

    await tab_to(page, "Inbox", back=True)
    await page.keyboard.press("End")
    await page.keyboard.press("Enter")
    await tab_to(page, "What happened to a message?")
    await page.keyboard.type("what time is it")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("1 message found")).to_be_visible()
    await tab_to(page, "Open conversation")
    await page.keyboard.press("Enter")
    await console.sees("what time is it", "user")

    await console.open("channels")
    await expect(page.get_by_role("button", name="Remove access")).to_be_visible()
    await tab_to(page, "Model: as configured")
    await page.keyboard.press("Enter")
    await tab_to(page, "Thinking")
    await page.keyboard.press("ArrowDown")
    await tab_to(page, "Save model")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Model: thinking off")).to_be_visible()
    await tab_to(page, "Remove access: telegram 9")
    await page.keyboard.press("Enter")
    await page.locator(".toast").last.hover()  # it stays until then
    await expect(page.get_by_text("· revoked")).to_be_visible()
    await tab_to(page, "Undo")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("· paired")).to_be_visible()
    assert complaints.lines == []


async def test_a_gate_is_decided_on_the_approvals_page(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    sent = [
        await hub.api("POST", "/chat/send", {"text": f"run: touch {name}", "new": True})
        for name in ("one", "two")
    ]
    await console.open("approvals")
    await expect(page.locator("article.approval")).to_have_count(2)
    for left in (1, 0):
        await tab_to(page, "Approve")
        while (await page.evaluate("() => document.activeElement.dataset.action")) != "approve":
            await tab_to(page, "Approve")  # the page's own link begins alike
        await page.keyboard.press("Enter")
        await expect(page.locator("article.approval:not(.closed)")).to_have_count(left)
        await expect(page.locator("article.approval:focus")).to_contain_text("Approved by you")
    made = hub.directory / "workspace"
    await console.open("approvals/history")
    await expect(page.locator("article.approval")).to_have_count(2)
    await expect(page.locator("article.approval .outcome").filter(has_text="Approved by you")).to_have_count(
        2
    )
    for one in sent:
        await console.open(f"chat/{one['thread_id']}")
        await console.sees("I ran")
    assert {"one", "two"} <= {path.name for path in made.iterdir()}
    assert complaints.lines == []


async def test_files_are_attached_and_removed(console: Console, complaints: Complaints) -> None:
    page = console.page
    # Listened for from the beginning: the browser is told so beside the keys, not before them.
    chosen: asyncio.Queue[FileChooser] = asyncio.Queue()
    page.on("filechooser", chosen.put_nowait)
    await console.open("chat/new")
    await expect(console.field).to_be_focused()
    await tab_to(page, "Attach files", back=True)
    await page.keyboard.press("Enter")
    files = [("wrong.txt", b"x"), ("right.txt", b"yy")]
    await (await asyncio.wait_for(chosen.get(), LIMIT_S)).set_files(
        [{"name": name, "mimeType": "text/plain", "buffer": words} for name, words in files]
    )
    await console.files_are_there(2)
    await tab_to(page, "Remove wrong.txt", back=True)
    await page.keyboard.press("Enter")
    await expect(page.locator(".chip")).to_have_count(1)
    await expect(console.field).to_be_focused()
    await page.keyboard.type("here it is")
    await page.keyboard.press("Enter")
    await console.in_a_thread()
    await expect(console.messages("user").first).to_contain_text("right.txt")
    await expect(console.messages("user").first).not_to_contain_text("wrong.txt")
    assert complaints.lines == []
