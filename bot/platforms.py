"""Builds the adapters of the configured channels. Each platform is imported only when it is configured."""

from collections.abc import Callable
from pathlib import Path

from bot.certificates import Certificates
from bot.channel_settings import ChannelSection, DiscordChannel, SlackChannel, TelegramChannel
from bot.imports import HTTPX_COMMAND_LINE, PASSPORT_CRYPTOGRAPHY, left_out
from bot.parts import SPILL_NAME
from bot.settings import Config
from bot.web.channels import CHANNELS_PATH
from channels.channel import Channel
from core import texts
from core.clock import Clock
from core.errors import ToolDenied, ToolFailed
from core.safety.paths import PathGuard


class ChannelBuilder:
    """Makes adapters, all on the same certificates."""

    def __init__(self, clock: Clock, certificates: Certificates) -> None:
        self._clock = clock
        self._certificates = certificates

    def all(self, config: Config) -> list[Channel]:
        """One adapter per configured channel."""
        return [self.one(config, name, settings) for name, settings in config.channels.items()]

    def one(self, config: Config, name: str, settings: ChannelSection) -> Channel:
        """The adapter for these settings."""
        match settings:
            case TelegramChannel():
                return _telegram(config, name, settings, self._clock, self._certificates)
            case SlackChannel():
                return _slack(config, name, settings, self._clock, self._certificates)
            case DiscordChannel():
                return _discord(config, name, settings, self._clock, self._certificates)


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
