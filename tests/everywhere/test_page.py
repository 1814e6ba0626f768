"""Draws what was said at every platform side by side: `page.html` in a browser, with the console as it is."""

import base64
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, chromium, tab
from tests.browser.console import Console as Browsing
from tests.browser.screens import misfits
from tests.everywhere.conversation import Held
from tests.everywhere.hub import PLATFORMS, HubEverywhere, open_hub_everywhere
from tests.everywhere.people import Console
from tests.everywhere.test_everywhere import all_converse

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
]

PAGE = Path(__file__).with_name("page.html")
WIDTH = 2032
"""Four places of 480 pixels, and the room between them."""
CONSOLE_WIDTH = 480
SHORTER_CODE = """
() => {
  for (const code of document.querySelectorAll('.feed-items pre code, .feed-items pre')) {
    const lines = code.textContent.split('\\n');
    if (code.children.length || lines.length < 12) continue;
    const left = `… ${lines.length - 10} lines more, left out of this picture …`;
    code.textContent = [...lines.slice(0, 7), left, ...lines.slice(-3)].join('\\n');
  }
}
"""


def drawable(held: Held) -> dict[str, Any]:
    """A transcript as JSON; the card as it waited stands before what became of it."""
    messages: list[dict[str, Any]] = []
    for one in held.transcript:
        if one.by == "bot" and one.text.startswith("Run ") and not one.aside:
            messages.append(asdict(held.card) | {"waited": True})
        messages.append(asdict(one))
    return {"messages": messages}


async def console_picture(browser: Browser, town: HubEverywhere, *said: str) -> str:
    """The conversation in the real console once it shows these texts, as a data URL."""
    person = town.people["web"]
    assert isinstance(person, Console)
    async with tab(browser, width=CONSOLE_WIDTH, height=2400) as page:
        browsing = Browsing(page, town.app.url)
        await browsing.log_in(town.app.login_url())
        await browsing.open(f"chat/{person.thread_id}")
        for text in said:
            await expect(browsing.messages().filter(has_text=text)).to_be_visible()
        await page.evaluate(SHORTER_CODE)
        picture = await page.locator(".feed-items").screenshot()
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"


async def test_the_page_draws_every_platform(tmp_path: Path) -> None:
    complaints = Complaints()
    async with open_hub_everywhere(tmp_path) as town, chromium() as browser:
        held = await all_converse(town)
        places: dict[str, Any] = {name: drawable(held[name]) for name in PLATFORMS}
        picture = await console_picture(browser, town, "After the code.", "the build is green")
        places["web"] = {"picture": picture}
        async with tab(browser, complaints, width=WIDTH, height=1200) as page:
            await page.goto(PAGE.as_uri())
            await page.evaluate("(places) => draw(places)", places)
            for name in PLATFORMS:
                drawn = page.locator(f".{name} .message")
                await expect(drawn).to_have_count(len(places[name]["messages"]))
                buttons = page.locator(f".{name} button")
                assert await buttons.all_text_contents() == ["Approve", "Deny", "Edit…"]
                (log,) = await page.locator(f".{name} a[href^='https://ci.example.com/run/42?']").all()
                assert await log.text_content() == "the log"
            assert await misfits(page) == []
        assert complaints.lines == []
