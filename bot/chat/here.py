"""A hub with only the terminal, in this process."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

from bot.app import App, Seams, serve
from bot.chat.local import LocalScreen, LocalTalk
from bot.config import Loaded
from channels.terminal.channel import ACCOUNT, NAME, TerminalChannel


@contextlib.asynccontextmanager
async def hub_here(loaded: Loaded, stop: asyncio.Event) -> AsyncIterator[LocalTalk]:
    """A hub that ends with the block, and the owner's conversation with it; `stop` is set when the hub is
    told to end by a signal.

    Raises StartError; its cause is StoreLocked where another hub uses the data directory.
    """
    seams, screen = Seams(), LocalScreen()
    channel = TerminalChannel(screen, seams.clock, loaded.config.hub.owner, seams.ids.row_id)
    seams = replace(seams, turns=screen, channels=lambda configured: [*configured, channel])
    serves: asyncio.Future[App] = asyncio.get_running_loop().create_future()
    hub = asyncio.create_task(serve(_alone(loaded), seams, serves.set_result, stop), name="hub")
    try:
        await asyncio.wait([hub, serves], return_when=asyncio.FIRST_COMPLETED)
        if hub.done():
            await hub  # raises why it could not start
            return
        talk = LocalTalk(serves.result(), channel, screen)
        await talk.open()
        yield talk
    finally:
        stop.set()
        await hub


def _alone(loaded: Loaded) -> Loaded:
    """The same hub without platforms, on any free port, where whoever sits here is the owner."""
    config = loaded.config
    hub = config.hub.model_copy(
        update={"owner_identities": (*config.hub.owner_identities, f"{NAME}:{ACCOUNT}")}
    )
    changes = {
        "hub": hub,
        "channels": {},
        "http": config.http.model_copy(update={"host": "127.0.0.1", "port": 0}),
        "agent": config.agent.model_copy(update={"stream": False}),  # the screen follows the turn itself
    }
    return replace(loaded, config=config.model_copy(update=changes))
