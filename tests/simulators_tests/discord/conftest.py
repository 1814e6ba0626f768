"""A simulator with one bot, two people and a guild, and hikari as the independent client."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import hikari
import pytest
from hikari.api import RESTClient

from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.world import Channel, Guild

BOT_ID = 1_000_000_000_000_000_001
TOKEN = f"{base64.b64encode(str(BOT_ID).encode()).decode()}.simulated.token"
ANN = 1_000_000_000_000_000_007
BOB = 1_000_000_000_000_000_008
INTENTS = hikari.Intents.ALL_UNPRIVILEGED | hikari.Intents.MESSAGE_CONTENT


@pytest.fixture
async def sim() -> AsyncIterator[DiscordSimulator]:
    async with DiscordSimulator() as simulator:
        simulator.add_bot(TOKEN, username="hub_bot")
        simulator.add_user(ANN, username="ann", global_name="Ann")
        simulator.add_user(BOB, username="bob", global_name="Bob")
        yield simulator


@pytest.fixture
def guild(sim: DiscordSimulator) -> Guild:
    return sim.create_guild("the house", [ANN, BOB])


@pytest.fixture
def hall(sim: DiscordSimulator, guild: Guild) -> Channel:
    """A text channel that everybody may use."""
    return sim.create_channel(guild.id, "hall")


@asynccontextmanager
async def rest_client(sim: DiscordSimulator, token: str = TOKEN) -> AsyncIterator[RESTClient]:
    """hikari's REST client, which does not try again by itself."""
    app = hikari.RESTApp(url=sim.api_base_url, max_retries=0)
    await app.start()
    try:
        async with app.acquire(token, "Bot") as client:
            yield client
    finally:
        await app.close()


@pytest.fixture
async def rest(sim: DiscordSimulator) -> AsyncIterator[RESTClient]:
    async with rest_client(sim) as client:
        yield client


@asynccontextmanager
async def gateway_bot(
    sim: DiscordSimulator, intents: hikari.Intents = INTENTS, token: str = TOKEN
) -> AsyncIterator[hikari.GatewayBot]:
    """A whole hikari bot, connected and ready."""
    bot = hikari.GatewayBot(
        token,
        intents=intents,
        rest_url=sim.api_base_url,
        banner=None,
        logs=None,
        suppress_optimization_warning=True,
        auto_chunk_members=False,
    )
    await bot.start(check_for_updates=False)
    try:
        yield bot
    finally:
        await bot.close()


@pytest.fixture
async def live(sim: DiscordSimulator, guild: Guild) -> AsyncIterator[hikari.GatewayBot]:
    """A bot that is a member of the guild, connected."""
    async with gateway_bot(sim) as bot:
        yield bot
