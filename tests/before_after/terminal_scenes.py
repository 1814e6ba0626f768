"""What a terminal shows, before and after; each scene returns its lines."""

import asyncio
import re
import signal
import sys

from tests.before_after.stage import COLUMNS, ROWS, Stage
from tests.bot.cli.multiplexer import ENDED, Pane, terminal
from tests.tree import ROOT

SOON_S = 1.5


async def b4(stage: Stage) -> str:
    """A grant that is in force, listed."""
    async with stage.chat() as pane:
        await pane.writes("run: date")
        await pane.shows("a Approve")
        await pane.type("A")
        await pane.shows("^exit code: 0")
    return await stage.command("grants", "list")


async def screen(pane: Pane) -> str:
    """The screen, without the empty lines between what was said and the foot."""
    lines = (await pane.screen(colours=True)).split("\n")
    return "\n".join(
        line for number, line in enumerate(lines) if line.strip() or (number and lines[number - 1].strip())
    )


async def b3(stage: Stage) -> str:
    """`/new` while a request is open."""
    async with stage.chat() as pane:
        await pane.writes("run: date")
        await pane.shows("a Approve")
        await pane.writes("/new")
        await asyncio.sleep(SOON_S)
        return await screen(pane)


async def b6(stage: Stage) -> str:
    """The first command that the README names."""
    async with stage.chat() as pane:
        await pane.writes("run: ls")
        await pane.shows("a Approve")
        await pane.type("a")
        await pane.shows("^exit code: 0")
        await asyncio.sleep(SOON_S)
        return await screen(pane)


async def b14(stage: Stage) -> str:
    """A wrong answer."""
    async with terminal(stage.directory, COLUMNS, ROWS) as pane:
        await pane.start("init", env=stage.env)
        await pane.shows("(?i)platform")
        await pane.writes("whatsapp")
        await asyncio.sleep(SOON_S)
        return await screen(pane)


async def b18(stage: Stage) -> str:
    """A configuration changed beside a running hub."""
    model = '[[models]]\nname = "main"\nprovider = "demo"\n'
    stage.configure(model)
    async with stage.hub():
        stage.configure(f"{model}[agent]\nqueue = 'one_by_one'\n")
        return await stage.command("doctor")


async def b20(stage: Stage) -> str:
    """The audit, after a backup was put back."""
    async with stage.hub() as hub:
        await hub.api("POST", "/chat/send", {"text": "hello", "new": True})
        await asyncio.sleep(SOON_S)
        await hub.stop(signal.SIGTERM)
    await stage.command("db", "backup", "backup.db")
    restored = await stage.command("db", "restore", "backup.db")
    return restored + await stage.command("audit", "verify")


async def b24(stage: Stage) -> str:
    """The simulators, started."""
    tree = ROOT if stage.today else stage.tree
    async with terminal(tree, COLUMNS, ROWS) as pane:
        words = ("--data", str(stage.directory / "data"), "--config", str(stage.directory / "hubbub.toml"))
        await pane.start(*words, env=stage.env, program=(sys.executable, "-m", "tests.simulators"))
        await pane.shows("Ann>")
        await pane.writes("please run: echo hello")
        await pane.shows("!1 Approve")
        await pane.writes("!1")
        await pane.shows("Done")
        shown = (await screen(pane)).replace(str(stage.directory), "")
        await pane.writes("/quit")
        await pane.shows(ENDED)  # and with it the hub
        return re.sub(r"(?<=#code=)\S+\n\S+", "k3f9a7mzq2", shown)


async def b25(stage: Stage) -> str:
    """A message after a command was stopped."""
    async with stage.chat() as pane:
        await pane.writes("run: sleep 20")
        await pane.shows("a Approve")
        await pane.type("a")
        await asyncio.sleep(SOON_S)
        await pane.press("C-c")
        await pane.shows(r"^Stopped\.")
        await pane.writes("what time is it")
        await pane.shows("It is")
        return await screen(pane)


async def b26(stage: Stage) -> str:
    """What became of messages."""
    async with stage.hub() as hub:
        for text in ("hello", "what time is it"):
            await hub.api("POST", "/chat/send", {"text": text, "new": True})
            await asyncio.sleep(SOON_S)
        return await stage.command("why")
