"""Every page at every size, light and dark, with nothing, little and very much to show: judged by script."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.crowd import LONG_NAME, multiply, multiply_routines
from tests.browser.screens import HEIGHTS, Screens, barriers, misfits
from tests.harness.process import STRANGER, HubProcess, running_hub
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN
from tests.simulators.telegram import TelegramSimulator

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(1800),
]

FORMATTED = "run: printf 'a b c\\n%.0s' $(seq 40)"
CHINESE = "请帮我看看磁盘为什么满了，" * 12


@pytest_asyncio.fixture(loop_scope="session")
async def telegram() -> AsyncIterator[TelegramSimulator]:
    """A platform with people of long names."""
    async with TelegramSimulator() as running:
        running.add_bot(TOKEN)
        running.add_user(OWNER, first_name="Olivia")
        running.add_user(STRANGER, first_name=LONG_NAME[:60], last_name="长" * 60)
        yield running


async def furnish(console: Console, hub: HubProcess, telegram: TelegramSimulator) -> dict[str, str]:
    """Conversations, questions, a stranger; the places to look at."""
    thread = await console.say_in_a_new_thread(FORMATTED)
    await console.decide("Approve")
    await console.sees("a b c")
    await console.say(CHINESE)
    await console.sees("You said")
    await console.say("/help")
    await console.sees("/new —", "notice")
    await console.say(f"run: ls {'x' * 200}")
    await expect(console.card()).to_be_visible()
    other = await console.say_in_a_new_thread("w" * 300)
    await console.sees("You said")
    await console.say_in_a_new_thread(f"run: touch {'x' * 150}")
    await console.decide("Always allow")
    await console.sees("I ran")
    telegram.user_sends_text(STRANGER, "let me in, please")
    telegram.user_sends_text(OWNER, CHINESE)
    await telegram.wait_text(OWNER, "You said", timeout_s=LIMIT_S)
    routine = await routines(hub)
    await console.open(f"routines/{routine}")
    await expect(console.page.get_by_role("region", name="Runs", exact=True)).to_contain_text("attention")
    return {
        "chat": f"chat/{thread}",
        "words": f"chat/{other}",
        "threads": f"threads/{thread}",
        "routine": f"routines/{routine}",
    }


async def routines(hub: HubProcess) -> str:
    """Routines of every kind, two of them with much to say; the id of one that has run."""
    asked = {"type": "lightweight", "prompt": CHINESE}
    made: list[str] = []
    for name, trigger in {
        "morning": {"type": "cron", "schedule": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
        LONG_NAME[:100]: {"type": "cron", "schedule": "15 3,9,15,21 * * *"},
        "长" * 100: {"type": "event", "pattern": "w" * 120},
        "on a push": {"type": "system_event", "source": "github", "event_type": "push"},
        "watch": {"type": "event", "pattern": "deploy (\\w+)"},
    }.items():
        page = {"name": name, "trigger": trigger, "action": asked, "guardrails": {"cooldown_s": 0}}
        made.append((await hub.api("POST", "/routines", page))["id"])
    for _ in range(3):
        await hub.api("POST", f"/routines/{made[-1]}/fire")
    return made[-1]


EVERYWHERE = {
    "list": "chat",
    "new": "chat/new",
    "all": "threads",
    "home": "home",
    "approvals": "approvals",
    "history": "approvals/history",
    "grants": "approvals/grants",
    "what if": "approvals/test",
    "routines": "routines",
    "calendar": "routines/calendar",
    "writing": "routines/new",
    "jobs": "jobs",
    "channels": "channels",
    "tools": "tools",
    "memory": "memory",
    "usage": "usage",
    "settings": "settings",
    "system": "system",
    "why": "why",
    "audit": "audit",
}


async def judged(console: Console, name: str, place: str, width: int) -> list[str]:
    """Return what is wrong with one page."""
    page = console.page
    await console.open("why?q=nowhere")
    await console.open(place)
    await expect(page.get_by_text("Loading…")).to_have_count(0)
    await page.wait_for_function("() => document.fonts.status === 'loaded'")
    # A conversation's menu lies over the page.
    unfold = "() => document.querySelectorAll('details:not(.menu)').forEach((one) => (one.open = true))"
    await page.evaluate(unfold)
    found = [*await misfits(page), *await barriers(page)]
    return [f"{name} at {width}: {one}" for one in found]


async def look(
    browser: Browser,
    hub: HubProcess,
    places: Mapping[str, str],
    complaints: Complaints,
    screens: Screens,
) -> None:
    """Judge each place on each screen (width, dark or light)."""
    wrong: list[str] = []
    for width, dark in screens:
        async with tab(browser, complaints, width=width, height=HEIGHTS[width], dark=dark) as page:
            console = Console(page, hub.url)
            await console.log_in(await hub.link())
            for name, place in places.items():
                wrong += await judged(console, name, place, width)
    assert wrong == []
    assert complaints.lines == []


async def test_every_page_is_usable_without_data(
    browser: Browser, tmp_path: Path, complaints: Complaints, screens: Screens
) -> None:
    async with running_hub(tmp_path) as hub:
        await look(browser, hub, EVERYWHERE, complaints, screens)


async def test_every_page_is_usable_with_ordinary_and_with_much_data(
    browser: Browser,
    tmp_path: Path,
    telegram: TelegramSimulator,
    complaints: Complaints,
    screens: Screens,
) -> None:
    async with running_hub(tmp_path, telegram=telegram) as hub:
        async with tab(browser, complaints) as page:
            console = Console(page, hub.url)
            await console.log_in(await hub.link())
            places = EVERYWHERE | await furnish(console, hub, telegram)
        await look(browser, hub, places, complaints, screens)
        await hub.stop()
        database = hub.directory / "data" / "hub.db"
        multiply(database, places["words"].removeprefix("chat/"), 10_000)
        multiply_routines(database, 10_000)
        await hub.restart()
        await look(browser, hub, EVERYWHERE, complaints, screens)
