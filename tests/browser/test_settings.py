"""The page *Settings*: a model is added and used, a change of consent is confirmed and undone."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.screens import barriers, misfits
from tests.harness.process import HubProcess
from tests.harness.simulators import write_config
from tests.simulators.model import ModelSimulator

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

UNREACHED = ("ERR_", "Failed to fetch", "Failed to load resource")
SCREENS: list[tuple[int, Literal["dark", "light"]]] = [
    (width, scheme) for width in (360, 768, 1440) for scheme in ("light", "dark")
]
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


async def test_a_model_added_in_settings_is_used_after_the_restart(
    browser: Browser, tmp_path: Path, complaints: Complaints
) -> None:
    write_config(tmp_path, FILE)
    path = tmp_path / "hubbub.toml"
    async with (
        ModelSimulator(api_key="k", models=("sim-1",)) as simulator,
        HubProcess(tmp_path, env={"SIM_KEY": "k"}) as hub,
        tab(browser, complaints, width=360, height=740) as page,
    ):
        console, before = Console(page, hub.url), path.read_text()
        await console.log_in(await hub.link())
        await console.open("settings")
        models = page.get_by_role("region", name="Models")
        await models.get_by_text("Add a model").click()
        for label, text in {
            "Name": "second",
            "Model": "sim-1",
            "Base URL": f"{simulator.openai_base_url}",
            "API key": "env:SIM_KEY",
        }.items():
            await models.get_by_label(label, exact=True).fill(text)
        await models.get_by_role("button", name="Add model").click()
        confirm = page.get_by_role("alertdialog")
        await expect(confirm).to_contain_text(
            f"The key env:SIM_KEY will be sent to {simulator.openai_base_url}."
        )
        assert path.read_text() == before
        await confirm.get_by_role("button", name="Change it").click()
        await expect(page.get_by_text("1 setting waits for a restart: models.1")).to_be_visible()
        await models.get_by_role("button", name="Make default").click()
        await expect(models.get_by_role("listitem").first).to_contain_text("seconddefault")
        after_models = path.read_text()
        approvals = page.get_by_role("region", name="Approvals")
        await approvals.get_by_label("preset").select_option("auto")
        await approvals.get_by_role("button", name="Save approvals").click()
        await expect(confirm).to_contain_text("This changes which calls need your approval.")
        await confirm.get_by_role("button", name="Change it").click()
        await expect(page.get_by_text("approvals.preset")).to_be_visible()
        assert path.read_text() == after_models.replace('"manual"', '"auto"')
        await page.get_by_role("button", name="Undo the last change").click()
        await confirm.get_by_role("button", name="Change it").click()
        await expect(approvals.get_by_label("preset")).to_have_value("manual")
        assert path.read_text() == after_models
        await expect(page.get_by_role("region", name="Changed in the file only")).to_contain_text(MARKUP)
        assert await page.locator(".planted").count() == 0
        for width, scheme in SCREENS:
            await page.emulate_media(color_scheme=scheme)
            await page.set_viewport_size({"width": width, "height": 900})
            await console.reload()  # without colors that are still changing
            await page.get_by_text("Add a model").click()
            assert (await misfits(page), await barriers(page)) == ([], []), (width, scheme)
        await hub.restart()
        await console.say_in_a_new_thread("hello")
        await expect(console.messages("assistant").last).to_be_visible()
        assert simulator.log
        assert complaints.but("status of 409", *UNREACHED) == []
