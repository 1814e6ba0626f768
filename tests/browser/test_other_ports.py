"""Other programs of this machine: a server on another port shares the console's cookies, and nothing else of
it. And what the console's own secret is good for, and how long."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Request, expect

from tests.browser.chromium import tab
from tests.browser.console import Console
from tests.browser.other_port import TRIES, OtherPort, answers_with_cookies, other_port
from tests.harness.process import HubProcess, running_hub
from tests.harness.telegram_hub import open_hub
from tests.plugins.profile import Profile

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest.fixture
def hub(newcomers_hub: HubProcess) -> HubProcess:
    """One for all."""
    return newcomers_hub


@pytest_asyncio.fixture(loop_scope="session")
async def other() -> AsyncIterator[OtherPort]:
    """The other server."""
    async with other_port() as running:
        yield running


async def works(console: Console, text: str) -> None:
    """Still, or again, who is at the console can use it."""
    await console.say_in_a_new_thread(text)
    await console.sees(f"You said: {text}")


async def texts(hub: HubProcess) -> str:
    """Titles of all conversations."""
    return str([thread["title"] for thread in (await hub.api("GET", "/threads"))["threads"]])


@pytest.mark.slow
async def test_cookies_of_another_port_neither_take_over_nor_end_a_session(
    browser: Browser, hub: HubProcess, other: OtherPort, profile: Profile
) -> None:
    size_chars = profile.pick(test=500, proof=4000)
    asked: list[Request] = []
    async with tab(browser) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        secret = await page.evaluate("localStorage.getItem('hubbub-session')")
        await works(console, "before")
        page.on("request", lambda request: asked.append(request))
        for name, answers in answers_with_cookies(size_chars).items():
            theirs = await page.context.new_page()
            for other.headers in answers:
                await theirs.goto(other.url)
            await theirs.close()
            await works(console, f"with {name}")
            await console.reload()
            await console.sees(f"You said: with {name}")
        cookies = [await _cookie_of(one) for one in asked if one.is_navigation_request()]
        assert max(map(len, cookies)) > 140 * size_chars
        assert any("hubbub_session=theirs" in cookie for cookie in cookies)
        of_api = [one for one in asked if "/api/" in one.url]
        assert len(of_api) > 10
        assert {await _cookie_of(one) for one in of_api} == {""}
        assert {(await one.all_headers())["x-hubbub-session"] for one in of_api} == {secret}
        assert secret not in "".join([*cookies, *other.cookies])


async def _cookie_of(request: Request) -> str:
    return (await request.all_headers()).get("cookie", "")


@pytest.mark.slow
async def test_a_page_of_another_port_reads_uses_and_ends_nothing(
    browser: Browser, hub: HubProcess, other: OtherPort
) -> None:
    async with tab(browser) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        theirs = await page.context.new_page()
        await theirs.goto(other.url)
        found = await theirs.evaluate(TRIES, hub.url)
        assert found == {"storage": [], "reads": ["TypeError"] * 7, "streams": 0, "framed": "SecurityError"}
        await works(console, "still here")
        assert "planted" not in await texts(hub)
        await console.open("approvals")
        await expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
        await console.reload()
        await works(console, "and again")
    async with tab(browser) as page:
        await Console(page, hub.url).log_in(await hub.link())


@pytest.mark.slow
async def test_bad_login_links_do_not_log_out_or_lock_out(
    browser: Browser, tmp_path: Path, other: OtherPort
) -> None:
    async with running_hub(tmp_path) as hub, tab(browser) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        theirs = await page.context.new_page()
        for number in range(9):
            await page.request.post(f"{hub.url}/login", data={"code": f"guess{number}"})
        for number in range(2):
            await _led_to(theirs, other.url, f"{hub.url}/login#code=guess{number}")
            await expect(theirs.get_by_role("heading", name="You are already logged in")).to_be_visible()
        await expect(theirs.get_by_text("Too many wrong links.")).to_be_visible()
        await works(console, "still here")
        await Console(theirs, hub.url).log_in(await hub.link())
        await works(console, "with the new secret, too")


async def _led_to(page: Page, start: str, where: str) -> None:
    await page.goto(start)
    async with page.expect_navigation():
        await page.evaluate("(where) => { location.href = where; }", where)


@pytest.mark.slow
async def test_files_are_downloaded_and_sessions_expire(browser: Browser, tmp_path: Path) -> None:
    async with open_hub(tmp_path, direct="open", speed=1) as house, tab(browser) as page:
        (house.workspace / "plan.txt").write_text("as agreed")
        await house.told("send_file", path="plan.txt")
        console = Console(page, house.app.url)
        await console.log_in(house.app.login_url())
        (thread,) = await house.app.store.threads.threads(10)
        await console.open(f"threads/{thread.id}")
        async with page.expect_download() as started:
            await page.get_by_role("button", name="plan.txt").click()
        download = await started.value
        assert download.suggested_filename == "plan.txt"
        assert Path(await download.path()).read_text() == "as agreed"
        (house.workspace / "plan.txt").write_text("as it became")
        await page.get_by_role("button", name="plan.txt").click()
        await expect(page.locator("#announcer")).to_contain_text("has changed since it was sent")
        house.clock.skip(14 * 86_400)
        await house.told("time")
        await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
