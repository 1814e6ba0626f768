"""Builds the parts from the configuration. Platforms are imported only when they are configured."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config import DATABASE_NAME, Loaded
from bot.errors import StartError, needed_to_start
from bot.imports import HTTPX_COMMAND_LINE, PASSPORT_CRYPTOGRAPHY, left_out
from bot.keys import hub_key
from bot.settings import ChannelSection, Config, DiscordChannel, SlackChannel, TelegramChannel
from bot.settings import Model as ModelSettings
from bot.tools import build_laws, build_tools
from bot.web.channels import CHANNELS_PATH
from channels.channel import Channel
from channels.webchat import WEB
from core import texts
from core.agent.chat import ChatDelegate
from core.agent.runner import DelegateFactory
from core.agent.services import ChatServices, ChatSettings
from core.clock import Clock
from core.conversation.access import Access, ChannelAccess, DirectMode, GroupMode
from core.conversation.judging import HouseRules
from core.conversation.sessions import SessionManager
from core.errors import ToolDenied, ToolFailed
from core.events import TurnListener
from core.ids import Ids
from core.model.base import Model
from core.model.demo import DemoModel
from core.model.failover import FailoverModel
from core.model.retry import RetryingModel
from core.ports import OutboxListener
from core.prompts import VoteRule
from core.safety.leaks import LeakDetector
from core.safety.limits import ResultLimits
from core.safety.paths import PathGuard
from core.store.base import Store
from core.store.rows import LoadedTurn
from core.store.sqlite import SqliteStore
from core.tools.pipeline import CallPipeline, PipelineSettings
from core.users import Principal

if TYPE_CHECKING:
    import httpx

SPILL_NAME = "outputs"


@contextlib.asynccontextmanager
async def open_store(config: Config, clock: Clock, ids: Ids) -> AsyncIterator[Store]:
    """The database in the data directory."""
    store = await SqliteStore.open(config.hub.data_dir / DATABASE_NAME, clock, ids, queue=config.agent.queue)
    try:
        yield store
    finally:
        await store.close()


class Certificates:
    """One TLS context for all clients, made when the first of them needs it: loading the authorities takes
    a tenth of a second, and plain http needs none."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext | None = None

    def for_url(self, url: str) -> ssl.SSLContext | None:
        """The context to talk to that address with; None for plain http."""
        if url.lower().startswith("http:"):
            return None
        if self._context is None:
            from core.model.http import tls_context

            self._context = tls_context()
        return self._context


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
    return RetryingModel(model, clock)


def build_channels(config: Config, clock: Clock, certificates: Certificates) -> list[Channel]:
    """One adapter per configured channel."""
    return [
        _channel(config, name, settings, clock, certificates) for name, settings in config.channels.items()
    ]


def _channel(
    config: Config, name: str, settings: ChannelSection, clock: Clock, certificates: Certificates
) -> Channel:
    match settings:
        case TelegramChannel():
            return _telegram(config, name, settings, clock, certificates)
        case SlackChannel():
            return _slack(config, name, settings, clock, certificates)
        case DiscordChannel():
            return _discord(config, name, settings, clock, certificates)


def _slack(
    config: Config, name: str, settings: SlackChannel, clock: Clock, certificates: Certificates
) -> Channel:
    from channels.slack.channel import Http, Socket
    from channels.slack.channel import SlackChannel as Slack

    app_token, secret = settings.app_token, settings.signing_secret
    receiving = (
        Socket(app_token.get_secret_value() if app_token else "")
        if settings.mode == "socket"
        else Http(secret.get_secret_value() if secret else "")
    )
    return Slack(
        name=name,
        bot_token=settings.bot_token.get_secret_value(),
        receiving=receiving,
        api_base_url=settings.api_base_url,
        clock=clock,
        read_file=readable_files(config.workspace.dir, config.hub.data_dir / SPILL_NAME),
        tls=certificates.for_url(settings.api_base_url),
    )


def _discord(
    config: Config, name: str, settings: DiscordChannel, clock: Clock, certificates: Certificates
) -> Channel:
    from channels.discord.channel import DiscordChannel as Discord

    return Discord(
        name=name,
        token=settings.token.get_secret_value(),
        commands=dict(texts.COMMANDS),
        clock=clock,
        api_base_url=settings.api_base_url,
        gateway_url=settings.gateway_url,
        read_file=readable_files(config.workspace.dir, config.hub.data_dir / SPILL_NAME),
        tls=certificates.for_url(settings.api_base_url),
        groups=settings.groups != "off",
    )


def _telegram(
    config: Config, name: str, settings: TelegramChannel, clock: Clock, certificates: Certificates
) -> Channel:
    with left_out(HTTPX_COMMAND_LINE, PASSPORT_CRYPTOGRAPHY):
        from channels.telegram.channel import TelegramChannel as Telegram
        from channels.telegram.webhook import PATH, Webhook

    webhook = None
    if settings.mode == "webhook" and settings.webhook_secret is not None:
        url = f"{config.http.public_url}{CHANNELS_PATH}/{name}{PATH}"
        webhook = Webhook(url, settings.webhook_secret.get_secret_value())
    return Telegram(
        name=name,
        token=settings.token.get_secret_value(),
        api_base_url=settings.api_base_url,
        commands=dict(texts.COMMANDS),
        clock=clock,
        webhook=webhook,
        read_file=readable_files(config.workspace.dir, config.hub.data_dir / SPILL_NAME),
        tls=certificates.for_url(settings.api_base_url),
        groups=settings.groups,
    )


def readable_files(*roots: Path) -> Callable[[str, int], bytes]:
    """Reads files that lie below one of the roots, for channels to send; ValueError says why not."""
    guards = [PathGuard(root) for root in roots]

    def read(path: str, limit_bytes: int) -> bytes:
        guard = next((guard for guard in guards if guard.refusal(path) is None), guards[0])
        try:
            with guard.reading(path) as file:
                content = file.read(limit_bytes + 1)
        except (ToolDenied, ToolFailed) as error:
            raise ValueError(str(error)) from error
        if len(content) > limit_bytes:
            raise ValueError(f"it has more than {limit_bytes} bytes")
        if not content:
            raise ValueError("it is empty")
        return content

    return read


def build_rules(config: Config, owner: Principal, ids: Ids) -> HouseRules:
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
    return HouseRules(access, SessionManager(ids), ids, config.agent.max_waiting)


def build_pipeline(configured: Loaded, store: Store, clock: Clock, leaks: LeakDetector) -> CallPipeline:
    """The one path of every call."""
    tools = build_tools(configured, store, clock)
    return CallPipeline(tools, _pipeline_settings(configured.config, leaks), clock)


def build_chat(
    configured: Loaded,
    store: Store,
    model: Model,
    pipeline: CallPipeline,
    outbox: OutboxListener,
    turns: TurnListener,
    clock: Clock,
    ids: Ids,
    leaks: LeakDetector,
) -> DelegateFactory:
    """What makes the delegate of every chat turn."""
    config = configured.config
    with needed_to_start(config.workspace.dir, "make it a directory, or set another [workspace] dir"):
        config.workspace.dir.mkdir(parents=True, exist_ok=True)
    services = ChatServices(store, model, pipeline, outbox, turns, clock, ids, leaks)
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
        rule=_vote_rule(config),
        owner_id=config.hub.owner,
    )


def _vote_rule(config: Config) -> VoteRule:
    approvals = config.approvals
    match approvals.approvers:
        case "requester":
            people: tuple[str, ...] = ()
        case "owner":
            people = (config.hub.owner,)
        case team:
            people = config.teams[team.removeprefix("team:")].users
    return VoteRule(approvers=people, quorum=approvals.quorum)
