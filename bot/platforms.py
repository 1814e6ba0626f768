"""Builds the adapters of the configured channels, and the prompts of conversations there.

Each platform is imported only when it is configured.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.config.schema import Config
from bot.config.sections import (
    ChannelSection,
    DiscordChannel,
    ExtensionChannel,
    SlackChannel,
    TelegramChannel,
)
from bot.runtime import (
    CHANNELS_PATH,
    HTTPX_COMMAND_LINE,
    PASSPORT_CRYPTOGRAPHY,
    Certificates,
    left_out,
    version,
)
from bot.tools import SPILL_NAME
from channels.channel import Channel
from channels.webchat import RENDERING_HINT, WEB
from core import texts
from core.clock import Clock
from core.errors import ToolDenied, ToolFailed
from core.lazy import LazyModule
from core.messages import THREAD_FILE
from core.runs.context import ChatPrompts, PromptSettings
from core.runs.workspace_texts import WorkspaceTexts
from core.safety.paths import PathGuard, SentFiles
from core.sandbox.policy import ContainerPlaces
from core.users import Principal

if TYPE_CHECKING:
    from bot.extensions import python as extensions
    from channels.telegram.addresses import Timeouts as TelegramTimeouts
else:
    extensions = LazyModule("bot.extensions.python")

ReadFile = Callable[[str, int], bytes]
SendFile = Callable[[str, int], Awaitable[bytes]]
"""Reads a file or a conversation that is sent, see core.messages.File. Raises ValueError with the reason."""

_RENDERED_BY: Mapping[str, Any] = {
    platform: LazyModule(f"channels.{platform}.outbound") for platform in ("telegram", "slack", "discord")
}


SUGGESTIONS_HINT = (
    'If you expect one of a few short messages next, you may end a reply by <suggestions>["…"]</suggestions>'
    ": a JSON list of at most three, in the person's words, shown as buttons."
)


def rendering_hint(config: Config, channel: str) -> str:
    """Return what models are told of how a channel shows replies; empty for a channel that is gone."""
    if channel == WEB:
        return f"{RENDERING_HINT} {SUGGESTIONS_HINT}"
    settings = config.channels.get(channel)
    if isinstance(settings, ExtensionChannel):
        return SUGGESTIONS_HINT
    # All platforms have buttons.
    hint = "" if settings is None else str(_RENDERED_BY[settings.platform].RENDERING_HINT)
    return hint and f"{hint} {SUGGESTIONS_HINT}"


def build_prompts(
    config: Config, texts: WorkspaceTexts, unattended: Callable[[Principal], Sequence[str]]
) -> ChatPrompts:
    """Build the maker of prompts. `unattended`: the tools of a person that need no approval."""
    settings = PromptSettings(
        configured=config.agent.system_prompt,
        timezone=config.hub.timezone,
        version=version(),
        models={model.name: model.model or model.name for model in config.models},
    )
    hint = lru_cache(64)(partial(rendering_hint, config))  # asked for with every message
    return ChatPrompts(settings, texts, unattended, hint)


class ChannelBuilder:
    """Makes adapters, all on the same certificates. `closed`: what nothing is sent of. `telegram`: how
    long to wait for Telegram, if not as usual. `stand_in`: takes each adapter's place."""

    def __init__(
        self,
        clock: Clock,
        certificates: Certificates,
        export: SendFile,
        closed: Sequence[Path] = (),
        telegram: "TelegramTimeouts | None" = None,
        stand_in: Callable[[Channel], Channel] | None = None,
    ) -> None:
        self._export = export
        self._closed = closed
        self._clock = clock
        self._certificates = certificates
        self._telegram = telegram
        self._stand_in = stand_in

    def all(self, config: Config) -> list[Channel]:
        """Return one adapter per configured channel."""
        return [self.one(config, name, settings) for name, settings in config.channels.items()]

    def one(self, config: Config, name: str, settings: ChannelSection) -> Channel:
        """Return the adapter for these settings, or its stand-in."""
        channel = self._adapter(config, name, settings)
        return channel if self._stand_in is None else self._stand_in(channel)

    def _adapter(self, config: Config, name: str, settings: ChannelSection) -> Channel:
        own = PathGuard(config.workspace.dir, self._closed), PathGuard(config.hub.data_dir / SPILL_NAME)
        people = ContainerPlaces(config.hub.data_dir, config.workspace.dir).people
        read_file = sent_files(readable_files(SentFiles(own, people)), self._export)
        match settings:
            case TelegramChannel():
                return _telegram(
                    config, name, settings, self._clock, self._certificates, read_file, self._telegram
                )
            case SlackChannel():
                return _slack(name, settings, self._clock, self._certificates, read_file)
            case ExtensionChannel():
                return extensions.python_channel(name, settings)
            case DiscordChannel():
                return _discord(name, settings, self._clock, self._certificates, read_file)


def _slack(
    name: str, settings: SlackChannel, clock: Clock, certificates: Certificates, read_file: SendFile
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
        read_file=read_file,
        tls=certificates.for_url(settings.api_base_url),
    )


def _discord(
    name: str, settings: DiscordChannel, clock: Clock, certificates: Certificates, read_file: SendFile
) -> Channel:
    from channels.discord.channel import DiscordChannel as Discord

    return Discord(
        name=name,
        token=settings.token.get_secret_value(),
        commands=dict(texts.COMMANDS),
        clock=clock,
        api_base_url=settings.api_base_url,
        gateway_url=settings.gateway_url,
        read_file=read_file,
        tls=certificates.for_url(settings.api_base_url),
        groups=settings.groups != "off",
    )


def _telegram(
    config: Config,
    name: str,
    settings: TelegramChannel,
    clock: Clock,
    certificates: Certificates,
    read_file: SendFile,
    timeouts: "TelegramTimeouts | None",
) -> Channel:
    with left_out(HTTPX_COMMAND_LINE, PASSPORT_CRYPTOGRAPHY):
        from channels.telegram.channel import TelegramChannel as Telegram
        from channels.telegram.updates import PATH, Webhook

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
        timeouts=timeouts,
        read_file=read_file,
        tls=certificates.for_url(settings.api_base_url),
        groups=settings.groups,
    )


def sent_files(read: ReadFile, export: SendFile) -> SendFile:
    """Return a reader of whatever channels send."""

    async def read_file(path: str, limit_bytes: int) -> bytes:
        if path.startswith(THREAD_FILE):
            return await export(path.removeprefix(THREAD_FILE), limit_bytes)
        return await asyncio.to_thread(read, path, limit_bytes)

    return read_file


def readable_files(guard: PathGuard | SentFiles) -> ReadFile:
    """Return a reader for files that a guard allows, for channels to send. It raises ValueError with the
    reason."""

    def read(path: str, limit_bytes: int) -> bytes:
        try:
            with guard.reading(path) as file:
                content = file.read(limit_bytes + 1)
        except (ToolDenied, ToolFailed) as error:
            raise ValueError(str(error)) from error
        if len(content) > limit_bytes:
            raise ValueError(f"it is larger than {limit_bytes} bytes")
        if not content:
            raise ValueError("it is empty")
        return content

    return read
