"""The page *Settings*: a model is added and used, a change of consent is confirmed and undone."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.screens import Screens, on_screens
from tests.harness.process import HubProcess
from tests.harness.simulators import write_config
from tests.simulators.model import ModelSimulator

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

UNREACHED = ("ERR_", "Failed to fetch", "Failed to load resource")
MARKUP = "<img src=x class=planted onerror=planted=1>"
FILE = f"""\
# mine
[[models]]
name = "first" # the demo
provider = "demo"
model = "{MARKUP}"

[approvals]
preset = "manual" # careful
["mcp".files]
command = ["{MARKUP}"]
"""


@pytest.mark.slow
async def test_a_model_added_in_settings_is_approved_and_used_at_once(
    browser: Browser, tmp_path: Path, complaints: Complaints, screens: Screens
) -> None:
    write_config(tmp_path, FILE)
    path = tmp_path / "hubbub.toml"
    async with (
        ModelSimulator(api_key="k-vault", models=("sim-1",)) as simulator,
        HubProcess(tmp_path) as hub,
        tab(browser, complaints, width=360, height=740) as page,
    ):
        console, before = Console(page, hub.url), path.read_text()
        await console.log_in(await hub.link())
        await console.open("settings")
        secrets = page.get_by_role("region", name="Secrets")
        await secrets.get_by_label("Secret name").fill("sim")
        await secrets.get_by_label("Value").fill("k-vault")
        await secrets.get_by_role("button", name="Store secret").click()
        await expect(secrets.get_by_text("vault:sim")).to_be_visible()
        await expect(page.get_by_text("k-vault")).to_have_count(0)
        models = page.get_by_role("region", name="Models")
        await models.get_by_text("Add a model").click()
        added = models.locator("details", has_text="Add a model")
        for label, text in {
            "Name": "second",
            "Model": "sim-1",
            "Base URL": f"{simulator.openai_base_url}",
        }.items():
            await added.get_by_label(label, exact=True).fill(text)
        await added.get_by_role("button", name="Test", exact=True).click()
        await expect(added.get_by_role("listitem")).to_contain_text("second: ")
        await added.get_by_label("API key", exact=True).fill("vault:sim")
        await added.get_by_role("button", name="Add model").click()
        card = page.locator("article.approval")
        await expect(card).to_contain_text(f"The key vault:sim will be sent to {simulator.openai_base_url}.")
        assert path.read_text() == before
        await card.get_by_role("button", name="Approve").click()
        row = models.get_by_role("listitem").filter(has_text="second")
        await row.get_by_role("button", name="Make default").click()
        await expect(models.get_by_role("listitem").first).to_contain_text("seconddefault")
        after_models = path.read_text()
        approvals = page.get_by_role("region", name="Approvals")
        await approvals.get_by_label("preset").select_option("auto")
        await approvals.get_by_role("button", name="Save approvals").click()
        await expect(card).to_contain_text("Fewer calls will need an approval.")
        await expect(card).to_contain_text('approvals.preset: "manual" → "auto"')
        await console.open("approvals")  # where every question is
        await expect(card).to_contain_text("Change the hub's settings?")
        await card.get_by_role("button", name="Approve").click()
        await expect(card).to_contain_text("Approved by you")
        await console.open("settings")
        await expect(approvals.get_by_label("preset")).to_have_value("auto")
        assert path.read_text() == after_models.replace('"manual"', '"auto"')
        await page.get_by_role("button", name="Undo the last change").click()
        await expect(approvals.get_by_label("preset")).to_have_value("manual")
        assert path.read_text() == after_models
        await models.get_by_text("Edit first").click()
        edited = models.locator("li details[open]")
        await expect(edited.get_by_label("Model", exact=True)).to_have_value(MARKUP)
        await edited.get_by_label("Model", exact=True).fill(f"2 {MARKUP}")
        await edited.get_by_role("button", name="Save model").click()
        await expect(models.get_by_role("listitem").last).to_contain_text(f"2 {MARKUP}")
        await expect(page.get_by_role("region", name="Changed in the file only")).to_contain_text(MARKUP)
        assert await page.locator(".planted").count() == 0
        await console.reload()
        await page.get_by_text("Add a model").click()
        assert await on_screens(page, screens) == []
        called = len(simulator.log)
        await console.say_in_a_new_thread("hello")
        await expect(console.messages("assistant").last.locator("header")).to_contain_text("sim-1")
        assert len(simulator.log) > called
        await console.open("home")
        await expect(page.get_by_role("region", name="Today")).to_contain_text("No price set: second")
        await console.open("usage")
        row = page.get_by_role("row").filter(has_text="second")
        await expect(row.get_by_text("no price set")).to_be_visible()
        await console.open("settings")
        await expect(page.get_by_role("region", name="Budget")).to_be_visible()
        await page.mouse.move(60, 300)  # over the navigation
        await page.mouse.wheel(0, 600)
        await page.wait_for_function("() => document.querySelector('main').scrollTop > 0")
        await page.get_by_role("navigation", name="Sections").get_by_role("button", name="Budget").click()
        budget = page.get_by_role("region", name="Budget")
        await expect(budget).to_be_focused()
        about = "Beyond it, a chat asks the owner"
        daily = budget.get_by_label("Daily budget (USD)", exact=True)
        await expect(daily).to_have_accessible_description(re.compile(about))
        await console.open("home")  # away from what is as it was
        version = (await hub.api("GET", "/settings"))["version"]
        written = {
            "models.1.model": f"3 {MARKUP}",
            "models.1.api_key": "vault:sim",
            "models.1.base_url": "http://127.0.0.1:9/v1",
            "models.1.provider": "openai",
        }
        await hub.api("POST", "/settings", {"version": version, "changes": written})
        for place in ("settings", "approvals"):
            await console.open(place)
            await expect(card).to_contain_text(f"3 {MARKUP}")
            assert await page.locator(".planted").count() == 0
        await card.get_by_role("button", name="Deny").click()
        await expect(card).to_contain_text("Denied by you")
        await console.open("settings")
        first = models.get_by_role("listitem").first
        await first.get_by_role("button", name="Remove").click()
        await first.get_by_role("button", name="Remove").click()
        await expect(models.get_by_role("listitem").first).to_contain_text("firstdefault")
        assert complaints.but("status of 409", *UNREACHED) == []
