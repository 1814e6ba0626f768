"""The hub's program: builds every object once and runs the hub until it is stopped."""

import asyncio
import contextlib
import gc
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from starlette.routing import Mount
from starlette.types import ASGIApp

from bot.assembly import BuildServers, Channels, Tools, Turns
from bot.config.keys import VaultKeyRing
from bot.config.load import Loaded
from bot.config.place import ApiAccess, published
from bot.live import Gauges, Live, MeteredInbox, Metrics
from bot.models.builder import ModelOpener, listed
from bot.operator.exports import ThreadExports
from bot.ops.logs import log_file
from bot.parts import Dependencies, build_mcp, open_store
from bot.platforms import ChannelBuilder
from bot.runtime import Certificates, StartError, ending_signals, listen, needed_to_start, url_of, with_advice
from bot.timers import ScheduledTimers
from bot.tools import SPILL_NAME
from bot.web.auth import AccessRules, LoginService, login_routes, login_url, sign_in_routes
from bot.web.files import REMOVE_EVERY_S, TIDY_EVERY_S, DeletedFiles, FileLinks
from bot.web.health import Readiness, health_routes, metrics_routes, readiness_of
from bot.web.server import Console, OnDemand, WebServer, channel_routes
from channels.channel import Channel
from channels.delivery import OnPosted, unheard
from channels.manager import ChannelManager
from core.audit.linker import LINK_EVERY_S, PRUNE_EVERY_S
from core.clock import SECOND_US, Clock, SystemClock
from core.errors import LeaseLost, SchemaTooNew, SchemaTooOld, StoreLocked, StoreUnavailable
from core.events import TurnListener
from core.ids import Ids, RandomIds
from core.inbound.hub import Hub
from core.jobs.service import JobOutcomes, JobService
from core.lazy import dataclass
from core.model.base import Model
from core.people.pairing import PairingService
from core.ports import Inbox
from core.routines.service import RoutineService
from core.runs.actors import ThreadActors
from core.runs.metering import Metering
from core.runs.recovery import CHECK_EVERY_S, LeaseKeeper, RunRecovery
from core.runs.registry import LOOK_EVERY_S as FAILING_EVERY_S
from core.store.conversations import INDEX_EVERY_S, index_all
from core.store.lease import LEASE_S, RENEWALS, DataDirectoryLock, Leases, LeaseTerms
from core.store.port import Store
from core.tools.execution import CallThreads, Executor, HostExecutor, ToolPause
from core.tools.processes import host_id
from core.users import Role
from core.web import UNINTERCEPTED, Interceptor

if TYPE_CHECKING:
    from bot.mcp.extensions import ExtensionManager
    from channels.telegram.addresses import Timeouts as TelegramTimeouts
    from core.jobs.service import ContainerProbe
    from core.people.notices import Notices
    from core.safety.network import Lookup
    from core.tools.mcp.server import McpServers


# Builds what the hub serves over HTTP.

API_PATH = "/api"


class Serving:
    """The server on a listening socket. What few people ask of it is made by the first who does."""

    def __init__(
        self,
        dependencies: Dependencies,
        channels: Channels,
        tools: Tools,
        turns: Turns,
        sock: socket.socket,
        inbox: Callable[[Inbox], Inbox],
    ) -> None:
        self._dependencies = dependencies
        self._channels = channels
        self._tools = tools
        self._turns = turns
        self.access = ApiAccess.new(url_of(sock))
        self.inbox = MeteredInbox(inbox(turns.hub), dependencies.metrics)
        self.login = LoginService(dependencies.store.keys, dependencies.owner, dependencies.clock)
        self.gate = AccessRules(
            self.access.token,
            dependencies.owner,
            dependencies.store.keys,
            FileLinks(dependencies.clock),
            dependencies.config.http.public_url,
        )
        self.people_reach = self.gate.public_url or self.access.url
        manager, live, actors = channels.manager, dependencies.live, turns.actors
        dependencies.metrics.look_at(
            Gauges(
                manager.states,
                manager.waiting,
                lambda: len(actors.unfinished()),
                lambda: live.streams,
                lambda: len(tools.jobs.unfinished()),
                lambda: dependencies.store.jobs.job_counts(),
            )
        )
        routes = [
            *health_routes(self.readiness, self.gate),
            Mount(f"{API_PATH}/webhooks", app=OnDemand(self._webhooks)),
            Mount(API_PATH, app=OnDemand(self._api)),
            *login_routes(self.login, self.gate),
            *metrics_routes(dependencies.metrics, self.gate),
            *channel_routes(manager.routes(self.inbox)),
            *sign_in_routes(self._tools.sign_ins),
            *Console().routes(),
        ]
        self.web = WebServer(sock, routes)

    def login_url(self) -> str:
        """Return a link that logs one browser in."""
        return login_url(self.people_reach, self.login.new_code())

    async def readiness(self) -> Readiness:
        """Return whether the hub can do its work."""
        return await readiness_of(
            self._dependencies.store, self._turns.hub, self._channels.manager, self._tools.servers
        )

    def _api(self) -> ASGIApp:
        from bot.http_api import build_api

        return build_api(
            self._dependencies,
            self._channels,
            self._tools,
            self._turns,
            self.gate,
            self.login,
            self.inbox,
            self.readiness,
            self.people_reach,
        )

    def _webhooks(self) -> ASGIApp:
        from bot.http_api import build_webhooks

        dependencies = self._dependencies
        return build_webhooks(
            dependencies.store,
            self._tools.routines,
            dependencies.ring,
            dependencies.clock,
            dependencies.ids,
            dependencies.leaks,
        )


logger = logging.getLogger(__name__)

USUAL_COLLECTIONS = (50_000, 20, 100)
"""Fewer looks at new objects than Python's own 700: nearly all that a message leaves behind is freed without
them, and they were a fifteenth of what it costs. A command starts with fewer still (see `bot.__main__`)."""


@dataclass(frozen=True, slots=True)
class Seams:
    """Replacements that a program around the hub may provide.

    `alone`: the hub locks its data directory; without it several hubs work on one database.
    `model`: applied to each configured model, with each of its keys.
    `read_timeout_s`: the longest silence of a model's provider; None for the default.
    `executor`: looks for calls and runs them. `interceptor`: what tools, MCP servers' clients, sign-ins and
    hooks send by HTTP passes it. `inbox`: applied to the hub's own.
    `posted`, `sealed`: called with each part shown on a platform, and with values the vault seals.
    `prepare`: called before anything works.
    `stand_in`: takes the place of each platform's channel. `servers`: builds the clients of MCP servers.
    `probe`: looks at containers before full jobs; None for the Docker daemon.
    `outcomes`: hears of jobs in containers, or ends them.
    """

    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=RandomIds)
    turns: TurnListener | None = None
    store: Callable[[Store], Store] = lambda store: store
    model: Callable[[Model], Model] = lambda model: model
    read_timeout_s: float | None = None
    lookup: "Lookup | None" = None
    telegram: "TelegramTimeouts | None" = None
    alone: bool = True
    lease_s: float = LEASE_S
    executor: Executor = field(default_factory=HostExecutor)
    interceptor: Interceptor = UNINTERCEPTED
    inbox: Callable[[Inbox], Inbox] = lambda inbox: inbox
    posted: OnPosted = unheard
    sealed: Callable[[str], None] = lambda _: None
    prepare: Callable[[Dependencies], Awaitable[None]] | None = None
    stand_in: Callable[[Channel], Channel] | None = None
    servers: BuildServers = build_mcp
    probe: "ContainerProbe | None" = None
    outcomes: JobOutcomes = field(default_factory=JobOutcomes)


@dataclass(frozen=True, slots=True)
class App:
    """The running parts, for the web side and the program's end.

    `alone`: no other hub works on the database. `runs`: what runs until the end, by name.
    """

    alone: bool
    url: str
    login_url: Callable[[], str]
    live: Live
    store: Store
    hub: Hub
    inbox: Inbox
    manager: ChannelManager
    recovery: RunRecovery
    pairing: PairingService
    notices: Callable[[], "Notices"]
    routines: RoutineService
    mcp: "McpServers | None"
    extensions: "ExtensionManager | None"
    timers: ScheduledTimers
    runs: Mapping[str, Callable[[], Coroutine[Any, Any, None]]]


async def serve(
    loaded: Loaded,
    seams: Seams | None = None,
    ready: Callable[[App], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Run the hub until one of `ending_signals`, or `stop`; call `ready` once it serves. Raises StartError if
    it cannot start."""
    stop = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in ending_signals():
        loop.add_signal_handler(number, stop.set)
    try:
        async with build(loaded, seams or Seams()) as app:
            await _run(app, stop, ready)
    except StoreLocked as error:
        raise StartError(str(error)) from error
    except (SchemaTooNew, SchemaTooOld, StoreUnavailable) as error:
        raise StartError(f"{loaded.database}: {with_advice(error)}") from error
    logger.info("hub.stopped")


def _settle_memory() -> None:
    """Free what the start left behind, so that messages find room close together: they take a twentieth less
    time. What was built lives as long as the hub: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*USUAL_COLLECTIONS)


async def _run(app: App, stop: asyncio.Event, ready: Callable[[App], None] | None) -> None:
    if app.extensions is not None:
        await app.extensions.follow()
    if app.mcp is not None and app.alone:
        await app.mcp.end_survivors()
    await app.routines.prepare()
    suspects = await app.recovery.recover()
    await app.timers.load()
    async with asyncio.TaskGroup() as group:
        app.hub.open()
        running = [group.create_task(run(), name=name) for name, run in app.runs.items()]
        running.append(group.create_task(app.recovery.start_suspects(suspects), name="suspects"))
        asyncio.get_running_loop().call_soon(_settle_memory)  # while the channels wait to be connected
        logger.info("hub.serving url=%s", app.url)
        if ready is not None:
            ready(app)
        lost = await _ends(stop, app.store.leases)
        logger.info("hub.stopping")
        app.hub.shut()
        app.live.close()
        for task in running:
            task.cancel()
    if lost:
        raise LeaseLost("another hub has taken over this one's work; nothing of it is done twice")


async def _ends(stop: asyncio.Event, leases: Leases) -> bool:
    """Wait until the hub is to stop; return whether it is because its lease is lost."""
    told, lost = asyncio.ensure_future(stop.wait()), asyncio.ensure_future(leases.lease_lost())
    try:
        await asyncio.wait({told, lost}, return_when=asyncio.FIRST_COMPLETED)
        return lost.done()
    finally:
        told.cancel()
        lost.cancel()


@contextlib.asynccontextmanager
async def build(loaded: Loaded, seams: Seams) -> AsyncIterator[App]:
    """Construct everything; leaving closes it in reverse order."""
    config, clock, ids = loaded.config, seams.clock, seams.ids
    async with contextlib.AsyncExitStack() as opened:
        with needed_to_start(config.hub.data_dir, "make it writable, or set another [hub] data_dir"):
            if seams.alone:
                opened.enter_context(DataDirectoryLock(config.hub.data_dir))
            opened.enter_context(log_file(config))
        sock = listen(config.http.host, config.http.port)
        opened.callback(sock.close)
        certificates = Certificates()
        ring = VaultKeyRing(config.hub.data_dir, loaded.environment, seams.sealed)
        ring.require_sound()
        store = seams.store(await opened.enter_async_context(open_store(config, ring, clock, ids)))
        terms = LeaseTerms(host_id(), int(seams.lease_s * SECOND_US), seams.alone)
        await store.leases.take_lease(terms)
        owner = await store.people.ensure_user(config.hub.owner, Role.OWNER, config.hub.owner)
        pause = ToolPause(paused=await store.kill_switch.tools_paused())
        asyncio.get_running_loop().set_default_executor(CallThreads(thread_name_prefix="asyncio"))
        metrics = Metrics()
        opener = ModelOpener(
            clock, certificates, ids, opened, seams.model, seams.read_timeout_s, loaded.environment
        )
        models = await listed(opener, config, clock, Metering(store.usage, clock, ids, metrics.model_called))
        timers, url = ScheduledTimers(clock), url_of(sock)
        dependencies = Dependencies(
            loaded, store, owner, ring, models, opener, metrics, clock, timers, ids, seams.interceptor, url
        )
        if dependencies.hooks is not None:
            opened.push_async_callback(dependencies.hooks.unfinished.finish)
        if seams.prepare is not None:
            await seams.prepare(dependencies)
        exports = ThreadExports(store, lambda name: tools.pipeline.sensitive(name))
        builder = ChannelBuilder(
            clock, certificates, exports.read, loaded.closed, seams.telegram, seams.stand_in
        )
        channels = Channels(dependencies, builder, seams.turns, seams.posted)
        tools = Tools(
            dependencies,
            channels,
            pause,
            seams.lookup,
            seams.executor,
            seams.servers,
            seams.probe,
            seams.outcomes,
            seams.alone,
        )
        opened.push_async_callback(tools.close)
        turns = Turns(dependencies, channels, tools)
        await opened.enter_async_context(_releasing(turns.actors, (tools.routines, tools.jobs), store))
        serving = Serving(dependencies, channels, tools, turns, sock, seams.inbox)
        opened.enter_context(published(config.hub.data_dir, serving.access))
        _keep_lease(dependencies, channels, turns, seams.lease_s)
        yield _app(dependencies, channels, tools, turns, serving, seams)


def _set_timers(dependencies: Dependencies, channels: Channels, tools: Tools, turns: Turns) -> None:
    """Set what the hub does again and again; routines set their own timers."""
    timers = dependencies.timers
    timers.every("gates.deadlines", CHECK_EVERY_S, turns.expiry.look)
    timers.every("uploads.tidy", TIDY_EVERY_S, channels.uploads.tidy)
    config = dependencies.config
    deleted = DeletedFiles(
        dependencies.store.threads,
        channels.uploads,
        tools.pipeline.workspace_of(dependencies.owner).root,
        config.hub.data_dir / SPILL_NAME,
    )
    timers.every("threads.deleted", REMOVE_EVERY_S, deleted.look)
    timers.every("audit.linking", LINK_EVERY_S, tools.audit.look)
    timers.every("audit.retention", PRUNE_EVERY_S, tools.audit.prune)
    timers.every("tools.failing", FAILING_EVERY_S, tools.failing.look)
    timers.every("search.index", INDEX_EVERY_S, lambda: index_all(dependencies.store.threads))
    if dependencies.hooks is not None:
        dependencies.hooks.set_timers(timers)


def _keep_lease(dependencies: Dependencies, channels: Channels, turns: Turns, lease_s: float) -> None:
    keeper = LeaseKeeper(dependencies.store.leases, turns.recovery, channels.manager.take_over)
    dependencies.timers.every("lease.renewal", lease_s / RENEWALS, keeper.renew)
    dependencies.timers.every("lease.takeover", lease_s / RENEWALS, keeper.look)


def _app(
    dependencies: Dependencies, channels: Channels, tools: Tools, turns: Turns, serving: Serving, seams: Seams
) -> App:
    _set_timers(dependencies, channels, tools, turns)
    runs = {
        "channels": lambda: channels.manager.run(serving.inbox),
        "previews": channels.previews.run,
        "albums": turns.gathering.run,
        "acknowledgements": turns.acknowledgements.run,
        "routines": tools.routines.run,
        "audit": tools.audit.run,
        "web": serving.web.run,
        "timers": dependencies.timers.run,
        **turns.beside,
    }
    if dependencies.config.jobs.enabled:
        runs["jobs"] = tools.jobs.run
    runs |= {"sign-ins": tools.sign_ins.run, "settings": tools.settings.run}
    if tools.servers is not None:
        runs["mcp"] = tools.servers.run
    if tools.extensions is not None:
        runs["extensions"] = tools.extensions.run
    return App(
        alone=seams.alone,
        url=serving.web.url,
        login_url=serving.login_url,
        live=dependencies.live,
        store=dependencies.store,
        hub=turns.hub,
        inbox=serving.inbox,
        manager=channels.manager,
        recovery=turns.recovery,
        pairing=turns.pairing,
        notices=tools.notices,
        routines=tools.routines,
        mcp=tools.servers,
        extensions=tools.extensions,
        timers=dependencies.timers,
        runs=runs,
    )


@contextlib.asynccontextmanager
async def _releasing(
    actors: ThreadActors, others: Sequence[RoutineService | JobService], store: Store
) -> AsyncIterator[ThreadActors]:
    """Release runs that an orderly stop cuts short, so that they count as no crash. While the store
    takes no writes, they count as one."""
    unfinished: list[str] = []
    try:
        async with actors:
            try:
                yield actors
            finally:
                unfinished = [*actors.unfinished(), *(run for kind in others for run in kind.unfinished())]
    finally:
        if unfinished:
            try:
                await store.recovery.release_runs(unfinished)
            except StoreUnavailable as error:
                logger.warning("run.release_failed count=%d error=%s", len(unfinished), error)
