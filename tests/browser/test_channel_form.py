"""Adding a channel on the page *Channels*: the token is tried first, and a refused one leaves nothing."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, expect

from tests.bot.web.api_client import client
from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.screens import barriers, misfits
from tests.harness.process import HubProcess, hubbub
from tests.harness.simulators import write_config
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN
from tests.simulators.telegram import TelegramSimulator

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.asyncio(loop_scope="session"),
]
SCREENS: list[tuple[int, Literal["dark", "light"]]] = [
    (width, scheme) for width in (360, 768, 1440) for scheme in ("light", "dark")
]
FILE = """\
# mine
[approvals]
preset = "manual" # careful
"""


@pytest.mark.slow
async def test_a_channel_is_tried_added_and_speaks_after_the_restart(
    browser: Browser, tmp_path: Path, telegram: TelegramSimulator, complaints: Complaints
) -> None:
    write_config(tmp_path, FILE)
    path = tmp_path / "hubbub.toml"
    before = path.read_text()
    async with HubProcess(tmp_path) as hub:
        async with tab(browser, complaints) as page:
            console = Console(page, hub.url)
            await console.log_in(await hub.link())
            await console.open("channels")
            channels = page.get_by_role("region", name="Channels")
            await channels.get_by_text("Add a channel").press("Enter")
            await expect(channels.get_by_role("combobox", name="Platform")).to_have_value("telegram")
            token = channels.get_by_label("The bot's token, from @BotFather")
            await channels.get_by_text("Another server").click()
            await channels.get_by_label("API address").fill(telegram.url)
            await token.fill("1:refused")
            await token.press("Enter")
            await expect(channels).to_contain_text("once you have approved it")
            for width, scheme in SCREENS:
                await page.emulate_media(color_scheme=scheme)
                await page.set_viewport_size({"width": width, "height": 900})
                assert await misfits(page) == [], (width, scheme)
            assert await barriers(page) == []

            async def approve() -> None:
                await channels.get_by_role("link", name="Open the request").click()
                await expect(console.card()).to_contain_text(f"will be sent to {telegram.url}")
                assert path.read_text() == before
                await console.decide("Approve")
                await expect(console.outcome()).to_contain_text("Approved by you")

            await approve()
            async with client(tmp_path) as owner:
                await owner.until("/api/settings", lambda page: page["waiting"] is None)
            assert path.read_text() == before  # the platform refused it
            assert (await hubbub(tmp_path, "secrets", "list", "--json")).out.strip() == "[]"

            await console.open("channels")
            await channels.get_by_text("Add a channel").press("Enter")
            await channels.get_by_text("Another server").click()
            await channels.get_by_label("API address").fill(telegram.url)
            await token.fill(TOKEN)
            await token.press("Enter")
            await approve()
            async with client(tmp_path) as owner:
                await owner.until("/api/settings", lambda page: page["waiting"] is None)
            added = (
                f'\n[channels.telegram]\napi_base_url = "{telegram.url}"\ntoken = "vault:telegram_token"\n'
            )
            assert path.read_text() == before + added
            assert TOKEN not in (tmp_path / "data" / "hub.log").read_text()
            await console.open("channels")
            await console.reload()
            await channels.get_by_text("Add a channel").press("Enter")
            await expect(channels.get_by_role("combobox", name="Platform")).to_have_value("slack")
        await hub.restart()
        await telegram.wait_polling(TOKEN, LIMIT_S)
        telegram.user_sends_text(OWNER, "let me in")
        await telegram.wait_text(OWNER, "This assistant is private.", timeout_s=LIMIT_S)
    assert complaints.lines == []
