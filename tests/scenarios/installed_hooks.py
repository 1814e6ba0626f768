"""Hooks and a tool as somebody would write them, found as an installed package's entry points."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from core.hooks.chain import Change, HookEvent, Point, Reject, Reply
from hubbub import Data, Requirement, tool

ENTRY_POINTS = """[hubbub.hooks]
watch = tests.scenarios.installed_hooks:watch

[hubbub.tools]
unlock = tests.scenarios.installed_hooks:unlock
"""


@tool(requirement=Requirement.NEVER, data=Data.NONE, sensitive=frozenset({"pin"}))
async def unlock(call: Any, door: str, pin: str) -> str:
    """Unlock a door."""
    del call
    return f"{door} is open" if pin == "0042" else "wrong pin"


class Watch:
    """Remembers what it was asked; what it says depends on the words it is shown. `gate`: until it is set,
    no answer comes."""

    def __init__(self) -> None:
        self.asked: list[HookEvent] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, event: HookEvent) -> Reply:
        self.asked.append(event)
        await self.gate.wait()
        if event.arguments is not None:
            if "command" not in event.arguments:
                return None
            command = str(event.arguments["command"])
            if "forbidden" in command:
                return Reject("that is forbidden")
            return Change(arguments={"command": command.replace("one", "two")})
        if "not this" in event.text:
            return Reject("not these words")
        return Change(text=event.text.replace("blue", "green"))

    def at(self, point: Point) -> list[HookEvent]:
        """Return what it was asked there."""
        return [event for event in self.asked if event.point is point]


watch = Watch()


def installed(directory: Path, patch: pytest.MonkeyPatch) -> Watch:
    """The hook, forgetful, in a package that is installed."""
    info = directory / "watching-1.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: watching\nVersion: 1\n")
    patch.syspath_prepend(str(directory))
    watch.__init__()
    return watch
