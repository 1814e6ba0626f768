"""A workspace with one app and one person, and Slack's own Python SDK as the independent client."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.simulators.slack import SlackSimulator

BOT_TOKEN = "xoxb-1-2-simulated"
APP_TOKEN = "xapp-1-simulated"
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
ANN, BOB = "U0ANN", "U0BOB"
Slack = Any
"""The SDK's AsyncWebClient, which types every value of an answer as maybe None."""


@pytest.fixture
async def sim() -> AsyncIterator[SlackSimulator]:
    async with SlackSimulator() as simulator:
        simulator.add_app(BOT_TOKEN, APP_TOKEN, SECRET, commands=["/hubbub"])
        simulator.add_user(ANN, name="ann", real_name="Ann Lee")
        simulator.add_user(BOB, name="bob", real_name="Bob")
        yield simulator


@pytest.fixture
async def client(sim: SlackSimulator) -> AsyncIterator[AsyncWebClient]:
    """The SDK's client; it repeats nothing by itself."""
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(BOT_TOKEN, base_url=sim.api_url, session=session, retry_handlers=[])


@pytest.fixture
def dm(sim: SlackSimulator) -> str:
    """Ann's direct conversation with the app."""
    return sim.direct_channel(ANN).id


@pytest.fixture
def general(sim: SlackSimulator) -> str:
    """A channel of Ann, Bob and the app."""
    return sim.create_channel("general", [ANN, BOB]).id
