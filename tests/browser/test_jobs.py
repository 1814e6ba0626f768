"""Jobs in the console: on the board, live in detail, told something, and their message in a conversation."""

import hashlib
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from core.clock import SystemClock
from core.ids import RandomIds
from core.job import JobBudget, JobLimits, JobState, NewJob
from core.messages import plain
from core.sandbox.project import Changes, FileChange
from core.store.container_port import ContainerEnd, ContainerUse, EgressUse, StoredChanges, UseSample
from core.store.sqlite.store import open_store
from core.store.unattended_port import JobEnd
from core.users import Role
from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.screens import barriers, misfits
from tests.harness.process import HubProcess, running_hub

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]

DIFF = """--- a/add.py
+++ b/add.py
@@ -1,3 +1,3 @@
 def add(a, b):
--- b/other.py
-    return a - b
+++ c/other.py
+    return a + b
"""
"""A file of which lines look like the beginning of another."""
USE = ContainerUse(
    "hubbub-worker", 256, 100, 2, 256, ("files.example.org:443",),
    tuple(UseSample(at * 1_000_000, at * 500_000, 40_000_000 + at, 1_000_000) for at in range(1, 5)),
    (
        EgressUse("files.example.org:443", None, 2, 4_321),
        EgressUse("<img src=x class=planted>:22", "not in [sandbox] egress", 7, 0),
    ),
)  # fmt: skip
PLANTED = "<img src=x class=planted onerror=planted=1>"


async def test_a_job_is_on_the_board_and_its_events_are_shown_and_it_is_restarted(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    job = await hub.api("POST", "/jobs", {"task": f"say: {PLANTED}"})
    await console.open("jobs")
    done = page.get_by_role("region", name="Done", exact=True)
    await done.get_by_role("link").first.click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text(job["short_id"])
    events = page.get_by_role("list", name="Events")
    await expect(events.locator("li").last).to_contain_text("result completed")
    await expect(events).to_contain_text(PLANTED)
    await expect(page.locator(".planted")).to_have_count(0)
    for width in (360, 768, 1440):
        await page.set_viewport_size({"width": width, "height": 900})
        words = await events.locator(".job-words").last.bounding_box()
        assert words is not None
        assert words["width"] > width / 4, "words stand in lines, not in a column of letters"
        assert await misfits(page) + await barriers(page) == [], width
    await page.get_by_role("button", name="Restart", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).not_to_contain_text(job["short_id"])
    await expect(events.locator("li").last).to_contain_text("result completed")


async def test_a_job_started_in_a_conversation_is_shown_there_by_one_message(
    console: Console, complaints: Complaints
) -> None:
    page = console.page
    await console.open("chat")
    await page.get_by_role("textbox").first.fill("/job say: done")
    await page.keyboard.press("Enter")
    shown = page.locator(".message.notice").filter(has_text="“say: done” is")
    await expect(shown.first).to_contain_text("is completed.")
    await expect(shown.first.get_by_role("button", name="Restart")).to_be_visible()
    await expect(shown).to_have_count(1)


async def test_a_job_for_review_waits_on_home_until_it_is_decided(
    browser: Browser, complaints: Complaints, tmp_path: Path
) -> None:
    async with (
        running_hub(tmp_path, extra="\n[jobs]\nreview = true\n") as hub,
        tab(browser, complaints) as page,
    ):
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        await console.open("home")
        waiting = page.get_by_role("region", name="Waiting for you")
        await expect(waiting).to_contain_text("Nothing is waiting for you.")
        await hub.api("POST", "/jobs", {"task": "say: done"})
        await waiting.get_by_role("link", name="Review: say: done").click()
        await page.get_by_role("button", name="Reject").click()
        await console.open("home")
        await expect(waiting).to_contain_text("Nothing is waiting for you.")
    assert complaints.lines == []


async def submitted(directory: Path) -> str:
    """A hub's directory in which a job in a container has changed a file of the workspace; its short ID."""
    data, before, after = directory / "data", b"a - b\n", b"a + b\n"
    (copy := data / "containers" / "1" / "project").mkdir(parents=True)
    (copy / "add.py").write_bytes(after)
    (directory / "workspace").mkdir()
    (directory / "workspace" / "add.py").write_bytes(before)
    was, made = (hashlib.sha256(content).hexdigest() for content in (before, after))
    changes = Changes((FileChange("add.py", was, made),))
    store = await open_store(data / "hub.db", SystemClock(), RandomIds())
    try:
        await store.people.ensure_user("owner", Role.OWNER, "owner")
        job = await store.jobs.save_job(
            NewJob("job", "owner", "job", "mend add", (), JobBudget(), project=".")
        )
        await store.containers.begin_container_jobs(JobLimits(1, 1))
        await store.containers.record_use(job.id, USE)
        end = JobEnd(
            ((JobState.COMPLETED, "done"), (JobState.SUBMITTED, "Its changes wait for its owner")),
            lambda job, *_: (plain(job.title), job.title),
        )
        kept = StoredChanges(changes.to_json(), changes.digest, DIFF, "changed add.py")
        await store.containers.end_container_job(job.id, ContainerEnd(end, kept))
    finally:
        await store.close()
    return job.short_id


async def test_a_job_in_a_container_is_shown_with_its_use_and_its_diff_which_is_accepted_as_shown(
    browser: Browser, tmp_path: Path, complaints: Complaints
) -> None:
    named = await submitted(tmp_path)
    settings = {"HUBBUB__HTTP__PORT": "0"}
    async with HubProcess(tmp_path, env=settings) as hub, tab(browser, complaints) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        await console.open("approvals")
        card = page.get_by_role("article").filter(has_text=f"Make the changes of job {named}")
        await expect(card).to_contain_text("changed add.py")
        await card.get_by_role("link", name="Show the changes").click()
        await expect(page.get_by_role("heading", level=1)).to_contain_text(named)
        container = page.get_by_role("region", name="Container")
        await expect(container).to_contain_text("at most 2 processors, 256 MB of memory")
        await expect(container.get_by_role("img")).to_have_count(3)
        await expect(container.get_by_role("img").first).to_have_accessible_name(
            "Processors: at most 50 % of 200 % in 3 s, now 50 %"
        )
        log = container.get_by_role("table", name="Connections")
        await expect(log.get_by_role("row")).to_have_count(3)
        await expect(log).to_contain_text("4,321")
        await expect(log).to_contain_text("not in [sandbox] egress")
        await expect(page.locator(".planted")).to_have_count(0)
        changes = page.get_by_role("region", name="Changes")
        await expect(changes.locator("summary")).to_have_text(["changed add.py+2 −2"])
        await expect(changes.locator(".diff-added")).to_have_text(["+++ c/other.py\n", "+    return a + b\n"])
        async with page.expect_request("**/accept*") as asked:
            await page.get_by_role("button", name="Accept", exact=True).click()
        (shown,) = [one["digest"] for one in await hub.api("GET", "/jobs")]
        assert (await asked.value).url.endswith(f"/accept?digest={shown}")
        await expect(page.locator(".page-head .badge")).to_have_text("accepted")
        assert (tmp_path / "workspace" / "add.py").read_text() == "a + b\n"
