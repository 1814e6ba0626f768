"""What `hubbub.toml` can say of channels, one section per platform."""

import re
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from bot.setting_types import Section, Unopened, Url

TELEGRAM_URL = "https://api.telegram.org"
SLACK_URL = "https://slack.com/api"
DISCORD_URL = "https://discord.com/api/v10"
DISCORD_GATEWAY_URL = "wss://gateway.discord.gg"

_BOT_TOKEN = re.compile(r"\d+:[A-Za-z0-9_-]+")
_DISCORD_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_WEBHOOK_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")  # core.telegram.org/bots/api#setwebhook


def _bot_token(secret: SecretStr) -> SecretStr:
    if isinstance(secret, Unopened):
        return secret
    if not _BOT_TOKEN.fullmatch(secret.get_secret_value()):
        raise ValueError("is not a bot token; copy it from @BotFather, it looks like 123456:ABC-DEF")
    return secret


def _webhook_secret(secret: SecretStr) -> SecretStr:
    if isinstance(secret, Unopened):
        return secret
    if not _WEBHOOK_SECRET.fullmatch(secret.get_secret_value()):
        raise ValueError("is not usable as a secret; use 1 to 256 letters, digits, _ and -")
    return secret


def _telegram_id(text: str) -> str:
    if not re.fullmatch(r"-?\d+", text):
        raise ValueError("is not a Telegram id; write the account's number, not its @name")
    return text


def _slack_token(prefix: str, what: str) -> Callable[[SecretStr], SecretStr]:
    def check(secret: SecretStr) -> SecretStr:
        if isinstance(secret, Unopened):
            return secret
        if not re.fullmatch(rf"{prefix}[A-Za-z0-9-]+", secret.get_secret_value()):
            raise ValueError(f"is not a {what}; copy it from api.slack.com/apps, it begins with {prefix}")
        return secret

    return check


def _slack_id(text: str) -> str:
    if not re.fullmatch(r"[UW][A-Z0-9]{2,20}", text):
        raise ValueError("is not a Slack user id; copy it from the person's profile, it looks like U024BE7LH")
    return text


def _discord_token(secret: SecretStr) -> SecretStr:
    if isinstance(secret, Unopened):
        return secret
    if not _DISCORD_TOKEN.fullmatch(secret.get_secret_value()):
        raise ValueError(
            "is not a bot token; copy it from discord.com/developers/applications (Bot), it has three parts"
        )
    return secret


def _discord_id(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,20}", text):
        raise ValueError("is not a Discord user id; switch on developer mode and copy the person's id")
    return text


def _websocket_url(text: str) -> str:
    if not re.fullmatch(r"wss?://[^\s/]+(/\S*)?", text):
        raise ValueError("is not a gateway's address; write one that begins with wss:// or ws://")
    return text.rstrip("/")


class _ChannelSection(Section):
    """What every channel has."""

    direct: Literal["pairing", "allowlist", "open"] = "pairing"
    groups: Literal["off", "addressed", "all"] = "off"


class TelegramChannel(_ChannelSection):
    """One bot on Telegram. `platform` is the section's name unless it says otherwise."""

    platform: Literal["telegram"] = Field(examples=["telegram"])
    allow: tuple[Annotated[str, AfterValidator(_telegram_id)], ...] = ()
    token: Annotated[SecretStr, AfterValidator(_bot_token)] = Field(examples=["env:TELEGRAM_TOKEN"])
    mode: Literal["polling", "webhook"] = "polling"
    webhook_secret: Annotated[SecretStr, AfterValidator(_webhook_secret)] | None = Field(
        default=None, examples=["env:TELEGRAM_WEBHOOK_SECRET"]
    )
    api_base_url: Url = TELEGRAM_URL


class SlackChannel(_ChannelSection):
    """One bot in one Slack workspace. `mode` "socket" needs the app token, "http" the signing secret."""

    platform: Literal["slack"] = Field(examples=["slack"])
    allow: tuple[Annotated[str, AfterValidator(_slack_id)], ...] = ()
    bot_token: Annotated[SecretStr, AfterValidator(_slack_token("xoxb-", "bot token"))] = Field(
        examples=["env:SLACK_BOT_TOKEN"]
    )
    app_token: Annotated[SecretStr, AfterValidator(_slack_token("xapp-", "app-level token"))] | None = Field(
        default=None, examples=["env:SLACK_APP_TOKEN"]
    )
    signing_secret: SecretStr | None = Field(default=None, examples=["env:SLACK_SIGNING_SECRET"])
    mode: Literal["socket", "http"] = "socket"
    api_base_url: Url = SLACK_URL


class DiscordChannel(_ChannelSection):
    """One bot on Discord."""

    platform: Literal["discord"] = Field(examples=["discord"])
    allow: tuple[Annotated[str, AfterValidator(_discord_id)], ...] = ()
    token: Annotated[SecretStr, AfterValidator(_discord_token)] = Field(examples=["env:DISCORD_TOKEN"])
    api_base_url: Url = DISCORD_URL
    gateway_url: Annotated[str, AfterValidator(_websocket_url)] = DISCORD_GATEWAY_URL


ChannelSection = TelegramChannel | SlackChannel | DiscordChannel
