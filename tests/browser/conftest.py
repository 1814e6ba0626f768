"""One browser for all tests; a hub and a tab for each."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.browser.chromium import Complaints, chromium, tab
from tests.browser.console import Console
from tests.browser.screens import ALL, SOME, Screens
from tests.harness.process import STRANGER, HubProcess, running_hub
from tests.harness.telegram_hub import OWNER, TOKEN
from tests.plugins.profile import Profile
from tests.simulators.telegram import TelegramSimulator


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A running browser."""
    async with chromium() as running:
        yield running


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def newcomers_hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HubProcess]:
    """A hub where nobody has configured anything, for tests that keep to conversations of their own."""
    directory = tmp_path_factory.mktemp("hub")
    async with HubProcess(directory, env={"HUBBUB__HTTP__PORT": "0"}) as process:
        yield process


@pytest_asyncio.fixture(loop_scope="session")
async def hub(tmp_path: Path) -> AsyncIterator[HubProcess]:
    """A hub with the built-in model and no platform."""
    async with running_hub(tmp_path) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def telegram() -> AsyncIterator[TelegramSimulator]:
    """A platform where the owner, too, has an account."""
    async with TelegramSimulator() as running:
        running.add_bot(TOKEN)
        running.add_user(OWNER, first_name="Olivia")
        running.add_user(STRANGER, first_name="Stan")
        yield running


@pytest.fixture
def screens(profile: Profile) -> Screens:
    """The screens that a page is looked at on."""
    return profile.pick(test=SOME, proof=ALL)


@pytest_asyncio.fixture(loop_scope="session")
async def complaints() -> AsyncIterator[Complaints]:
    """Return what pages complained of."""
    yield Complaints()


@pytest_asyncio.fixture(loop_scope="session")
async def console(browser: Browser, hub: HubProcess, complaints: Complaints) -> AsyncIterator[Console]:
    """The console, logged in."""
    async with tab(browser, complaints) as page:
        opened = Console(page, hub.url)
        await opened.log_in(await hub.link())
        yield opened
