"""A simulator and two ways to talk to it: the provider's own client, and plain HTTP."""

from collections.abc import AsyncIterator

import httpx
import openai
import pytest

from tests.simulators.model import ModelSimulator


@pytest.fixture
async def model() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator() as simulator:
        yield simulator


@pytest.fixture
async def client(model: ModelSimulator) -> AsyncIterator[openai.AsyncOpenAI]:
    """OpenAI's own client as the oracle, without its retries: each failure is to be seen."""
    async with openai.AsyncOpenAI(
        base_url=model.openai_base_url, api_key="test-key", max_retries=0, timeout=20
    ) as sdk:
        yield sdk


@pytest.fixture
async def http(model: ModelSimulator) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=model.url, headers={"Authorization": "Bearer test-key"}, timeout=20
    ) as plain:
        yield plain
