"""The page *System*: the hub's state, the switch of all tools, the doctor, the log and a backup."""

import json
import re
import sqlite3
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from bot.ops.logs import LOG_NAME
from bot.runtime import version
from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.screens import Screens, on_screens
from tests.harness.process import hubbub, running_hub

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

MARKUP = "<img src=x class=planted onerror=planted=1>"
ERROR = {"at": "2026-11-21T10:00:00.000Z", "level": "error", "logger": "x", "message": MARKUP, "thread": "t"}


@pytest.mark.slow
async def test_the_system_is_seen_checked_paused_and_backed_up(
    browser: Browser, tmp_path: Path, complaints: Complaints, screens: Screens
) -> None:
    async with running_hub(tmp_path) as hub, tab(browser, complaints, width=360, height=740) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        await console.say_in_a_new_thread("keep this")
        await console.sees("You said")
        await console.open("system")
        state, doctor, log, backup = (
            page.get_by_role("region", name=name, exact=True) for name in ("Hub", "Doctor", "Log", "Backup")
        )
        await expect(state).to_contain_text(version())
        await expect(state).to_contain_text("ready")
        await state.get_by_role("button", name="Pause all tools").click()
        await expect(state).to_contain_text("Toolspaused")
        assert (await hub.api("GET", "/tools"))["paused"]
        await state.get_by_role("button", name="Unpause tools").click()
        await expect(state).to_contain_text("Toolsnot paused")

        await doctor.get_by_role("button", name="Check everything").click()
        rows = doctor.get_by_role("list", name="Findings").get_by_role("listitem")
        printed = json.loads((await hubbub(tmp_path, "doctor", "--json")).out)
        await expect(rows).to_have_count(len(printed))
        for one in printed:
            await expect(rows.filter(has_text=one["what"]).first).to_be_visible()

        lines = log.get_by_role("region", name="Newest lines")
        await expect(lines).to_contain_text("INFO")
        await hub.api("POST", "/chat/send", {"text": "another line"})
        await expect(lines).to_contain_text(re.compile("inbox.handled.*inbox.handled", re.DOTALL))
        with (tmp_path / "data" / LOG_NAME).open("a") as file:
            file.write(f"{json.dumps(ERROR)}\n")
        await log.get_by_label("From level").select_option("error")
        await expect(lines).to_contain_text(f"ERROR x: {MARKUP} [thread=t]")
        await expect(lines).not_to_contain_text("INFO")

        async with page.expect_download() as waiting:
            await backup.get_by_role("button", name="Download a backup").click()
        download = await waiting.value
        assert download.suggested_filename.startswith("hub-")
        await console.hears(download.suggested_filename)
        for left_out in ("data/hub.key", "data/vault.key", "workspace", "hubbub.toml"):
            await expect(backup.get_by_role("list").nth(1)).to_contain_text(str(tmp_path / left_out))
        with sqlite3.connect(await download.path()) as copy:
            assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert copy.execute("SELECT count(*) FROM entries WHERE text = 'keep this'").fetchone() == (1,)
        copy.close()
        assert list((tmp_path / "data").glob("backup*")) == []
        exported = (await hubbub(tmp_path, "audit", "export")).out
        assert [line.split()[-2:] for line in exported.splitlines() if " downloaded " in line] == [
            ["owner", "database"]
        ]

        await console.reload()
        await doctor.get_by_role("button", name="Check everything").click()
        await expect(rows).to_have_count(len(printed))
        await expect(lines).to_contain_text(MARKUP)
        assert await on_screens(page, screens) == []
        assert await page.locator(".planted").count() == 0
        assert complaints.lines == []
