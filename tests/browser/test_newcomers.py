"""What a newcomer stumbled over, each as they met it; see docs/first-ten-minutes.md."""

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, Route, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.cutting import way_to
from tests.harness.process import running_hub
from tests.harness.telegram_hub import LIMIT_S, OWNER
from tests.simulators.telegram import TelegramSimulator

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.asyncio(loop_scope="session"),
]
CUT = ("ERR_", "Failed to fetch", "Failed to load resource")


@pytest.mark.slow
async def test_files_beyond_the_tenth_are_refused_in_a_toast(
    console: Console, complaints: Complaints
) -> None:
    page = console.page
    files = [{"name": f"{number}.txt", "mimeType": "text/plain", "buffer": b"x"} for number in range(12)]
    await page.locator("input[type=file]").set_input_files(files)  # type: ignore[arg-type]
    await expect(page.locator(".toast").last).to_have_text("You can attach at most 10 files.")
    await page.locator(".toast").last.hover()  # what is under the pointer does not go by itself
    await console.files_are_there(10)
    await page.wait_for_function(
        "() => performance.now() - Number(document.querySelector('.toast').dataset.at) > 1000"
    )
    await console.open("memory")
    await expect(page.locator(".toast")).to_have_count(0)
    assert complaints.lines == []


@pytest.mark.slow
async def test_a_message_to_another_platform_is_shown_once(
    browser: Browser, tmp_path: Path, telegram: TelegramSimulator, complaints: Complaints
) -> None:
    async with running_hub(tmp_path, telegram=telegram) as hub, tab(browser, complaints) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        telegram.user_sends_text(OWNER, "from my telephone")
        await telegram.wait_text(OWNER, "You said", timeout_s=LIMIT_S)
        await console.open("chat")
        await page.get_by_role("link").filter(has_text="from my telephone").first.click()
        await console.sees("You said")
        judged = asyncio.Event()

        async def answered_late(route: Route) -> None:  # what is being sent goes by itself soon after that
            response = await route.fetch()
            await judged.wait()
            await route.fulfill(response=response)

        await page.route("**/api/threads/*/answer", answered_late)
        await console.say("from the console")
        await expect(console.messages("operator").filter(has_text="from the console")).to_be_visible()
        assert await page.locator(".message.sending").count() == 0, "not beside itself"
        judged.set()
        await page.unroute_all(behavior="wait")
        await telegram.wait_text(OWNER, "from the console", timeout_s=LIMIT_S)
    assert complaints.lines == []


@pytest.mark.slow
async def test_the_composer_says_that_the_hub_is_there_again(
    browser: Browser, tmp_path: Path, complaints: Complaints
) -> None:
    async with running_hub(tmp_path) as hub, way_to(hub.url) as way, tab(browser, complaints) as page:
        console = Console(page, way.url)
        await console.log_in(await hub.link(through=way.url))
        await console.say_in_a_new_thread("hello")
        await console.sees("You said")
        way.cut()
        await expect(page.get_by_text("Not connected.")).to_be_visible()
        await console.say("kept while the hub is away")
        problem = page.locator(".composer .problem")
        await expect(problem).to_contain_text("Can't reach the hub")
        way.mend()
        await expect(problem).to_have_text("Connected again. Press Send to send your message.")
        await console.field.press("Enter")
        await console.sees("You said: kept while the hub is away")
        await expect(problem).to_be_hidden()
    assert [line for line in complaints.lines if not any(one in line for one in CUT)] == []


@pytest.mark.slow
async def test_a_card_that_is_edited_promises_nothing_about_always(
    console: Console, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread("run: touch plan.md")
    card = console.card()
    await expect(card).to_contain_text("Always allow would cover shell: touch with")
    await card.get_by_role("button", name="Edit…").click()
    await expect(card).not_to_contain_text("Always allow would cover")
    field = card.get_by_label("command")
    await field.fill("touch plan2.md")
    await field.press("Enter")
    await expect(field).to_have_value("touch plan2.md")
    await field.press("Control+Enter")
    await console.sees("I ran")
    assert complaints.lines == []
