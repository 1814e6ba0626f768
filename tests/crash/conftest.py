"""Fixtures of the crash suite."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.crash.nursery import Nursery, open_nursery


@pytest_asyncio.fixture
async def nursery() -> AsyncIterator[Nursery]:
    """A process that forks hubs."""
    async with open_nursery() as opened:
        yield opened
