"""A simulator with one bot and one person, and aiogram as the independent client."""

from collections.abc import AsyncIterator

import pytest
from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer

from tests.simulators.telegram import TelegramSimulator

TOKEN = "123456:" + "A" * 35
ANN = 7


class PlainSession(AiohttpSession):
    """aiogram's session without the quarter of a second it waits for TLS to close."""

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


def client_of(sim: TelegramSimulator, token: str = TOKEN) -> Bot:
    """An aiogram bot that talks to the simulator."""
    return Bot(token, session=PlainSession(api=TelegramAPIServer.from_base(sim.url)))


@pytest.fixture
async def sim() -> AsyncIterator[TelegramSimulator]:
    async with TelegramSimulator() as simulator:
        simulator.add_bot(TOKEN, username="hub_bot")
        simulator.add_user(ANN, first_name="Ann", username="ann")
        yield simulator


@pytest.fixture
async def bot(sim: TelegramSimulator) -> AsyncIterator[Bot]:
    client = client_of(sim)
    yield client
    await client.session.close()


@pytest.fixture
def met(sim: TelegramSimulator) -> TelegramSimulator:
    """Ann has started the bot, and the bot has nothing left to read."""
    sim.user_sends_text(ANN, "/start")
    sim.queues[int(TOKEN.partition(":")[0])].drop_all("set up")
    return sim
