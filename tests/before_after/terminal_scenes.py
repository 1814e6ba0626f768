"""What a terminal shows, before and after; each scene returns its lines."""

from tests.before_after.stage import Stage

WAITING = "waiting for you"


async def b4(stage: Stage) -> str:
    """A grant that is in force, listed."""
    async with stage.chat() as pane:
        await pane.writes("run: date")
        await pane.shows("a Approve")
        await pane.type("A")
        await pane.shows("^exit code: 0")
    return await stage.command("grants", "list")
