"""The page *Audit*: whether the chain is intact, what was recorded, and all of it as a file."""

import re
import sqlite3
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.bot.web.api_client import client
from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.screens import Screens, on_screens
from tests.harness.process import HubProcess, hubbub, running_hub

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

MARKUP = "<img src=x class=planted onerror=planted=1>"
TIMES = 50
"""Twice as many records, of pausing and the end of it: more than one page."""
FORGED = 9
"""So often all records are copied by somebody else: more than are read at once."""
FORGE = """
INSERT INTO audit (position, number, writer, at, kind, actor, subject, thread_id, detail, key_id, seal, link)
SELECT position + :more * :count, number + :more * 10000,
 writer, at, kind, actor, subject, thread_id, detail, key_id, seal, link FROM audit WHERE position <= :count
"""


async def recorded(hub: HubProcess) -> int:
    """What a person did, all of it chained; how many records there are."""
    async with client(hub.directory) as owner:
        for _ in range(TIMES):
            assert (await owner.ask("POST", "/api/tools/pause", {}))[0] == 200
            assert (await owner.ask("POST", "/api/tools/unpause", {}))[0] == 200
        assert (await owner.ask("POST", "/api/invitations", {"name": MARKUP}))[0] == 201
        state = await owner.until("/api/audit/state", lambda page: page["waiting"] == 0)
    return int(state["records"])


@pytest.mark.slow
async def test_the_audit_is_verified_searched_and_exported(
    browser: Browser, tmp_path: Path, complaints: Complaints, screens: Screens
) -> None:
    async with running_hub(tmp_path) as hub, tab(browser, complaints, width=360, height=740) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        count = await recorded(hub)
        await console.open("audit")
        chain, rows = page.get_by_role("region", name="Chain"), page.locator(".event")
        await expect(chain).to_contain_text(f"The audit log is intact: {count} records.")
        older = page.get_by_role("button", name="Older records")
        await expect(rows).to_have_count(100)
        await older.click()
        await expect(rows).to_have_count(count)
        await expect(older).to_have_count(0)

        search = page.get_by_role("search")
        await search.get_by_label("Kind").select_option("resumed")
        await expect(rows).to_have_count(TIMES)
        await search.get_by_label("Text, person or ID").fill("nothing of the kind")
        await search.get_by_role("button", name="Search").click()
        await expect(page.get_by_text("No record matches.")).to_be_visible()
        await console.open("audit?q=OWNER&kind=invited")  # who did it, by name
        await expect(rows).to_have_count(1)
        await expect(rows).not_to_contain_text(re.compile("[0-9a-f]{8}-[0-9a-f]{4}-"))
        await expect(rows.locator("time")).to_have_text(re.compile(r"\d{4}, \d+:\d\d:\d\d"))

        await chain.get_by_text("Compare with a head").click()
        kept = chain.get_by_label("A head you kept")
        await kept.fill("yesterday's")
        await chain.get_by_role("button", name="Verify").click()
        await expect(chain.get_by_role("alert")).to_contain_text("a head looks like 41:")
        await kept.fill(f"{count}:aa:bb")
        await kept.press("Enter")
        await expect(chain).to_contain_text(f"{count}: the record is not the one of the head given")

        with sqlite3.connect(tmp_path / "data" / "hub.db") as database:
            database.execute("UPDATE audit SET subject = ? WHERE position = 2", [MARKUP])
            for more in range(1, FORGED + 1):
                database.execute(FORGE, {"more": more, "count": count})
        database.close()
        async with page.expect_download() as waiting:
            await page.get_by_role("button", name="Export all records").click()
        download = await waiting.value
        assert download.suggested_filename == "audit.jsonl"
        printed = (await hubbub(tmp_path, "audit", "export", "--json")).out
        exported, printed = (
            text.splitlines() for text in ((await download.path()).read_text(), printed.rstrip())
        )
        assert exported[:-1] == printed[:-1]
        assert '"downloaded"' in exported[-1]  # the download itself, not chained by then
        assert len(printed) == len(exported) == count * (FORGED + 1) + 1

        await console.open("audit?q=planted")
        await console.reload()
        await expect(chain).to_contain_text(f"{MARKUP}) was changed")
        await expect(rows.first).to_contain_text(MARKUP)
        await page.get_by_text("Compare with a head").click()
        assert await on_screens(page, screens) == []
        assert await page.locator(".planted").count() == 0
        assert complaints.but("status of 422") == []
