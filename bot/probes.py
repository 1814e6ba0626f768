"""Asking the platforms and the models whether they would take us, for `hubbub doctor`.

One small request each, that changes nothing there. No finding holds a token or a key.
"""

import contextlib
import json
import os
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from bot.certificates import Certificates
from bot.channel_settings import ChannelSection, DiscordChannel, SlackChannel, TelegramChannel
from bot.findings import Finding, broken, fine, warning
from bot.settings import Config, Model
from channels.telegram.privacy import GroupRights, hints

ANSWER_LIMIT_S = 10.0
BODY_LIMIT_BYTES = 1024 * 1024
SKEW_LIMIT_S = 60
"""Clocks of machines that are kept in time agree within a second; signed requests are good for minutes."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    page: Any
    date: str | None


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
        except _Unreached as error:
            return [broken(what, f"{host} cannot be reached: {error}", "check the network and api_base_url")]
        return [_discord_bot(what, answer), *_clock(host, answer.date)]

    async def _slack(self, name: str, channel: SlackChannel) -> list[Finding]:
        what = f"channel {name}"
        host = urlsplit(channel.api_base_url).netloc.rpartition("@")[2]
        headers = {"Authorization": f"Bearer {channel.bot_token.get_secret_value()}"}
        try:
            answer = await self._get(f"{channel.api_base_url}/auth.test", headers)
        except _Unreached as error:
            return [broken(what, f"{host} cannot be reached: {error}", "check the network and api_base_url")]
        return [_slack_bot(what, answer), *_clock(host, answer.date)]

    async def _telegram(self, name: str, channel: TelegramChannel) -> list[Finding]:
        what = f"channel {name}"
        token = channel.token.get_secret_value()
        host = urlsplit(channel.api_base_url).netloc.rpartition("@")[2]
        try:
            answer = await self._get(f"{channel.api_base_url}/bot{token}/getMe", {})
        except _Unreached as error:
            return [broken(what, f"{host} cannot be reached: {error}", "check the network and api_base_url")]
        return [_bot(what, answer), *_clock(host, answer.date), *_groups(name, channel, answer)]

    async def groups(self, name: str, channel: ChannelSection) -> list[Finding]:
        """What a bot that runs elsewhere is shown in groups; nothing if the platform does not say."""
        if channel.groups == "off" or not isinstance(channel, TelegramChannel):
            return []
        with contextlib.suppress(_Unreached):  # the hub that runs knows more about that
            token = channel.token.get_secret_value()
            return _groups(name, channel, await self._get(f"{channel.api_base_url}/bot{token}/getMe", {}))
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
        return [_provider(what, host, model.model, answer)]

    async def _get(self, url: str, headers: Mapping[str, str]) -> _Answer:
        tls = self._certificates.for_url(url)
        try:
            async with self._http.get(url, headers=headers, ssl=tls or True, allow_redirects=False) as answer:
                body = await answer.content.read(BODY_LIMIT_BYTES)
                return _Answer(answer.status, _json(body), answer.headers.get("Date"))
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


def _bot(what: str, answer: _Answer) -> Finding:
    match answer.status, answer.page:
        case 200, {"ok": True, "result": {"username": str(username)}}:
            return fine(what, f"the token is good: @{username}")
        case ((401 | 404), {"ok": False}):
            return broken(what, "the platform refuses the token", "copy it again from @BotFather")
        case status, _:
            advice = "check api_base_url, or try again later"
            return broken(what, f"unexpected answer (HTTP {status})", advice)


def _slack_bot(what: str, answer: _Answer) -> Finding:
    match answer.status, answer.page:
        case 200, {"ok": True, "user": str(user), "team": str(team)}:
            return fine(what, f"the token is good: {user} in {team}")
        case 200, {"ok": False, "error": str(error)}:
            advice = "copy the bot token again from api.slack.com/apps (Install App)"
            return broken(what, f"the platform refuses the token ({error})", advice)
        case status, _:
            return broken(
                what, f"unexpected answer (HTTP {status})", "check api_base_url, or try again later"
            )


def _discord_bot(what: str, answer: _Answer) -> Finding:
    match answer.status, answer.page:
        case 200, {"id": str(), "username": str(username)}:
            return fine(what, f"the token is good: {username}")
        case 401, _:
            advice = "copy it again from discord.com/developers/applications (Bot, Reset Token)"
            return broken(what, "the platform refuses the token", advice)
        case status, _:
            return broken(
                what, f"unexpected answer (HTTP {status})", "check api_base_url, or try again later"
            )


def _groups(name: str, channel: TelegramChannel, answer: _Answer) -> list[Finding]:
    match answer.status, answer.page:
        case 200, {"ok": True, "result": {**me}}:
            found = hints(channel.groups, GroupRights.read(me))
        case _:
            return []
    what = f"groups of {name}"
    return [warning(what, hint.text, hint.fix) if hint.fix else fine(what, hint.text) for hint in found]


def _provider(what: str, host: str, name: str, answer: _Answer) -> Finding:
    match answer.status, answer.page:
        case ((401 | 403), _):
            return broken(what, f"{host} refuses the key", "set a valid api_key")
        case 200, {"data": [*models]}:
            known = [model.get("id") for model in models if isinstance(model, dict)]
            if name in known:
                return fine(what, f"{host} takes the key and knows {name}")
            return warning(what, f"{host} does not list {name}", "check the model's name")
        case status, _ if status >= 500:
            return broken(what, f"{host} has trouble (HTTP {status})", "try again later, or add a fallback")
        case status, _:
            advice = "base_url should end where /chat/completions begins, as a rule in /v1"
            return warning(what, f"{host} lists no models (HTTP {status})", advice)


def _clock(host: str, date: str | None) -> list[Finding]:
    try:
        skew_s = time.time() - parsedate_to_datetime(date or "").timestamp()
    except ValueError:
        return []
    if abs(skew_s) <= SKEW_LIMIT_S:
        return [fine("clock", f"agrees with {host}")]
    word = "ahead of" if skew_s > 0 else "behind"
    return [broken("clock", f"{abs(skew_s):.0f} s {word} {host}", "set it, for example by NTP")]
