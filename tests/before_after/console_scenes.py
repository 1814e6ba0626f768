"""What the browser shows, before and after; each scene returns a screenshot."""

import asyncio
from typing import Any

from playwright.async_api import FilePayload, expect

from tests.before_after.stage import Stage, around, shot, stacked
from tests.browser.console import Console
from tests.browser.cutting import way_to
from tests.harness.simulators import OLIVIA, TELEGRAM_TOKEN
from tests.simulators.telegram import TelegramSimulator

WATCH: dict[str, Any] = {
    "name": "deploys",
    "trigger": {"type": "event", "pattern": "deploy (\\w+)"},
    "action": {"type": "lightweight", "prompt": "hello"},
}
ASKING = {11: "Eve", 12: "Zed"}
SOON_S = 1.0
"""How long something is given to happen that, in one of the two states, does not."""


async def b1(stage: Stage) -> bytes:
    """`/help` as the first message."""
    async with stage.console() as (_, console):
        await console.open("chat/new")
        async with console.page.expect_response("**/api/chat/send"):
            await console.say("/help")
        if stage.today:
            await expect(console.messages("notice")).to_contain_text("/new —")
        else:
            await expect(console.field).to_have_value("")
        return await shot(console.page, top=240)


async def b5(stage: Stage) -> bytes:
    """The console while tools are paused."""
    async with stage.console() as (_, console):
        await stage.command("tools", "pause")
        await console.say_in_a_new_thread("hello")
        await console.sees("You said")
        return await shot(console.page)


def _with_telegram(stage: Stage, telegram: TelegramSimulator) -> None:
    telegram.add_bot(TELEGRAM_TOKEN)
    telegram.add_user(int(OLIVIA["telegram"]), first_name="Olivia")
    for number, name in ASKING.items():
        telegram.add_user(number, first_name=name)
    stage.configure(
        f'[hub]\nowner_identities = ["telegram:{OLIVIA["telegram"]}"]\n'
        '[[models]]\nname = "main"\nprovider = "demo"\n[channels.telegram]\n'
        f'token = "{TELEGRAM_TOKEN}"\napi_base_url = "{telegram.url}"\ndirect = "pairing"\n'
    )


async def b2(stage: Stage) -> bytes:
    """Two clicks on one spot, with two people asking."""
    async with TelegramSimulator() as telegram:
        _with_telegram(stage, telegram)
        async with stage.console() as (_, console):
            for number in ASKING:
                telegram.user_sends_text(number, "let me in")
                await telegram.wait_text(number, "private", timeout_s=30)
            await console.open("channels")
            members = console.page.get_by_role("button", name="Member")
            await expect(members).to_have_count(2)
            spot = await members.first.bounding_box()
            assert spot is not None
            where = spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2
            await console.page.mouse.click(*where)
            await asyncio.sleep(SOON_S)
            await console.page.mouse.click(*where)
            await asyncio.sleep(SOON_S)
            region = stage.now("People", "Pairing requests")
            shown = console.page.get_by_role("region", name=region)
            await shown.scroll_into_view_if_needed()
            return await around(shown)


async def b7(stage: Stage) -> bytes:
    """The list of conversations after a routine's run."""
    async with stage.console(900, 480) as (hub, console):
        await console.say_in_a_new_thread("what time is it")
        await console.sees("It is")
        made = await hub.api("POST", "/routines", WATCH)
        await console.open("chat/new")
        await hub.api("POST", f"/routines/{made['id']}/fire")
        await asyncio.sleep(3 * SOON_S)
        return await shot(console.page)


async def b8(stage: Stage) -> bytes:
    """The notice of a routine."""
    async with stage.console() as (hub, console):
        await console.say_in_a_new_thread("what time is it")
        await console.sees("It is")
        made = await hub.api("POST", "/routines", WATCH)
        await hub.api("POST", f"/routines/{made['id']}/fire")
        if stage.today:
            await console.open("chat")
            await console.page.locator(".row").filter(has_text="Notices").get_by_role("link").click()
        notice = console.messages("notice" if stage.today else "").last
        await expect(notice).to_contain_text("deploys")
        await notice.scroll_into_view_if_needed()
        return await around(notice)


async def _edited(console: Console) -> None:
    await console.say_in_a_new_thread("write plan.md: call Ada")
    await expect(console.card()).to_be_visible()
    await asyncio.sleep(SOON_S)
    await console.card().get_by_role("button", name="Edit…").click()
    await console.card().get_by_label("path").fill("plan2.md")
    await console.card().get_by_role("button", name="Approve").click()
    await expect(console.messages("assistant").filter(has_text="plan").last).to_be_visible()


async def b9(stage: Stage) -> bytes:
    """The answer after a path was changed."""
    async with stage.console() as (_, console):
        await _edited(console)
        answer = console.messages("assistant").last
        await answer.scroll_into_view_if_needed()
        return await around(answer)


async def b10(stage: Stage) -> bytes:
    """Twelve files, chosen at once."""
    async with stage.console(height=420) as (_, console):
        await console.open("chat/new")
        files: list[FilePayload] = [
            {"name": f"{number}.txt", "mimeType": "text/plain", "buffer": b"x"} for number in range(12)
        ]
        await console.page.locator("input[type=file]").set_input_files(files)
        await expect(console.page.locator(".chip")).to_have_count(10)
        await expect(console.page.locator(".chip[aria-busy=true]")).to_have_count(0)
        return await shot(console.page)


async def b11(stage: Stage) -> bytes:
    """A settled card, live and after a reload."""
    async with stage.console() as (_, console):
        await console.say_in_a_new_thread("run: date")
        await asyncio.sleep(SOON_S)
        await console.decide("Approve")
        await console.sees("I ran")
        card = console.page.locator("article.approval").last
        shown: list[bytes] = []
        for again in (True, False):
            await expect(card).to_be_visible()
            await card.scroll_into_view_if_needed()
            shown.append(await card.screenshot(animations="disabled"))
            if again:
                await console.reload()
                await console.sees("I ran")
        return await stacked(stage, *shown)


async def b12(stage: Stage) -> bytes:
    """The same login link, opened twice."""
    async with stage.hub() as hub, stage.page(height=420) as page:
        link = await hub.link()
        await page.goto(link)
        await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
        await page.goto("about:blank")
        await page.goto(link)
        await expect(page.get_by_role("heading").first).to_be_visible()
        return await shot(page)


async def b15(stage: Stage) -> bytes:
    """The editor of a routine."""
    async with stage.console(height=900) as (hub, console):
        made = await hub.api("POST", "/routines", {**WATCH, "trigger": {"type": "manual"}})
        await console.open(f"routines/{made['id']}")
        await console.page.get_by_role("button", name="Edit").click()
        await expect(console.page.get_by_label("Name", exact=True)).to_be_visible()
        await console.page.evaluate(
            "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"
        )
        if stage.today:
            await console.page.get_by_label("Use tools").check()
            await console.page.get_by_label("Tools that may need approval").fill("shell")
            await console.page.get_by_role("group", name="Grants").scroll_into_view_if_needed()
        return await shot(console.page)


async def b16(stage: Stage) -> bytes:
    """The runs of a routine: one by hand, then a message that fires it."""
    async with stage.console(width=720, height=900) as (hub, console):
        made = await hub.api("POST", "/routines", WATCH)
        await hub.api("POST", f"/routines/{made['id']}/fire")
        await console.open(f"routines/{made['id']}")
        runs = console.page.get_by_role("region", name="Runs", exact=True)
        await expect(runs.locator("tbody tr")).to_have_count(1)
        await asyncio.sleep(SOON_S)
        await hub.api("POST", "/chat/send", {"text": "deploy it", "new": True})
        await asyncio.sleep(2 * SOON_S)
        await console.reload()
        await expect(runs.locator("tbody tr")).to_have_count(2 if stage.today else 1)
        await runs.scroll_into_view_if_needed()
        return await around(runs)


async def b17(stage: Stage) -> bytes:
    """A schedule as people say it."""
    cron = {"type": "cron", "schedule": "0 9 * * 1-5", "timezone": "Europe/Berlin"}
    async with stage.console() as (hub, console):
        made = await hub.api("POST", "/routines", {**WATCH, "trigger": cron})
        await console.open(f"routines/{made['id']}")
        await console.page.get_by_role("button", name="Edit").click()
        field = console.page.get_by_label("Schedule")
        await field.fill("every weekday at 9")
        reading = console.page.locator(".fires-on")
        if stage.today:
            await expect(reading).to_contain_text("09:00")
        else:
            await asyncio.sleep(SOON_S)
        await field.evaluate("(one) => one.scrollIntoView({block: 'center'})")
        return await around(field, reading, margin=40)


async def b19(stage: Stage) -> bytes:
    """The composer once the hub is there again."""
    async with stage.hub() as hub, way_to(hub.url) as way, stage.page() as page:
        console = Console(page, way.url)
        await console.log_in(await hub.link(through=way.url))
        await console.say_in_a_new_thread("hello")
        await console.sees("You said")
        way.cut()
        await expect(page.get_by_text("Not connected.")).to_be_visible()
        await console.say("is anybody there?")
        problem = page.locator(".composer .problem")
        await expect(problem).to_be_visible()
        way.mend()
        await expect(page.get_by_text("Not connected.")).to_be_hidden()
        await asyncio.sleep(SOON_S)
        return await shot(page, top=400)


async def b21(stage: Stage) -> bytes:
    """A request to run a script."""
    (stage.directory / "workspace").mkdir()
    (stage.directory / "workspace" / "tidy.sh").write_text("echo tidy\n")
    async with stage.console() as (_, console):
        await console.say_in_a_new_thread("run: sh tidy.sh")
        await expect(console.card()).to_contain_text("tidy.sh")
        await console.card().scroll_into_view_if_needed()
        return await around(console.card())


async def b22(stage: Stage) -> bytes:
    """Enter, pressed in the path of a file."""
    async with stage.console() as (_, console):
        await console.say_in_a_new_thread("write plan.md: call Ada")
        await console.card().get_by_role("button", name="Edit…").click()
        field = console.card().get_by_label("path")
        await field.fill("plan2.md")
        await field.press("Enter")
        await console.card().scroll_into_view_if_needed()
        return await around(console.card())


async def b23(stage: Stage) -> bytes:
    """A second routine of the same name."""
    async with stage.console() as (hub, console):
        await hub.api("POST", "/routines", {**WATCH, "name": "good morning"})
        await console.say_in_a_new_thread("routine good morning: tell me the news")
        if stage.today:
            await console.sees("already")
        else:
            await expect(console.card()).to_be_visible()
        return await shot(console.page)
