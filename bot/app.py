"""Builds every object once and runs the hub until it is told to stop."""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.api_access import published
from bot.assembly import Answering, Calling, Speaking
from bot.certificates import Certificates
from bot.config import Loaded
from bot.errors import StartError, needed_to_start, with_advice
from bot.ground import Ground
from bot.log_file import log_file
from bot.metrics import MeteredModel
from bot.parts import open_models, open_store
from bot.platforms import ChannelBuilder
from bot.serving import Serving
from bot.vault_keys import VaultKeyRing
from bot.web.live import Live
from bot.web.server import listen
from channels.manager import ChannelManager
from core.actors import ThreadActors
from core.clock import Clock, SystemClock
from core.conversation.pairing import PairingDesk
from core.errors import SchemaTooNew, StoreLocked, StoreUnavailable
from core.events import SilentListener, TurnListener
from core.hub import Hub
from core.ids import Ids, RandomIds
from core.model.base import Model
from core.ports import Inbox
from core.recovery import BootRecovery
from core.routines.service import RoutineService
from core.store.base import Store
from core.store.lock import DataDirectoryLock
from core.tools.halt import ToolHalt
from core.tools.running import CallThreads
from core.users import Role

if TYPE_CHECKING:
    from channels.telegram.timeouts import Timeouts as TelegramTimeouts
    from core.notices import Notices
    from core.safety.network import Lookup
    from core.tools.mcp.server import McpServers

logger = logging.getLogger(__name__)

USUAL_COLLECTIONS = (10_000, 10, 10)
"""Fewer looks at new objects than Python's own 700: nearly all that a message leaves behind is freed without
them, and they were a twentieth of what it costs. A command starts with fewer still (see `bot.__main__`)."""


@dataclass(frozen=True, slots=True)
class Seams:
    """Where a program around the hub may put something of its own in between."""

    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=RandomIds)
    turns: TurnListener = field(default_factory=SilentListener)
    store: Callable[[Store], Store] = lambda store: store
    model: Callable[[Model], Model] = lambda model: model
    lookup: "Lookup | None" = None
    telegram: "TelegramTimeouts | None" = None


@dataclass(frozen=True, slots=True)
class App:
    """The running parts, for the web side and the program's end. `runs`: what runs until the end, by name."""

    url: str
    login_url: Callable[[], str]
    live: Live
    store: Store
    hub: Hub
    inbox: Inbox
    manager: ChannelManager
    recovery: BootRecovery
    pairing: PairingDesk
    notices: Callable[[], "Notices"]
    routines: RoutineService
    mcp: "McpServers | None"
    runs: Mapping[str, Callable[[], Coroutine[Any, Any, None]]]


async def serve(
    loaded: Loaded,
    seams: Seams | None = None,
    ready: Callable[[App], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Run the hub until one of `ending_signals`, or `stop`. Raises StartError if it cannot start.

    `ready` is called once the hub serves.
    """
    stop = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in ending_signals():
        loop.add_signal_handler(number, stop.set)
    try:
        async with build(loaded, seams or Seams()) as app:
            await _run(app, stop, ready)
    except StoreLocked as error:
        raise StartError(str(error)) from error
    except (SchemaTooNew, StoreUnavailable) as error:
        raise StartError(f"{loaded.database}: {with_advice(error)}") from error
    logger.info("stopped")


def ending_signals() -> Sequence[signal.Signals]:
    """Those that end the hub in good order: also that its terminal was closed, unless it was started to
    outlive that (nohup)."""
    outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *(() if outlives else (signal.SIGHUP,)))


async def _run(app: App, stop: asyncio.Event, ready: Callable[[App], None] | None) -> None:
    if app.mcp is not None:
        await app.mcp.end_survivors()
    suspects = await app.recovery.recover()
    await app.routines.prepare()
    async with asyncio.TaskGroup() as group:
        app.hub.open()
        running = [group.create_task(run(), name=name) for name, run in app.runs.items()]
        running.append(group.create_task(app.recovery.start_suspects(suspects), name="suspects"))
        # What was built lives as long as the hub: the collector need not look at it again and again.
        gc.freeze()
        gc.set_threshold(*USUAL_COLLECTIONS)
        logger.info("serving on %s", app.url)
        if ready is not None:
            ready(app)
        await stop.wait()
        logger.info("stopping")
        app.hub.shut()
        app.live.close()
        for task in running:
            task.cancel()


@contextlib.asynccontextmanager
async def build(loaded: Loaded, seams: Seams) -> AsyncIterator[App]:
    """Construct everything; what was opened is closed in reverse order on leaving."""
    config, clock, ids = loaded.config, seams.clock, seams.ids
    async with contextlib.AsyncExitStack() as opened:
        with needed_to_start(config.hub.data_dir, "make it writable, or set another [hub] data_dir"):
            opened.enter_context(DataDirectoryLock(config.hub.data_dir))
            opened.enter_context(log_file(config))
        sock = listen(config.http.host, config.http.port)
        opened.callback(sock.close)
        certificates = Certificates()
        ring = VaultKeyRing(config.hub.data_dir, loaded.environment)
        ring.require_sound()
        store = seams.store(await opened.enter_async_context(open_store(config, ring, clock, ids)))
        owner = await store.ensure_user(config.hub.owner, Role.OWNER, config.hub.owner)
        halt = ToolHalt(halted=await store.tools_halted())
        asyncio.get_running_loop().set_default_executor(CallThreads(thread_name_prefix="asyncio"))
        models = seams.model(await opened.enter_async_context(open_models(config, clock, certificates)))
        ground = Ground(loaded, store, owner, ring, clock, ids)
        metered = MeteredModel(models, ground.metrics)
        builder = ChannelBuilder(clock, certificates, loaded.closed, seams.telegram)
        speaking = Speaking(ground, builder, seams.turns)
        calling = Calling(ground, speaking, metered, halt, seams.lookup)
        answering = Answering(ground, speaking, calling, metered)
        await opened.enter_async_context(_releasing(answering.actors, store))
        serving = Serving(ground, speaking, calling, answering, sock)
        opened.enter_context(published(config.hub.data_dir, serving.access))
        yield _app(ground, speaking, calling, answering, serving)


def _app(ground: Ground, speaking: Speaking, calling: Calling, answering: Answering, serving: Serving) -> App:
    runs = {
        "channels": lambda: speaking.manager.run(serving.inbox),
        "prompt expiry": answering.expiry.run,
        "previews": speaking.previews.run,
        "albums": answering.gathering.run,
        "acknowledgements": answering.acknowledgements.run,
        "routines": calling.routines.run,
        "audit": calling.audit.run,
        "web": serving.web.run,
        "uploads": speaking.uploads.run,
        **answering.beside,
    }
    if calling.servers is not None:
        runs["mcp"] = calling.servers.run
    return App(
        url=serving.web.url,
        login_url=serving.login_url,
        live=ground.live,
        store=ground.store,
        hub=answering.hub,
        inbox=serving.inbox,
        manager=speaking.manager,
        recovery=answering.recovery,
        pairing=answering.pairing,
        notices=calling.notices,
        routines=calling.routines,
        mcp=calling.servers,
        runs=runs,
    )


@contextlib.asynccontextmanager
async def _releasing(actors: ThreadActors, store: Store) -> AsyncIterator[ThreadActors]:
    """Turns cut short by stopping in good order are no crashes; while the store takes no writes they count
    as one all the same."""
    unfinished: list[str] = []
    try:
        async with actors:
            try:
                yield actors
            finally:
                unfinished = list(actors.unfinished())
    finally:
        if unfinished:
            try:
                await store.release_turns(unfinished)
            except StoreUnavailable as error:
                logger.warning("unfinished turns (%d) count as crashed once: %s", len(unfinished), error)
