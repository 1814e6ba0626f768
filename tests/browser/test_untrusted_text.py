"""Text controlled by a chat user or a tool is text on the screen, never markup and never a script."""

import pytest
from playwright.async_api import expect

from tests.browser.chromium import Complaints
from tests.browser.console import Console
from tests.harness.process import HubProcess

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest.fixture
def hub(newcomers_hub: HubProcess) -> HubProcess:
    """One for all."""
    return newcomers_hub


MARKUP = '<img src=x class=planted onerror="window.planted=1"><script class=planted>planted=1</script>'
LINKS = '[a](javascript:planted=1) [b](data:text/html,x) [c](https://example.org/"onmouseover="x) <b>d</b>'


async def nothing_planted(console: Console) -> None:
    """Nothing of what was said became an element or ran."""
    assert await console.page.locator(".planted").count() == 0
    assert await console.page.evaluate("() => window.planted") is None
    schemes = await console.page.evaluate(
        "() => [...document.querySelectorAll('a[href]')].map((one) => one.protocol)"
    )
    assert set(schemes) <= {"http:", "https:", "mailto:"}


async def test_messages_answers_and_tool_output_are_text(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread(f"{MARKUP} {LINKS}")
    await expect(console.messages("user").first).to_contain_text(MARKUP)
    await console.sees("You said:")
    await expect(console.messages("assistant").last).to_contain_text("<script class=planted>")
    link = console.messages("assistant").get_by_role("link").first
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    (hub.directory / "workspace" / "evil.html").write_text(MARKUP)
    await console.say("run: cat evil.html; echo '<b class=planted>x</b>'")
    await expect(console.card()).to_contain_text("<b class=planted>x</b>")
    await nothing_planted(console)
    await console.decide("Approve")
    await expect(console.messages("assistant").last).to_contain_text("onerror=")
    await console.page.locator("article.approval summary").last.click()
    await expect(console.page.locator("article.approval .steps-rows")).to_contain_text(
        "<b class=planted>x</b>"
    )
    await nothing_planted(console)
    assert complaints.lines == []


@pytest.mark.slow
async def test_names_of_files_and_threads_are_text(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    await console.open("chat/new")
    await console.page.locator("input[type=file]").set_input_files(
        {"name": f"{MARKUP[:60]}.txt", "mimeType": "text/plain", "buffer": b"x"}
    )
    await expect(console.page.locator(".chip")).to_contain_text("<img src=x")
    await console.files_are_there(1)
    await console.say(MARKUP)
    await console.in_a_thread()
    await expect(console.messages("user").first).to_contain_text("<img src=x class=planted")
    await expect(console.page.locator(".row").first).to_contain_text("<img src=x class=planted")
    await hub.api("POST", "/users", {"name": MARKUP})
    for place in ("threads", "channels", "why", "approvals"):
        await console.open(place)
        await expect(console.page.locator("main h1")).to_be_attached()
    await console.open("why")
    await expect(console.page.locator(".event").first).to_contain_text("<img src=x class=planted")
    await nothing_planted(console)
    assert complaints.lines == []
