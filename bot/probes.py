"""Asking the platforms and the models whether they would take us, for `hubbub doctor`.

One small request each, that changes nothing there. No finding holds a token or a key.
"""

import contextlib
import json
import os
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from bot.certificates import Certificates
from bot.channel_settings import ChannelSection, DiscordChannel, SlackChannel, TelegramChannel
from bot.findings import Finding, broken, fine
from bot.probe_answers import (
    Answer,
    clock,
    discord_bot,
    discord_intents,
    provider,
    slack_app,
    slack_bot,
    telegram_bot,
    telegram_groups,
)
from bot.settings import Config, Model

ANSWER_LIMIT_S = 10.0
BODY_LIMIT_BYTES = 1024 * 1024


class _Unreached(Exception):
    """Nobody answered; the message says why, without the address."""


class Probes:
    """Asks over one session."""

    def __init__(self, http: aiohttp.ClientSession, certificates: Certificates) -> None:
        self._http = http
        self._certificates = certificates

    async def channel(self, name: str, channel: ChannelSection) -> list[Finding]:
        """Whether the bot's token is good, and whether the clocks agree."""
        match channel:
            case TelegramChannel():
                return await self._telegram(name, channel)
            case SlackChannel():
                return await self._slack(name, channel)
            case DiscordChannel():
                return await self._discord(name, channel)

    async def _discord(self, name: str, channel: DiscordChannel) -> list[Finding]:
        what = f"channel {name}"
        host = urlsplit(channel.api_base_url).netloc.rpartition("@")[2]
        headers = {"Authorization": f"Bot {channel.token.get_secret_value()}"}
        try:
            answer = await self._get(f"{channel.api_base_url}/users/@me", headers)
            app = await self._get(f"{channel.api_base_url}/applications/@me", headers)
        except _Unreached as error:
            return [broken(what, f"{host} cannot be reached: {error}", "check the network and api_base_url")]
        return [discord_bot(what, answer), *discord_intents(what, app), *clock(host, answer.date)]

    async def _slack(self, name: str, channel: SlackChannel) -> list[Finding]:
        what = f"channel {name}"
        host = urlsplit(channel.api_base_url).netloc.rpartition("@")[2]
        headers = {"Authorization": f"Bearer {channel.bot_token.get_secret_value()}"}
        try:
            answer = await self._get(f"{channel.api_base_url}/auth.test", headers)
            findings = [slack_bot(what, answer), *clock(host, answer.date)]
            if channel.mode == "socket" and channel.app_token is not None:
                # Slack has no quieter question for it: an address that nobody uses lapses by itself.
                app = {"Authorization": f"Bearer {channel.app_token.get_secret_value()}"}
                url = f"{channel.api_base_url}/apps.connections.open"
                findings += slack_app(what, await self._ask("POST", url, app))
        except _Unreached as error:
            return [broken(what, f"{host} cannot be reached: {error}", "check the network and api_base_url")]
        return findings

    async def _telegram(self, name: str, channel: TelegramChannel) -> list[Finding]:
        what = f"channel {name}"
        token = channel.token.get_secret_value()
        host = urlsplit(channel.api_base_url).netloc.rpartition("@")[2]
        try:
            answer = await self._get(f"{channel.api_base_url}/bot{token}/getMe", {})
        except _Unreached as error:
            return [broken(what, f"{host} cannot be reached: {error}", "check the network and api_base_url")]
        groups = telegram_groups(name, channel, answer)
        return [telegram_bot(what, answer), *clock(host, answer.date), *groups]

    async def groups(self, name: str, channel: ChannelSection) -> list[Finding]:
        """What a bot that runs elsewhere is shown in groups; nothing if the platform does not say."""
        if channel.groups == "off" or not isinstance(channel, TelegramChannel):
            return []
        with contextlib.suppress(_Unreached):  # the hub that runs knows more about that
            token = channel.token.get_secret_value()
            answer = await self._get(f"{channel.api_base_url}/bot{token}/getMe", {})
            return telegram_groups(name, channel, answer)
        return []

    async def model(self, model: Model) -> list[Finding]:
        """Whether the provider takes the key and knows the model."""
        what = f"model {model.name}"
        if model.provider == "demo":
            return [fine(what, "built in")]
        key = model.api_key.get_secret_value()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        host = urlsplit(model.base_url).netloc.rpartition("@")[2]
        try:
            answer = await self._get(f"{model.base_url}/models", headers)
        except _Unreached as error:
            return [broken(what, f"{host} cannot be reached: {error}", "check the network and base_url")]
        return [provider(what, host, model.model, answer)]

    async def _get(self, url: str, headers: Mapping[str, str]) -> Answer:
        return await self._ask("GET", url, headers)

    async def _ask(self, method: str, url: str, headers: Mapping[str, str]) -> Answer:
        tls = self._certificates.for_url(url) or True
        try:
            asking = self._http.request(method, url, headers=headers, ssl=tls, allow_redirects=False)
            async with asking as answer:
                body = await answer.content.read(BODY_LIMIT_BYTES)
                return Answer(answer.status, _json(body), answer.headers.get("Date"))
        except TimeoutError as error:
            raise _Unreached(f"no answer within {ANSWER_LIMIT_S:g} s") from error
        except (ssl.SSLError, aiohttp.ClientSSLError) as error:
            raise _Unreached("its certificate is not trusted") from error
        except aiohttp.ClientConnectorError as error:
            raise _Unreached(_reason(error.os_error)) from error
        except (aiohttp.ClientError, ValueError, OSError) as error:
            raise _Unreached(type(error).__name__) from error


async def channel_findings(config: Config) -> list[Finding]:
    """What the platforms say of every channel's tokens."""
    limit = aiohttp.ClientTimeout(total=ANSWER_LIMIT_S)
    async with aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as http:
        probes = Probes(http, Certificates())
        findings: list[Finding] = []
        for name, channel in config.channels.items():
            findings += await probes.channel(name, channel)
        return findings


async def probed(config: Config, *, running: bool) -> list[Finding]:
    """Findings on the models and the channels; where a hub is running, only what that does not tell."""
    limit = aiohttp.ClientTimeout(total=ANSWER_LIMIT_S)
    async with aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as http:
        probes = Probes(http, Certificates())
        findings: list[Finding] = []
        for model in config.models:
            findings += await probes.model(model)
        for name, channel in config.channels.items():
            ask = probes.groups if running else probes.channel
            findings += await ask(name, channel)
        return findings


def _reason(error: OSError) -> str:
    """As the system calls it; of several addresses tried, and of a failed look-up, whatever is said."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or type(error).__name__


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
