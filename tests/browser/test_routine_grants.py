"""Grants of a routine in the console's editor: shown whole, saved byte for byte."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.harness.process import HubProcess, running_hub
from tests.simulators.model import ModelSimulator

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

LONG = f"shell cat <<'END' > $PWD/long.txt\n{'x' * 900}\n\n  END\nEND\n"
HIDING = "shell printf 'a\\\r\n\u202eb\u00a0' \t"
GRANTS = ["shell git log *", LONG, HIDING, "time *"]
ACTION: dict[str, Any] = {
    "type": "lightweight",
    "prompt": "Look into it.",
    "use_tools": True,
    "allowed_tools": ["shell", "time"],
    "grants": GRANTS,
}
MODEL = 'provider = "openai"\nmodel = "sim-1"\nbase_url = "{url}"\napi_key = "k"'
ROUTINE = {"name": "watch", "trigger": {"type": "manual"}, "action": ACTION}


@pytest.mark.slow
async def test_grants_are_shown_in_full_and_saved_unchanged(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    made = await hub.api("POST", "/routines", ROUTINE)

    async def opened() -> None:
        await console.open(f"routines/{made['id']}")
        await page.get_by_role("button", name="Edit").click()
        await expect(page.get_by_label("Name", exact=True)).to_be_focused()

    async def saved() -> dict[str, Any]:
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("button", name="Edit")).to_be_visible()
        action: dict[str, Any] = (await hub.api("GET", f"/routines/{made['id']}"))["definition"]["action"]
        return action

    await opened()
    grants = page.get_by_role("group", name="Grants").get_by_role("textbox", name="Grant")
    await expect(grants).to_have_count(4)
    for number, grant in enumerate(GRANTS):
        await expect(grants.nth(number)).to_be_visible()
        await expect(grants.nth(number)).to_have_value(grant.replace("\r\n", "\n"))
        assert await grants.nth(number).evaluate("one => one.scrollHeight <= one.clientHeight")
    await expect(page.get_by_text("Holds hidden characters: U+D, U+202E, U+A0")).to_be_visible()
    await expect(page.get_by_label("Use tools")).to_be_checked()
    await expect(page.get_by_label("Tools that may need approval")).to_have_value("shell\ntime")
    await page.get_by_label("Description").evaluate("one => { one.value = 'looked at' }")
    assert await saved() == ACTION

    await opened()
    await grants.first.fill("")
    await grants.last.fill("shell make test")
    await page.get_by_role("group", name="Grants").get_by_role("button", name="Add").click()
    await page.keyboard.type("shell make\n")
    await page.get_by_label("Tools that may need approval").fill("shell")
    assert await saved() == {
        **ACTION,
        "allowed_tools": ["shell"],
        "grants": [LONG, HIDING, "shell make test", "shell make\n"],
    }
    assert complaints.lines == []


async def test_the_list_of_grants_names_their_routine_and_revokes_them(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    action = {**ACTION, "grants": ["shell git log *", "time *"]}
    made = await hub.api("POST", "/routines", {**ROUTINE, "action": action})
    await console.open("approvals/grants")
    cards = page.locator(".card.grant")
    await expect(cards).to_have_count(2)
    for card in (cards.first, cards.last):
        await expect(card.locator(".meta")).to_contain_text("routine “watch”")
    granted = cards.filter(has_text="git log")
    await granted.get_by_role("button", name="Revoke").click()
    await granted.get_by_role("button", name="Revoke shell: git log *?").click()
    await expect(cards).to_have_count(1)
    kept = await hub.api("GET", f"/routines/{made['id']}")
    assert kept["definition"]["action"]["grants"] == ["time *"]
    assert complaints.lines == []


@pytest.mark.slow
async def test_a_refused_line_is_shown_in_full_with_its_run(
    browser: Browser, tmp_path: Path, complaints: Complaints
) -> None:
    line = f"touch $PWD/{'x' * 2_000}"
    action = {**ACTION, "prompt": f"please run: {line}", "grants": []}
    async with (
        ModelSimulator(api_key="k", models=("sim-1",)) as model,
        running_hub(tmp_path, model=MODEL.format(url=model.openai_base_url)) as hub,
        tab(browser, complaints) as page,
    ):
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        made = await hub.api("POST", "/routines", {**ROUTINE, "action": action})
        await console.open(f"routines/{made['id']}")
        await page.get_by_role("button", name="Run now").click()
        await page.get_by_text("Missing grants: 1").click()
        await expect(page.get_by_label("Code, grant")).to_have_text(f"shell {line}")
        await expect(page.get_by_role("button", name="Copy code")).to_be_visible()
    assert complaints.lines == []
