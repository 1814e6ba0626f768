"""Every channel the suite runs on."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.contracts.channel.discord import discord
from tests.contracts.channel.slack import slack
from tests.contracts.channel.stage import Stage
from tests.contracts.channel.telegram import telegram

STAGES = {
    "telegram-polling": (telegram, "polling"),
    "telegram-webhook": (telegram, "webhook"),
    "slack-socket": (slack, "socket"),
    "slack-http": (slack, "http"),
    "discord": (discord, "gateway"),
}


@pytest_asyncio.fixture(params=STAGES)
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    """A hub that runs on one of the platforms."""
    opened, mode = STAGES[request.param]
    async with opened(tmp_path, mode) as here:
        yield here
