"""Builds the parts from the configuration; the channels are built in bot.platforms."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.certificates import Certificates
from bot.config import Loaded
from bot.errors import StartError, needed_to_start
from bot.ground import Ground
from bot.hooked import holds_inputs
from bot.imports import HTTPX_COMMAND_LINE, left_out
from bot.keys import hub_key
from bot.places import DATABASE_NAME
from bot.settings import Config
from bot.settings import Model as ModelSettings
from bot.tools import build_approvals, build_laws, vote_rule
from bot.vault_keys import VaultKeyRing
from channels.webchat import WEB
from core.agent.allowance import GuestAllowance
from core.agent.chat import ChatDelegate
from core.agent.runner import DelegateFactory
from core.agent.services import ChatServices, ChatSettings
from core.clock import Clock
from core.consent.laws import ConsentLaws
from core.conversation.access import Access, ChannelAccess, DirectMode, GroupMode
from core.conversation.elsewhere import Elsewhere
from core.conversation.judging import HouseRules
from core.conversation.sessions import SessionManager
from core.events import TurnListener
from core.ids import Ids
from core.model.base import Model
from core.model.demo import DemoModel
from core.model.failover import FailoverModel
from core.model.retry import RetryingModel
from core.ports import OutboxListener
from core.safety.leaks import LeakDetector
from core.safety.limits import ResultLimits
from core.store.base import Store
from core.store.rows import LoadedTurn
from core.store.sqlite.store import SqliteStore
from core.tools.halt import ToolHalt
from core.tools.pipeline import CallPipeline, PipelineSettings
from core.tools.registry import ToolRegistry
from core.users import Principal

if TYPE_CHECKING:
    import httpx

    from bot.hooks import Hooks
    from core.tools.mcp.server import McpServers

SPILL_NAME = "outputs"


@contextlib.asynccontextmanager
async def open_store(config: Config, ring: VaultKeyRing, clock: Clock, ids: Ids) -> AsyncIterator[Store]:
    """The database in the data directory; its audit is sealed by keys that come from the vault's."""
    database = config.hub.data_dir / DATABASE_NAME
    store = await SqliteStore.open(
        database, clock, ids, queue=config.agent.queue, chain=ring, holds_inputs=holds_inputs(config)
    )
    try:
        yield store
    finally:
        await store.close()


@contextlib.asynccontextmanager
async def open_models(config: Config, clock: Clock, certificates: Certificates) -> AsyncIterator[Model]:
    """The configured models in order, each retried, as one that falls back."""
    async with open_each_model(config, clock, certificates) as models:
        yield models[0] if len(models) == 1 else FailoverModel("models", models)


@contextlib.asynccontextmanager
async def open_each_model(
    config: Config, clock: Clock, certificates: Certificates
) -> AsyncIterator[Sequence[Model]]:
    """The configured models in order, on one HTTP client."""
    remote = [settings for settings in config.models if settings.provider != "demo"]
    async with contextlib.AsyncExitStack() as opened:
        client = None
        if remote:
            with left_out(HTTPX_COMMAND_LINE):
                from core.model.http import model_client
            contexts = [certificates.for_url(settings.base_url) for settings in remote]
            tls = next((context for context in contexts if context is not None), None)
            client = await opened.enter_async_context(
                model_client(tls=tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
            )
        yield [_model(settings, client, clock) for settings in config.models]


def _model(settings: ModelSettings, client: "httpx.AsyncClient | None", clock: Clock) -> Model:
    if settings.provider == "demo" or client is None:
        return DemoModel(settings.name)
    from core.model.openai import OpenAIModel

    try:
        model = OpenAIModel(
            name=settings.name,
            model=settings.model,
            base_url=settings.base_url,
            api_key=settings.api_key.get_secret_value(),
            client=client,
            clock=clock,
        )
    except ValueError as error:
        raise StartError(f"{error}; correct its [[models]] section") from error
    retrying = RetryingModel(model, clock)
    if not settings.priced:
        return retrying
    from core.model.pricing import Price, PricedModel  # few hubs know prices

    return PricedModel(retrying, Price(settings.input_usd_per_million, settings.output_usd_per_million))


def build_rules(config: Config, owner: Principal, ids: Ids, laws: ConsentLaws) -> HouseRules:
    """Who may speak where, how fast, and how much may wait."""
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
    return HouseRules(access, SessionManager(ids), ids, config.agent.max_waiting, laws)


def build_pipeline(
    config: Config,
    tools: ToolRegistry,
    clock: Clock,
    leaks: LeakDetector,
    halt: ToolHalt,
    hooks: "Hooks | None",
) -> CallPipeline:
    """The one path of every call."""
    hook = None if hooks is None else hooks.calls
    return CallPipeline(tools, _pipeline_settings(config, leaks), clock, halt, hook)


def build_mcp(configured: Loaded, tools: ToolRegistry, clock: Clock) -> "McpServers | None":
    """The servers that bring further tools; None where none is configured."""
    if not configured.config.mcp:
        return None
    from bot.mcp.build import build_servers

    return build_servers(configured, tools, clock)


def build_chat(
    ground: Ground,
    model: Model,
    pipeline: CallPipeline,
    outbox: OutboxListener,
    turns: TurnListener,
    elsewhere: Elsewhere,
) -> DelegateFactory:
    """What makes the delegate of every chat turn."""
    config, hooks = ground.config, ground.hooks
    with needed_to_start(config.workspace.dir, "make it a directory, or set another [workspace] dir"):
        config.workspace.dir.mkdir(parents=True, exist_ok=True)
    guests = GuestAllowance(
        ground.store, ground.clock, config.hub.timezone, config.roles.guest.daily_model_calls
    )
    services = ChatServices(
        ground.store,
        model,
        pipeline,
        outbox,
        turns,
        ground.clock,
        ground.ids,
        ground.leaks,
        elsewhere,
        guests,
    )
    if hooks is not None:
        services = replace(
            services,
            reply_hook=hooks.replies,
            answer_hook=hooks.answers,
            tells_text=not hooks.show_steps_only,
        )
    settings = _chat_settings(config)

    def delegate(loaded: LoadedTurn) -> ChatDelegate:
        return ChatDelegate(services, settings, loaded)

    return delegate


def _pipeline_settings(config: Config, leaks: LeakDetector) -> PipelineSettings:
    approvals = config.approvals
    return PipelineSettings(
        laws=build_laws(config),
        binding_key=hub_key(config.hub.data_dir),
        workspace=str(config.workspace.dir),
        tool_timeout_s=approvals.tool_timeout_s,
        tool_timeouts_s=dict(approvals.tool_timeouts),
        result_limits=ResultLimits(config.hub.data_dir / SPILL_NAME, leaks=leaks),
    )


def _chat_settings(config: Config) -> ChatSettings:
    approvals = config.approvals
    return ChatSettings(
        system_prompt=config.agent.system_prompt,
        timezone=config.hub.timezone,
        context_tokens=config.agent.context_tokens,
        reserve_tokens=config.agent.reserve_tokens,
        prompt_expires_after_s=int(approvals.expires_after_s),
        rule=vote_rule(config),
        approvals=build_approvals(config),
    )
