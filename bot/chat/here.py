"""Where a conversation is held: with the hub that runs, or with one in this process."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from bot.api_access import ApiAccess, read_access
from bot.app import App, serve
from bot.chat.hub_api import hub_api
from bot.chat.remote import RemoteTalk
from bot.chat.talk import Talk, TalkFailed
from bot.config import Loaded
from bot.errors import StartError
from core.errors import StoreLocked
from core.ids import RandomIds

OPENS_WITHIN_S = 5.0
LOOK_AGAIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Conversation:
    """`own_hub`: it ends with the hub of this process."""

    talk: Talk
    own_hub: bool


@contextlib.asynccontextmanager
async def conversation(loaded: Loaded, stop: asyncio.Event) -> AsyncIterator[Conversation]:
    """The owner's conversation; `stop` is set when a signal says to end.

    With the hub that uses the data directory, over its API; without one, with a hub that has no platform and
    ends with the block. Raises StartError, or TalkFailed if the hub that runs cannot be asked.
    """
    async with contextlib.AsyncExitStack() as opened:
        own_hub = True
        try:
            await opened.enter_async_context(_hub_here(loaded, stop))
        except StartError as error:
            if not isinstance(error.__cause__, StoreLocked):
                raise
            own_hub = False
            _stop_when_told(stop)
        talk = await opened.enter_async_context(_talk(loaded))
        yield Conversation(talk, own_hub)


@contextlib.asynccontextmanager
async def _talk(loaded: Loaded) -> AsyncIterator[Talk]:
    """The same way in both cases, so that a conversation goes on whichever hub it was begun with."""

    def access() -> ApiAccess | None:
        return read_access(loaded.config.hub.data_dir)

    async with hub_api(access) as api:
        await _until_published(loaded)
        talk = RemoteTalk(api, RandomIds().row_id)
        await talk.open()
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(talk.run(), name="following")
            yield talk
            following.cancel()


async def _until_published(loaded: Loaded) -> None:
    """A hub that is starting says in a moment where its API is."""
    for _ in range(int(OPENS_WITHIN_S / LOOK_AGAIN_S)):
        if read_access(loaded.config.hub.data_dir) is not None:
            return
        await asyncio.sleep(LOOK_AGAIN_S)
    raise TalkFailed("another command uses the data directory, and it is no hub; try again when it has ended")


@contextlib.asynccontextmanager
async def _hub_here(loaded: Loaded, stop: asyncio.Event) -> AsyncIterator[None]:
    serves: asyncio.Future[App] = asyncio.get_running_loop().create_future()
    hub = asyncio.create_task(serve(_alone(loaded), ready=serves.set_result, stop=stop), name="hub")
    await asyncio.wait([hub, serves], return_when=asyncio.FIRST_COMPLETED)
    if hub.done():
        await hub  # raises why it could not start
    try:
        yield
    finally:
        stop.set()
        await hub


def _alone(loaded: Loaded) -> Loaded:
    """The same hub without platforms, for this machine only, on any free port."""
    config = loaded.config
    http = config.http.model_copy(update={"host": "127.0.0.1", "port": 0, "public_url": ""})
    return replace(loaded, config=config.model_copy(update={"channels": {}, "http": http}))


def _stop_when_told(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
