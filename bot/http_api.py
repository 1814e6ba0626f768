"""Puts the API and the webhooks of routines together, when the first request for them comes."""

import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from bot.assembly import Channels, Tools, Turns
from bot.config.keys import VaultKeyRing, secret_of
from bot.config.schema import Config
from bot.jobs.builder import build_registry
from bot.models.builder import ModelOpener, listed
from bot.operator.exports import AuditLog
from bot.operator.settings import SettingsService
from bot.ops.model_trial import Trial, try_each, try_model
from bot.parts import Dependencies
from bot.routines.service import routines_api
from bot.runtime import AdminError, Certificates, StartError, version
from bot.tools import places_of, workspace_of
from bot.views import ChannelView, ServerView, StatusView, TimerView
from bot.web.accounts import Accounts
from bot.web.answers import ApprovalsApi
from bot.web.api import ApiParts, api
from bot.web.auth import AccessRules, LoginService
from bot.web.channel_setup import ChannelSetupApi
from bot.web.extensions import CatalogApi, ExtensionsApi
from bot.web.health import Readiness
from bot.web.items import Presenter
from bot.web.jobs_api import JobsApi
from bot.web.operations import SettingsFileApi, SystemApi, UsageApi
from bot.web.threads import PromptsApi
from bot.web.webhooks import WebhookEndpoint
from core.clock import Clock, Timers
from core.ids import Ids
from core.lazy import LazyModule
from core.ports import Inbox
from core.routines.service import RoutineService
from core.routines.webhooks import Webhooks
from core.safety.leaks import LeakDetector
from core.safety.paths import SentFiles, guard_of
from core.store.port import Store

if TYPE_CHECKING:
    from bot.jobs import worker_image
else:
    worker_image = LazyModule("bot.jobs.worker_image")

# The hub at a glance, for `GET /api/status`.


async def status(
    store: Store,
    readiness: Callable[[], Awaitable[Readiness]],
    timers: Timers,
    at_work: int,
    changed: Sequence[str],
) -> StatusView:
    """Return the hub's parts, their states, the number of open gates and of conversations at work."""
    state = await readiness()
    channels = {
        name: ChannelView(state=channel.state, reason=channel.reason, since=channel.since)
        for name, channel in state.channels.items()
    }
    return StatusView(
        version=version(),
        ready=state.ready,
        hub=state.hub,
        store=state.store,
        channels=channels,
        mcp={
            name: ServerView(
                state=server.state,
                reason=server.reason,
                since=server.since,
                tools=server.tools,
                refused=dict(server.refused),
            )
            for name, server in state.mcp.items()
        },
        approvals=len(await store.gates.open_gates()),
        pairing_requests=len(await store.people.pairing_requests()),
        at_work=at_work,
        timers=tuple(map(TimerView.of, timers.listing())),
        changed=tuple(changed),
    )


def build_api(
    dependencies: Dependencies,
    channels: Channels,
    tools: Tools,
    turns: Turns,
    gate: AccessRules,
    login: LoginService,
    inbox: Inbox,
    readiness: Callable[[], Awaitable[Readiness]],
    url: str,
) -> ASGIApp:
    """Build the application below `/api` of a running hub. `url`: its public address."""
    loaded, store, clock, ids = dependencies.loaded, dependencies.store, dependencies.clock, dependencies.ids
    reloading = tools.reloading

    def tool_names() -> Collection[str]:
        return tools.tool_registry.names

    async def told() -> StatusView:
        changed = await reloading.changed()
        return await status(store, readiness, dependencies.timers, turns.actors.at_work, changed)

    def sandbox_problem() -> Awaitable[str | None]:
        return worker_image.sandbox_problem(loaded.environment, loaded.config.sandbox)

    settings = SettingsService(
        store, dependencies.ring, tool_names, clock, gate.owner.user_id, tools.pause, reloading
    )
    parts = ApiParts(
        store=store,
        hub=turns.hub,
        accounts=Accounts(turns.pairing, gate.owner),
        approvals=ApprovalsApi(
            store.feed,
            inbox,
            Presenter(tools.pipeline.sensitive, dependencies.model_names),
            clock,
            ids,
            tools.editing,
        ),
        settings=settings,
        channel_setup=ChannelSetupApi(tools.settings, settings, store.secrets),
        settings_file=SettingsFileApi(tools.settings, lambda config: trial(dependencies, config)),
        reloading=reloading,
        web=channels.webchat,
        live=dependencies.live,
        login=login,
        uploads=channels.uploads,
        sent=SentFiles((guard_of(workspace_of(loaded)),), places_of(loaded).people),
        states=channels.manager.states,
        platforms={name: channel.platform for name, channel in dependencies.config.channels.items()},
        status=told,
        routines=routines_api(
            dependencies.config,
            store,
            tools.routines,
            clock,
            ids,
            lambda: tools.pipeline,
            dependencies.leaks,
        ),
        jobs=JobsApi(
            lambda: build_registry(dependencies.config, store, tools.pipeline, ids, dependencies.leaks),
            store.threads,
        ),
        sensitive=tools.pipeline.sensitive,
        effective_policy=tools.pipeline.effective_policy,
        prompts=PromptsApi(store, tools.prompts, lambda: tools.pipeline, clock),
        catalog=CatalogApi(store, tools.tool_registry, tools.pipeline, loaded),
        extensions=ExtensionsApi(store, dependencies.config, gate.owner, tools.extensions),
        usage=UsageApi(store, clock, ids, dependencies.config, dependencies.models),
        audit=AuditLog(loaded.database, dependencies.ring, store),
        system=SystemApi(loaded, told, sandbox_problem, gate, clock, dependencies.live, store.audit),
        url=url,
        clock=clock,
        ids=ids,
        timezone=dependencies.config.hub.timezone,
        models=dependencies.model_names,
    )
    return api(parts, gate)


async def trial(of: Dependencies, config: Config) -> Sequence[Trial]:
    """Try the models of a configuration that is not in use. Raises AdminError."""
    async with contextlib.AsyncExitStack() as opened:
        opener = ModelOpener(of.clock, Certificates(), of.ids, opened, environment=of.loaded.environment)
        try:
            models = await listed(opener, config, of.clock, of.models.metering)
        except StartError as error:
            raise AdminError("refused", str(error)) from error
        return await try_each(models, of.owner.user_id, of.ids.row_id(), try_model)


# Puts the webhooks together. Imported when the first request comes for one (see bot.web.server).


def build_webhooks(
    store: Store,
    service: RoutineService,
    ring: VaultKeyRing,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector,
) -> ASGIApp:
    """Build the application below `/api/webhooks`."""

    secret = partial(secret_of, ring, store.secrets, clock)
    return WebhookEndpoint(
        Webhooks(store.runs, service.webhook, secret, service.fired, clock, ids, leaks), clock
    )
