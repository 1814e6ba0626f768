"""What the browser shows, before and after; each scene returns a screenshot."""

from playwright.async_api import expect

from tests.before_after.stage import Stage, shot


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
