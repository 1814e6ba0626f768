"""Every channel the suite runs on, and the points that have no meaning on some."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from tests.contracts.channel.console import ABSENT as CONSOLE_LACKS
from tests.contracts.channel.console import console
from tests.contracts.channel.discord import discord
from tests.contracts.channel.slack import slack
from tests.contracts.channel.subject import POINTS, Subject
from tests.contracts.channel.telegram import telegram
from tests.contracts.channel.terminal import ABSENT as TERMINAL_LACKS
from tests.contracts.channel.terminal import terminal
from tests.plugins.proof import ProofRecord

ASKED = {"delivery": "the hub asks the platform, or holds the connection: nobody else can deliver"}


@dataclass(frozen=True, slots=True)
class Setting:
    """How a stage is opened. `lacks`: why a point has no meaning there, by its name. `slow`: it runs in the
    longer profiles alone."""

    open: Callable[[Path, str], AbstractAsyncContextManager[Subject]]
    mode: str
    lacks: Mapping[str, str] = field(default_factory=dict[str, str])
    slow: bool = False


SETTINGS = {
    "telegram-polling": Setting(telegram, "polling", ASKED),
    "telegram-webhook": Setting(telegram, "webhook"),
    "slack-socket": Setting(slack, "socket", ASKED),
    "slack-http": Setting(slack, "http"),
    "discord": Setting(discord, "gateway", ASKED),
    "console": Setting(console, "http", CONSOLE_LACKS),
    "terminal": Setting(terminal, "pipe", TERMINAL_LACKS, slow=True),
}


def pytest_configure(config: pytest.Config) -> None:
    """Return what the suite's tests are marked with."""
    config.addinivalue_line("markers", "point(name): of a channel's contract; not every stage has it")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each test on every stage where its point has a meaning."""
    if "stage" not in metafunc.fixturenames:
        return
    points = {str(mark.args[0]) for mark in metafunc.definition.iter_markers("point")}
    assert points <= POINTS.keys(), f"no such points: {points - POINTS.keys()}"
    wanted = [
        pytest.param(name, marks=[pytest.mark.slow] if setting.slow else [])
        for name, setting in SETTINGS.items()
        if not points & setting.lacks.keys()
    ]
    metafunc.parametrize("stage", wanted, indirect=True)


@pytest_asyncio.fixture
async def stage(
    request: pytest.FixtureRequest, tmp_path: Path, proof_record: ProofRecord
) -> AsyncIterator[Subject]:
    """A hub that runs on one of the platforms; what is shown on which is left behind as a proof."""
    setting = SETTINGS[request.param]
    proof_record("channels", channel=request.param)
    async with setting.open(tmp_path, setting.mode) as here:
        yield here
