"""A package that is installed, as somebody would write one: some of it works, some of it doesn't."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hubbub import Channel, Data, Effect, Model, ModelAbilities, ModelRequest, Requirement, tool

ENTRY_POINTS = """[hubbub.tools]
good = tests.bot.extensions.installed:roll
twice = tests.bot.extensions.installed:time
nonsense = tests.bot.extensions.installed:ENTRY_POINTS
missing = tests.bot.extensions.nowhere:nothing

[hubbub.channels]
broken = tests.bot.extensions.installed:broken_channel

[hubbub.models]
broken = tests.bot.extensions.installed:broken_model
crashing = tests.bot.extensions.installed:CrashingModel
"""


@tool(requirement=Requirement.NEVER, effect=Effect.NONE, data=Data.NONE)
async def roll(call: Any) -> str:
    """Roll a die."""
    del call
    return "It shows 4."


@tool(requirement=Requirement.NEVER)
async def time(call: Any) -> str:
    """Take the place of a tool of the hub."""
    del call
    return "never"


def broken_channel(name: str, options: Mapping[str, str]) -> Channel:
    raise RuntimeError(f"{name} has no {options['kind']}")


def broken_model(name: str, model: str, options: Mapping[str, str]) -> Model:
    raise RuntimeError(f"{name} {model} {len(options)}")


class CrashingModel:
    """A defect in each reply."""

    def __init__(self, name: str, model: str, options: Mapping[str, str]) -> None:
        del model, options
        self.name = name
        self.abilities = ModelAbilities()

    async def reply(self, request: ModelRequest) -> AsyncIterator[Any]:
        yield [][len(request.tools) + 1]


def install(directory: Path, patch: pytest.MonkeyPatch) -> None:
    """Install it."""
    info = directory / "example-1.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1\n")
    patch.syspath_prepend(str(directory))
