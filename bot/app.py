"""Builds every object once and runs the hub until it is told to stop."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.routing import Mount
from starlette.types import ASGIApp

from bot.api_access import ApiAccess, published
from bot.auditing import ChangeListeners, build_audit
from bot.certificates import Certificates
from bot.config import Loaded
from bot.errors import StartError, needed_to_start
from bot.guarding import build_credentials, build_leaks
from bot.hooked import configured_hooks
from bot.log_file import log_file
from bot.metrics import Gauges, MeteredInbox, MeteredModel, Metrics
from bot.parts import (
    build_approvals,
    build_chat,
    build_mcp,
    build_pipeline,
    build_rules,
    open_models,
    open_store,
)
from bot.platforms import ChannelBuilder
from bot.readiness import readiness_of
from bot.routines import build_routines
from bot.tools import build_tools
from bot.vault_keys import VaultKeyRing
from bot.web.callers import Gate
from bot.web.channels import channel_routes
from bot.web.console import Console
from bot.web.health import Readiness, health_routes, metrics_routes
from bot.web.live import Live
from bot.web.login import LoginDesk, login_routes, login_url
from bot.web.ondemand import OnDemand
from bot.web.server import WebServer, listen, url_of
from bot.web.uploads import UPLOADS_NAME, FileUploads
from channels.manager import ChannelManager
from channels.webchat import WEB, WebChannel
from core.acknowledgements import Acknowledgements
from core.actors import ThreadActors
from core.agent.runner import ChatTurnRunner
from core.audit.linker import AuditLinker
from core.clock import Clock, SystemClock
from core.conversation.elsewhere import Elsewhere
from core.conversation.pairing import ClaimRules, PairingDesk
from core.errors import SchemaTooNew, StoreLocked, StoreUnavailable
from core.events import SilentListener, TurnListener, TurnListeners
from core.expiry import PromptExpiry
from core.gathering import AlbumGathering
from core.hub import Hub, nothing_held
from core.ids import Ids, RandomIds
from core.model.base import Model
from core.ports import Inbox
from core.previews import TurnPreviews
from core.recovery import BootRecovery
from core.routines.service import RoutineService
from core.store.base import Store
from core.store.lock import DataDirectoryLock
from core.tools.editing import CallEditing
from core.tools.halt import ToolHalt
from core.tools.processes import end_process
from core.users import Principal, Role

if TYPE_CHECKING:
    from core.notices import Notices
    from core.routines.chatting import RoutinesInWords
    from core.safety.network import Lookup
    from core.tools.mcp.server import McpServers

logger = logging.getLogger(__name__)

API_PATH = "/api"
MAX_CONCURRENT_TURNS = 256
USUAL_COLLECTIONS = (700, 10, 10)
"""Python's own thresholds; a command starts with fewer (see `bot.__main__`)."""


@dataclass(frozen=True, slots=True)
class Seams:
    """Where a program around the hub may put something of its own in between."""

    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=RandomIds)
    turns: TurnListener = field(default_factory=SilentListener)
    store: Callable[[Store], Store] = lambda store: store
    model: Callable[[Model], Model] = lambda model: model
    lookup: "Lookup | None" = None


@dataclass(frozen=True, slots=True)
class App:
    """The running parts, for the web side and the program's end."""

    url: str
    login_url: Callable[[], str]
    live: Live
    store: Store
    hub: Hub
    inbox: Inbox
    actors: ThreadActors
    manager: ChannelManager
    web: WebServer
    expiry: PromptExpiry
    recovery: BootRecovery
    previews: TurnPreviews
    gathering: AlbumGathering
    acknowledgements: Acknowledgements
    pairing: PairingDesk
    notices: Callable[[], "Notices"]
    routines: RoutineService
    beside: Mapping[str, Callable[[], Coroutine[Any, Any, None]]]
    audit: AuditLinker
    mcp: "McpServers | None"


async def serve(
    loaded: Loaded,
    seams: Seams | None = None,
    ready: Callable[[App], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Run the hub until SIGINT, SIGTERM or `stop`. Raises StartError if it cannot start.

    `ready` is called once the hub serves.
    """
    stop = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        async with build(loaded, seams or Seams()) as app:
            await _run(app, stop, ready)
    except StoreLocked as error:
        raise StartError(str(error)) from error
    except (SchemaTooNew, StoreUnavailable) as error:
        raise StartError(f"{loaded.database}: {error}") from error
    logger.info("stopped")


async def _run(app: App, stop: asyncio.Event, ready: Callable[[App], None] | None) -> None:
    if app.mcp is not None:
        await app.mcp.end_survivors()
    suspects = await app.recovery.recover()
    await app.routines.prepare()
    async with asyncio.TaskGroup() as group:
        app.hub.open()
        running = [
            group.create_task(app.manager.run(app.inbox), name="channels"),
            group.create_task(app.expiry.run(), name="prompt expiry"),
            group.create_task(app.previews.run(), name="previews"),
            group.create_task(app.gathering.run(), name="albums"),
            group.create_task(app.acknowledgements.run(), name="acknowledgements"),
            group.create_task(app.recovery.start_suspects(suspects), name="suspects"),
            group.create_task(app.routines.run(), name="routines"),
            group.create_task(app.audit.run(), name="audit"),
            group.create_task(app.web.run(), name="web"),
            *(group.create_task(run(), name=name) for name, run in app.beside.items()),
        ]
        if app.mcp is not None:
            running.append(group.create_task(app.mcp.run(), name="mcp"))
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
    config = loaded.config
    async with contextlib.AsyncExitStack() as opened:
        with needed_to_start(config.hub.data_dir, "make it writable, or set another [hub] data_dir"):
            opened.enter_context(DataDirectoryLock(config.hub.data_dir))
            opened.enter_context(log_file(config))
        sock = listen(config.http.host, config.http.port)
        opened.callback(sock.close)
        certificates = Certificates()
        ring = VaultKeyRing(config.hub.data_dir, loaded.environment)
        kept = await opened.enter_async_context(open_store(config, ring, seams.clock, seams.ids))
        store = seams.store(kept)
        owner = await store.ensure_user(config.hub.owner, Role.OWNER, config.hub.owner)
        models = seams.model(await opened.enter_async_context(open_models(config, seams.clock, certificates)))
        builder = ChannelBuilder(seams.clock, certificates)
        yield await _assemble(loaded, seams, opened, store, ring, models, builder, owner, sock)


async def _assemble(
    loaded: Loaded,
    seams: Seams,
    opened: contextlib.AsyncExitStack,
    store: Store,
    ring: VaultKeyRing,
    models: Model,
    builder: ChannelBuilder,
    owner: Principal,
    sock: socket.socket,
) -> App:
    clock, ids = seams.clock, seams.ids
    metrics = Metrics()
    live = Live()
    uploads = FileUploads(loaded.config.hub.data_dir / UPLOADS_NAME, ids)
    webchat = WebChannel(uploads, clock)
    channels = [*builder.all(loaded.config), webchat]
    leaks = build_leaks(loaded.config)
    hooks = configured_hooks(loaded.config, leaks, store, clock, ids)
    manager = ChannelManager(
        channels,
        store,
        clock,
        on_state=live.channel_changed,
        on_send=metrics.sent,
        gate=hooks.gate if hooks is not None else None,
    )
    texts = loaded.config.agent.stream and not (hooks is not None and hooks.show_steps_only)
    previews = TurnPreviews(manager, clock, texts=texts, seen_live=[WEB])
    turns = TurnListeners(seams.turns, previews, live, metrics)
    halt = ToolHalt(halted=await store.tools_halted())

    def notices() -> "Notices":
        from bot.notices import build_notices  # a hub that only answers does not need it

        return build_notices(store, manager, rules, leaks)

    def in_words() -> "RoutinesInWords":
        from bot.routines import build_words  # the first such tool that is used needs it

        return build_words(loaded.config, store, routines, clock, ids)

    tools = build_tools(loaded, store, clock, notices, in_words, seams.lookup)
    servers = build_mcp(loaded, tools, clock)
    pipeline = build_pipeline(loaded.config, tools, clock, leaks, halt, hooks)
    audit = build_audit(loaded, store, pipeline.laws, clock)
    store.watch(ChangeListeners(live, audit))
    models = MeteredModel(models, metrics)
    rules = build_rules(loaded.config, owner, ids, pipeline.laws)
    elsewhere = Elsewhere(store, rules.access, manager, ids)
    delegates = build_chat(
        loaded, store, models, pipeline, manager, turns, clock, ids, leaks, elsewhere, hooks
    )
    runner = ChatTurnRunner(store, delegates, manager, turns, clock, ids)
    actors = await opened.enter_async_context(_releasing(ThreadActors(runner, MAX_CONCURRENT_TURNS), store))
    gathering = AlbumGathering(store, actors, clock, ids)
    acknowledgements = Acknowledgements(store, manager, clock)
    editing = CallEditing(store, pipeline, build_approvals(loaded.config))
    credentials = build_credentials(leaks, ring, clock, ids)

    reply_hook = hooks.replies if hooks is not None else None
    routines = build_routines(
        loaded.config,
        store,
        models,
        pipeline,
        notices,
        manager.open_thread,
        clock,
        ids,
        leaks,
        reply_hook,
    )
    inbound = hooks.inbound(gathering, manager) if hooks is not None else None
    hub = Hub(
        store,
        rules,
        actors,
        manager,
        clock,
        gathering,
        acknowledgements,
        editing,
        credentials,
        routines,
        halt,
        inbound.wake if inbound is not None else nothing_held,
    )
    pairing = PairingDesk(store, ClaimRules(rules.access, ids), manager)

    async def readiness() -> Readiness:
        return await readiness_of(store, hub, manager, servers)

    access = ApiAccess.new(url_of(sock))
    inbox = MeteredInbox(hub, metrics)
    metrics.look_at(
        Gauges(manager.states, manager.waiting, lambda: len(actors.unfinished()), lambda: live.streams)
    )
    login = LoginDesk(store, owner, clock)
    gate = Gate(access.token, owner, store, loaded.config.http.public_url)
    people_reach = gate.public_url or access.url

    def api() -> ASGIApp:
        from bot.api import build_api

        return build_api(
            loaded,
            gate,
            store,
            hub,
            inbox,
            manager,
            builder,
            leaks,
            webchat,
            pipeline,
            editing,
            pairing,
            ring,
            login,
            live,
            uploads,
            readiness,
            routines,
            people_reach,
            clock,
            ids,
        )

    def webhooks() -> ASGIApp:
        from bot.routine_webhooks import build_webhooks

        return build_webhooks(store, routines, ring, clock, ids)

    routes = [
        *health_routes(readiness),
        Mount(f"{API_PATH}/webhooks", app=OnDemand(webhooks)),
        Mount(API_PATH, app=OnDemand(api)),
        *login_routes(login, store, gate),
        *metrics_routes(metrics),
        *channel_routes(manager.routes(inbox)),
        *Console().routes(),
    ]
    web = WebServer(sock, routes)
    opened.enter_context(published(loaded.config.hub.data_dir, access))
    return App(
        url=web.url,
        login_url=lambda: login_url(people_reach, login),
        live=live,
        store=store,
        hub=hub,
        inbox=inbox,
        actors=actors,
        manager=manager,
        web=web,
        expiry=PromptExpiry(store, actors, manager, clock, elsewhere, ids, editing.editable),
        recovery=BootRecovery(store, actors, manager, end_process, clock, ids, gathering),
        previews=previews,
        gathering=gathering,
        acknowledgements=acknowledgements,
        pairing=pairing,
        notices=notices,
        routines=routines,
        beside=hooks.beside(inbound) if hooks is not None else {},
        audit=audit,
        mcp=servers,
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
