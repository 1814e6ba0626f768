"""Builds the parts from the configuration; the channels are built in bot.platforms."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from bot.config.keys import VaultKeyRing, hub_key
from bot.config.load import Loaded
from bot.config.schema import Config, secret_values
from bot.config.schema import Model as ModelSettings
from bot.config.types import DATABASE_NAME
from bot.live import Live
from bot.ops.metrics import MeteredModel, Metrics
from bot.runtime import HTTPX_COMMAND_LINE, Certificates, StartError, left_out, needed_to_start
from bot.timers import ScheduledTimers
from bot.tools import build_approvals, build_effective_policy, vote_rule, workspace_of
from channels.manager import ChannelManager
from channels.webchat import WEB
from core.approvals import ApprovalSettings
from core.audit.linker import HEADS_NAME, AuditLinker, HeadFile
from core.clock import Clock
from core.consent.rules import EffectivePolicy
from core.errors import VaultError
from core.events import TurnListener
from core.ids import Ids
from core.inbound.commands import ModelsOf, SkillsOf, no_models, no_skills
from core.inbound.credentials import InboundCredentials
from core.inbound.judge import InboundRules
from core.inbound.sessions import SessionManager
from core.model.base import Model, Price, Thinking, ThinkingStyle
from core.model.catalog import KnownModel, known_model
from core.model.demo import DemoModel
from core.people.access import Access, ChannelAccess, DirectMode, GroupMode
from core.people.notices import ApproverCopies, Notices
from core.runs.chat import ChatDelegate
from core.runs.context import ChatPrompts
from core.runs.model_list import ConfiguredModel, ModelList
from core.runs.registry import Run
from core.runs.runner import DelegateFactory
from core.runs.services import ChatServices, ChatSettings, GuestAllowance
from core.runs.workspace_texts import WorkspaceTexts
from core.safety.fencing import ResultLimits
from core.safety.leaks import LeakDetector
from core.store.facets import SealedSecret
from core.store.feed import ChangeListener, Changes
from core.store.port import Store
from core.store.rows import LoadedTurn
from core.store.sqlite.store import open_store as open_sqlite
from core.tools.execution import ToolPause
from core.tools.pipeline import CallPipeline, PipelineSettings
from core.tools.registry import ToolRegistry
from core.users import Principal

if TYPE_CHECKING:
    import httpx

    from bot.hooks import Hooks
    from core.tools.mcp.server import McpServers


# Builds what keeps credentials out of conversations.


def build_leaks(config: Config) -> LeakDetector:
    """Return the detector of secrets: the configuration's own, and texts shaped like one."""
    return LeakDetector(secret_values(config))


def build_credentials(leaks: LeakDetector, ring: VaultKeyRing, clock: Clock, ids: Ids) -> InboundCredentials:
    """Build the part that moves credentials from people's messages into the vault."""

    def seal(name: str, value: str) -> SealedSecret:
        try:
            return ring.keys_to_seal().seal(name, value, clock.now())
        except StartError as error:
            raise VaultError(str(error)) from error

    return InboundCredentials(leaks, seal, ids)


# Whether there are hooks: who has none loads nothing of them.


def holds_inputs(config: Config) -> bool:
    """Return whether messages wait for hooks before a turn takes them."""
    return any("before_inbound" in hook.on for hook in config.hooks)


def configured_hooks(
    loaded: Loaded, leaks: LeakDetector, store: Store, models: ModelList, clock: Clock, ids: Ids
) -> "Hooks | None":
    """Build the configured hooks, or return None. Raises StartError for one that doesn't exist or must
    not be called."""
    if not loaded.config.hooks and not loaded.config.sessions.summary:
        return None
    from bot.hooks import build_hooks

    return build_hooks(loaded, leaks, store, models, clock, ids)


# What every part of a running hub stands on.


class Dependencies:
    """The configuration, the open store, its owner, models, time, timers, ids and keys; who watches; what
    must not get out.

    Raises StartError for a hook that is not there, or must not be asked.
    """

    def __init__(
        self,
        loaded: Loaded,
        store: Store,
        owner: Principal,
        ring: VaultKeyRing,
        models: ModelList,
        metrics: Metrics,
        clock: Clock,
        timers: ScheduledTimers,
        ids: Ids,
    ) -> None:
        self.loaded = loaded
        self.config: Config = loaded.config
        self.store = store
        self.owner = owner
        self.ring = ring
        self.clock = clock
        self.ids = ids
        self.timers = timers
        self.metrics = metrics
        self.models = models
        self.live = Live()
        self.leaks = build_leaks(loaded.config)
        self.texts = WorkspaceTexts(workspace_of(loaded), self.leaks, self.config.workspace.trusted_skills)
        self.hooks: Hooks | None = configured_hooks(loaded, self.leaks, store, self.models, clock, ids)


@contextlib.asynccontextmanager
async def open_store(config: Config, ring: VaultKeyRing, clock: Clock, ids: Ids) -> AsyncIterator[Store]:
    """Open the database in the data directory. Its audit is sealed by keys derived from the vault's."""
    database = config.hub.data_dir / DATABASE_NAME
    store = await open_sqlite(
        database, clock, ids, queue=config.agent.queue, chain=ring, holds_inputs=holds_inputs(config)
    )
    try:
        yield store
    finally:
        await store.close()


@contextlib.asynccontextmanager
async def open_models(
    config: Config,
    clock: Clock,
    certificates: Certificates,
    metrics: Metrics,
    wrapped: Callable[[Model], Model],
    read_timeout_s: float | None,
) -> AsyncIterator[ModelList]:
    """Open the configured models in order; their calls are counted.

    `read_timeout_s`: see `open_each_model`."""

    def metered(model: Model) -> Model:
        return MeteredModel(wrapped(model), metrics)

    async with open_each_model(config, clock, certificates, read_timeout_s) as models:
        configured = [
            ConfiguredModel(
                settings.name,
                settings.provider,
                per_key[0].abilities.context_tokens or config.agent.context_tokens,
                tuple(map(metered, per_key)),
                _known(settings).price,
                Thinking(settings.thinking),
            )
            for settings, per_key in zip(config.models, models, strict=True)
        ]
        yield ModelList(configured, clock)


@contextlib.asynccontextmanager
async def open_each_model(
    config: Config, clock: Clock, certificates: Certificates, read_timeout_s: float | None = None
) -> AsyncIterator[Sequence[Sequence[Model]]]:
    """Open the configured models in order, each once for each of its keys, on one HTTP client.

    `read_timeout_s`: the longest silence of a provider; None for the default of `model_client`."""
    remote = [settings for settings in config.models if settings.provider != "demo"]
    async with contextlib.AsyncExitStack() as opened:
        client = None
        if remote:
            with left_out(HTTPX_COMMAND_LINE):
                from core.model.http import READ_TIMEOUT_S, model_client
            contexts = [certificates.for_url(settings.api_url) for settings in remote]
            tls = next((context for context in contexts if context is not None), None)
            client = await opened.enter_async_context(
                model_client(
                    tls=tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                    read_timeout_s=read_timeout_s or READ_TIMEOUT_S,
                )
            )
        yield [[_model(settings, key, client, clock) for key in settings.keys] for settings in config.models]


def _model(settings: ModelSettings, key: str, client: "httpx.AsyncClient | None", clock: Clock) -> Model:
    if settings.provider == "demo" or client is None:
        return DemoModel(settings.name)
    if settings.provider == "anthropic":
        from core.model.anthropic import AnthropicModel as provider_model
    else:
        from core.model.openai import OpenAIModel as provider_model
    known = _known(settings)
    try:
        return provider_model(
            name=settings.name,
            model=settings.model,
            base_url=settings.api_url,
            api_key=key,
            client=client,
            clock=clock,
            abilities=known.abilities,
            thinking=Thinking(settings.thinking),
        )
    except ValueError as error:
        raise StartError(f"{error}; fix its [[models]] section") from error


def _sees(settings: ModelSettings) -> bool:
    """Return whether a configured model sees images."""
    return settings.provider != "demo" and _known(settings).abilities.images


def _known(settings: ModelSettings) -> KnownModel:
    """Return the limits, abilities and price of a model: those configured, else those in the table."""
    known = known_model(settings.provider, settings.model)
    written = {
        "context_tokens": settings.context_tokens,
        "max_output_tokens": settings.max_output_tokens,
        "images": settings.images,
        "max_temperature": settings.max_temperature,
    }
    able = replace(known.abilities, **{name: value for name, value in written.items() if value is not None})
    style = able.thinking
    if (
        style is ThinkingStyle.NONE and settings.thinking != "off"
    ):  # an operator who asks for it knows that it thinks
        style = ThinkingStyle.ADAPTIVE if settings.provider == "anthropic" else ThinkingStyle.EFFORT
    able = replace(able, max_temperature=able.max_temperature or None, thinking=style)
    price = known.price
    if settings.priced:
        price = Price(settings.input_usd_per_million, settings.output_usd_per_million)
    return KnownModel(able, price)


def build_rules(
    config: Config,
    owner: Principal,
    ids: Ids,
    effective_policy: EffectivePolicy,
    models: ModelsOf = no_models,
    skills: SkillsOf = no_skills,
) -> InboundRules:
    """Return who may speak where, the rate limits, and the queue limits."""
    identities = [identity.split(":", 1) for identity in config.hub.owner_identities]
    access = Access(
        owner=owner,
        owner_identities=frozenset((channel, person) for channel, person in identities),
        proven=frozenset({(WEB, owner.user_id)}),
        channels={
            name: ChannelAccess(
                DirectMode(channel.direct), GroupMode(channel.groups), frozenset(channel.allow)
            )
            for name, channel in config.channels.items()
        },
        sender_per_minute=config.access.sender_per_minute,
    )
    return InboundRules(
        access,
        SessionManager(ids),
        ids,
        config.agent.max_waiting,
        effective_policy,
        config.hub.timezone,
        models,
        skills,
    )


def build_pipeline(
    loaded: Loaded,
    tools: ToolRegistry,
    clock: Clock,
    leaks: LeakDetector,
    pause: ToolPause,
    hooks: "Hooks | None",
) -> CallPipeline:
    """Build the path that every call takes."""
    hook = None if hooks is None else hooks.calls
    return CallPipeline(tools, _pipeline_settings(loaded, leaks), clock, pause, hook)


def build_mcp(configured: Loaded, tools: ToolRegistry, clock: Clock) -> "McpServers | None":
    """Build the clients of the configured MCP servers; None without any."""
    if not configured.config.mcp:
        return None
    from bot.mcp.build import build_servers

    return build_servers(configured, tools, clock)


def build_chat(
    dependencies: Dependencies,
    pipeline: CallPipeline,
    manager: ChannelManager,
    turns: TurnListener,
    approver_copies: ApproverCopies,
    prompts: ChatPrompts,
) -> DelegateFactory:
    """Return the factory of chat turns' delegates."""
    config, hooks = dependencies.config, dependencies.hooks
    with needed_to_start(config.workspace.dir, "make it a directory, or set another [workspace] dir"):
        config.workspace.dir.mkdir(parents=True, exist_ok=True)
    guests = GuestAllowance(
        dependencies.store.people,
        dependencies.clock,
        config.hub.timezone,
        config.roles.guest.daily_model_calls,
    )
    services = ChatServices(
        dependencies.store,
        dependencies.models,
        pipeline,
        manager,
        turns,
        dependencies.clock,
        dependencies.ids,
        dependencies.leaks,
        approver_copies,
        guests,
        prompts,
        manager if any(map(_sees, config.models)) else None,
    )
    if hooks is not None:
        services = replace(
            services,
            reply_hook=hooks.replies,
            answer_hook=hooks.answers,
            tells_text=not hooks.show_steps_only,
        )
    settings = _chat_settings(config)

    def delegate(loaded: LoadedTurn, run: Run) -> ChatDelegate:
        return ChatDelegate(services, settings, loaded, run)

    return delegate


def _pipeline_settings(loaded: Loaded, leaks: LeakDetector) -> PipelineSettings:
    config, approvals = loaded.config, loaded.config.approvals
    return PipelineSettings(
        effective_policy=build_effective_policy(config),
        binding_key=hub_key(config.hub.data_dir),
        workspace=workspace_of(loaded),
        tool_timeout_s=approvals.tool_timeout_s,
        tool_timeouts_s=dict(approvals.tool_timeouts),
        result_limits=ResultLimits(leaks=leaks),
    )


def _chat_settings(config: Config) -> ChatSettings:
    approvals = config.approvals
    return ChatSettings(
        context_tokens=config.agent.context_tokens,
        reserve_tokens=config.agent.reserve_tokens,
        temperature=config.agent.temperature,
        gate_expires_after_s=int(approvals.expires_after_s),
        rule=vote_rule(config),
        approvals=build_approvals(config),
    )


# Builds what chains the audit of a running hub, and says what is recorded of the operator's rules.


def build_audit(loaded: Loaded, store: Store, effective_policy: EffectivePolicy, clock: Clock) -> AuditLinker:
    """Build this hub's audit linker. A changed policy file is recorded as soon as a call was judged by
    it."""
    config = loaded.config
    linker = AuditLinker(
        store.audit,
        HeadFile(config.hub.data_dir / HEADS_NAME),
        clock,
        lambda: laid_down(config, effective_policy),
        keep_days=config.audit.keep_days,
    )
    loop = asyncio.get_running_loop()
    effective_policy.watch(lambda: loop.call_soon_threadsafe(linker.policy_changed))
    return linker


class ChangeListeners:
    """Tells several of each commit, one after the other."""

    def __init__(self, *listeners: ChangeListener) -> None:
        self._listeners = listeners

    def changed(self, changes: Changes) -> None:
        for listener in self._listeners:
            listener.changed(changes)


def laid_down(config: Config, effective_policy: EffectivePolicy) -> dict[str, Any]:
    """Return the operator's settings of tools and consent, as plain JSON values."""
    admin = effective_policy.policy().admin
    return {
        "owner": config.hub.owner,
        "owner_identities": list(config.hub.owner_identities),
        "approvals": config.approvals.model_dump(mode="json"),
        "roles": config.roles.model_dump(mode="json"),
        "teams": {name: list(team.users) for name, team in config.teams.items()},
        "policy": {
            "unreadable": admin.unreadable,
            "disabled": sorted(admin.disabled),
            "disabled_for": {user: sorted(tools) for user, tools in admin.disabled_for.items()},
            "ceiling": _bounds(admin.ceiling),
            "ceiling_for": {user: _bounds(ceiling) for user, ceiling in admin.ceiling_for.items()},
        },
    }


def _bounds(settings: ApprovalSettings) -> dict[str, Any]:
    return {name: value for name, value in asdict(settings).items() if value is not None}


# What tells people something of the hub's own accord; loaded by the first who has something to tell.


def build_notices(store: Store, manager: ChannelManager, rules: InboundRules, leaks: LeakDetector) -> Notices:
    """Build the sender of notices through all channels."""
    return Notices(store, manager, manager, rules.access, in_threads=[WEB], leaks=leaks)
