"""A simulator and the ways to talk to it: the providers' own clients, and plain HTTP."""

import ssl
from collections.abc import AsyncIterator

import anthropic
import httpx
import openai
import pytest

from tests.patience import PATIENCE_S
from tests.simulators.model import ModelSimulator

TIMEOUT_S = PATIENCE_S


@pytest.fixture(scope="session")
def tls() -> ssl.SSLContext:
    """One for all clients: making one takes longer than most tests here."""
    return ssl.create_default_context()


@pytest.fixture
async def model() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator() as simulator:
        yield simulator


@pytest.fixture
async def client(model: ModelSimulator, tls: ssl.SSLContext) -> AsyncIterator[openai.AsyncOpenAI]:
    """OpenAI's own client as the oracle, without its retries: each failure is to be seen."""
    async with openai.AsyncOpenAI(
        base_url=model.openai_base_url,
        api_key="test-key",
        max_retries=0,
        timeout=TIMEOUT_S,
        http_client=openai.DefaultAsyncHttpxClient(verify=tls),
    ) as sdk:
        yield sdk


@pytest.fixture
async def claude(model: ModelSimulator, tls: ssl.SSLContext) -> AsyncIterator[anthropic.AsyncAnthropic]:
    """Anthropic's own client, likewise."""
    async with anthropic.AsyncAnthropic(
        base_url=model.anthropic_base_url,
        api_key="test-key",
        max_retries=0,
        timeout=TIMEOUT_S,
        http_client=anthropic.DefaultAsyncHttpxClient(verify=tls),
    ) as sdk:
        yield sdk


@pytest.fixture
async def http(model: ModelSimulator, tls: ssl.SSLContext) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=model.url, headers={"Authorization": "Bearer test-key"}, timeout=TIMEOUT_S, verify=tls
    ) as plain:
        yield plain
