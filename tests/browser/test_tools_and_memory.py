"""The pages *Tools* and *Memory*: settings that hold at once, failing tools, and forgetting with an undo."""

import sqlite3
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.screens import barriers, misfits
from tests.harness.process import HubProcess, running_hub
from tests.plugins.profile import Profile

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.asyncio(loop_scope="session"),
]

SCREENS: list[tuple[int, Literal["dark", "light"]]] = [
    (width, scheme) for width in (360, 768, 1440) for scheme in ("light", "dark")
]
MARKUP = "<img src=x class=planted onerror=planted=1>"


async def fits_everywhere(console: Console, seen: str, profile: Profile) -> None:
    """The page is judged at every width, light and dark; usually at the least and the greatest."""
    page = console.page
    for width, scheme in profile.pick(test=SCREENS[::5], proof=SCREENS):
        await page.emulate_media(color_scheme=scheme)
        await page.set_viewport_size({"width": width, "height": 900})
        await console.reload()  # without colors that are still changing
        await expect(page.get_by_text(seen).first).to_be_visible()
        assert (await misfits(page), await barriers(page)) == ([], []), (width, scheme)
    assert await page.locator(".planted").count() == 0


def written(hub: HubProcess, sql: str, *values: object) -> None:
    with sqlite3.connect(hub.directory / "data" / "hub.db", timeout=30) as database:
        database.execute(sql, values)
    database.close()


async def tab_to(page: Page, name: str) -> None:
    """Go on with Tab until the control with this name has the focus."""
    control = page.get_by_label(name, exact=True)
    for _ in range(200):
        if await control.evaluate("one => one === document.activeElement"):
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"{name} is not reached with Tab")


@pytest.mark.slow
async def test_tools_are_found_set_by_keyboard_undone_and_reset(
    browser: Browser, tmp_path: Path, complaints: Complaints, profile: Profile
) -> None:
    async with running_hub(tmp_path) as hub, tab(browser, complaints) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        written(hub, "INSERT INTO tool_failures VALUES ('http_request', 5, ?, 1, 1)", MARKUP)
        await console.open("tools")
        own = page.get_by_role("region", name="The hub's own tools")
        await expect(own.get_by_role("listitem").filter(has_text="memory_search")).to_contain_text(
            "runs without asking · changes nothing"
        )
        await page.get_by_label("Find a tool").fill("command line")
        shell = own.get_by_role("listitem")
        await expect(shell).to_have_count(1)
        await expect(shell).to_contain_text("asks; arguments can require more · has an effect")
        await page.get_by_label("Find a tool").focus()
        await tab_to(page, "Setting for shell")
        await page.keyboard.press("End")
        toast = page.locator(".toast").filter(has_text="shell for owner: Disabled.")
        await toast.hover()  # it stays until then
        await expect(shell).to_contain_text("disabled")
        said = await hub.api("GET", "/permissions")
        assert [(one["tool"], one["setting"]) for one in said] == [("shell", "disabled")]
        await toast.get_by_role("button", name="Undo").press("Enter")
        await expect(page.get_by_label("Setting for shell")).to_have_value("")
        assert await hub.api("GET", "/permissions") == []

        mia = (await hub.api("POST", "/invitations", {"name": "Mia"}))["user_id"]
        await console.open("channels")
        await page.get_by_role("link", name="Tools of Mia").click()
        await page.wait_for_url(f"**/#/tools?user={mia}")
        await expect(page.get_by_label("Tools of")).to_have_value(mia)
        await page.get_by_label("Find a tool").fill("command line")
        await expect(shell).to_have_count(1)
        await expect(shell).to_contain_text('add "shell" to tools of [roles.member]')
        await expect(page.get_by_label("Setting for shell")).to_have_count(0)
        await page.go_back()
        await console.open("tools")

        failing = page.get_by_role("region", name="Failing in jobs and routines")
        await expect(failing).to_contain_text(MARKUP)
        await expect(failing).to_contain_text("left out")
        await page.get_by_label("Find a tool").fill("")
        await fits_everywhere(console, MARKUP, profile)
        await failing.get_by_role("button", name="Reset http_request").click()
        await expect(failing).to_have_count(0)
        assert await hub.api("GET", "/tools/failing") == []
        assert complaints.lines == []


@pytest.mark.slow
async def test_notes_are_found_deleted_and_restored(
    browser: Browser, tmp_path: Path, complaints: Complaints, profile: Profile
) -> None:
    async with running_hub(tmp_path) as hub, tab(browser, complaints) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        await console.open("memory")
        await expect(page.get_by_text("Nothing is remembered yet.")).to_be_visible()
        for text in ("tea at five", MARKUP):
            await console.say_in_a_new_thread(f"remember: {text}")
            await console.sees("Noted")
        await console.open("memory")
        notes = page.get_by_role("list", name="Remembered").get_by_role("listitem")
        await expect(notes).to_have_count(2)
        await fits_everywhere(console, MARKUP, profile)
        await page.get_by_label("Search what is remembered").fill("tea")
        await expect(notes).to_have_count(1)
        await tab_to(page, "Forget tea at five")
        await page.keyboard.press("Enter")
        await page.locator(".toast").hover()
        await expect(page.get_by_text("Nothing remembered matches.")).to_be_visible()
        assert [one["text"] for one in (await hub.api("GET", "/memory"))["notes"]] == [MARKUP]
        await page.locator(".toast").get_by_role("button", name="Undo").press("Enter")
        await expect(notes).to_contain_text(["tea at five"])
        assert len((await hub.api("GET", "/memory"))["notes"]) == 2
        assert complaints.lines == []
