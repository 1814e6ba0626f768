"""Asking the platforms and the models whether they would take us, for `hubbub doctor`.

One small request each, that changes nothing there. No finding holds a token or a key.
"""

import asyncio
import contextlib
import json
import os
import ssl
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bot.config.edits import ProviderSetup
from bot.config.schema import Config, Model, secret_values
from bot.config.sections import (
    ChannelSection,
    DiscordChannel,
    ExtensionChannel,
    SlackChannel,
    TelegramChannel,
)
from bot.ops.logs import Redactor
from bot.runtime import Certificates
from channels.telegram.addresses import GroupRights, hints
from core.lazy import LazyModule, dataclass

if TYPE_CHECKING:
    import aiohttp
else:
    aiohttp = LazyModule("aiohttp")  # 8 MB, which a hub without a platform needs for a trial only

# What `hubbub doctor` says about one thing it looked at.


class Health(StrEnum):
    """`WARNING`: it works, but something should be done; `BROKEN`: something does not work."""

    FINE = "fine"
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: `what` was checked, its state in words, and the remedy."""

    what: str
    health: Health
    message: str
    fix: str = ""


def fine(what: str, message: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(what, Health.FINE, message)


def warning(what: str, message: str, fix: str) -> Finding:
    """Return a finding that should be fixed."""
    return Finding(what, Health.WARNING, message, fix)


def broken(what: str, message: str, fix: str) -> Finding:
    """Return a finding that breaks something until it is fixed."""
    return Finding(what, Health.BROKEN, message, fix)


# What platforms and providers answered `hubbub doctor`, and what that means for the hub.

SKEW_LIMIT_S = 60
"""Clocks of machines that are kept in time agree within a second; signed requests are good for minutes."""
READS_MESSAGES = 1 << 18 | 1 << 19
"""Application flags GATEWAY_MESSAGE_CONTENT and GATEWAY_MESSAGE_CONTENT_LIMITED (Application Resource)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`page`: the body where it is JSON."""

    status: int
    page: Any
    date: str | None


def telegram_bot(what: str, answer: Answer) -> Finding:
    """Judge the answer to getMe."""
    match answer.status, answer.page:
        case 200, {"ok": True, "result": {"username": str(username)}}:
            return fine(what, f"the token is valid: @{username}")
        case ((401 | 404), {"ok": False}):
            return broken(what, "the platform rejected the token", "copy it again from @BotFather")
        case status, _:
            advice = "check api_base_url, or try again later"
            return broken(what, f"unexpected response (HTTP {status})", advice)


def slack_bot(what: str, answer: Answer) -> Finding:
    """Judge the answer to auth.test with the bot token."""
    match answer.status, answer.page:
        case 200, {"ok": True, "user": str(user), "team": str(team)}:
            return fine(what, f"the token is valid: {user} in {team}")
        case 200, {"ok": False, "error": str(error)}:
            advice = "copy the bot token again from api.slack.com/apps (Install App)"
            return broken(what, f"the platform rejected the token ({error})", advice)
        case status, _:
            return broken(
                what, f"unexpected response (HTTP {status})", "check api_base_url, or try again later"
            )


def discord_bot(what: str, answer: Answer) -> Finding:
    """Judge the answer to Get Current User."""
    match answer.status, answer.page:
        case 200, {"id": str(), "username": str(username)}:
            return fine(what, f"the token is valid: {username}")
        case 401, _:
            advice = "copy it again from discord.com/developers/applications (Bot, Reset Token)"
            return broken(what, "the platform rejected the token", advice)
        case status, _:
            return broken(
                what, f"unexpected response (HTTP {status})", "check api_base_url, or try again later"
            )


def slack_app(what: str, answer: Answer) -> list[Finding]:
    """Judge the answer to apps.connections.open with the app-level token; empty if the token is valid."""
    match answer.status, answer.page:
        case 200, {"ok": True}:
            return []
        case 200, {"ok": False, "error": str(error)}:
            advice = "copy it again from api.slack.com/apps (Basic Information), and turn on Socket Mode"
            return [broken(what, f"Slack rejected the app-level token ({error})", advice)]
        case status, _:
            problem = f"unexpected response to the app-level token (HTTP {status})"
            return [broken(what, problem, "check api_base_url, or try again later")]


def discord_intents(what: str, answer: Answer) -> list[Finding]:
    """Judge the answer to Get Current Application; empty if the bot gets message text."""
    match answer.status, answer.page:
        case 200, {"flags": int(flags)} if not flags & READS_MESSAGES:
            advice = "turn on Message Content Intent at discord.com/developers/applications (Bot)"
            return [broken(what, "Discord does not let the bot read message text", advice)]
        case _:
            return []


def telegram_groups(name: str, channel: TelegramChannel, answer: Answer) -> list[Finding]:
    """Judge the answer to getMe: the messages the bot gets in groups."""
    match answer.status, answer.page:
        case 200, {"ok": True, "result": {**me}}:
            found = hints(channel.groups, GroupRights.read(me))
        case _:
            return []
    what = f"groups of {name}"
    return [warning(what, hint.text, hint.fix) if hint.fix else fine(what, hint.text) for hint in found]


def provider(what: str, host: str, name: str, answer: Answer, path: str) -> Finding:
    """To the list of models. `path`: of the endpoint that the base URL is the beginning of."""
    match answer.status, answer.page:
        case ((401 | 403), _):
            return broken(what, f"{host} rejected the API key", "set a valid api_key")
        case 200, {"data": [*models]}:
            known = [model.get("id") for model in models if isinstance(model, dict)]
            if name in known:
                return fine(what, f"{host} accepts the key and lists {name}")
            return warning(what, f"{host} does not list {name}", "check the model's name")
        case status, _ if status >= 500:
            return broken(
                what, f"{host} returned an error (HTTP {status})", "try again later, or add a fallback"
            )
        case status, _:
            advice = f"base_url is the part before {path}"
            return warning(what, f"{host} does not list models (HTTP {status})", advice)


def search_engine(what: str, host: str, answer: Answer) -> Finding:
    """Judge the answer to a search as the tool `web_search` makes it."""
    match answer.status, answer.page:
        case 200, {"results": [*_]}:
            return fine(what, f"{host} answers searches")
        case 403, _:
            return broken(
                what, f"{host} does not give out JSON", "add json to search.formats in its settings.yml"
            )
        case 429, _:
            return warning(what, f"{host} refuses searches: too many", "let the hub pass its limiter")
        case 200, _:
            advice = "base_url of [web_search] is its address without /search"
            return broken(what, f"{host} does not answer like SearXNG", advice)
        case status, _:
            return broken(what, f"{host} could not search (HTTP {status})", "look at its log")


def clock(host: str, date: str | None) -> list[Finding]:
    """Compare this machine's clock with the time in an answer."""
    try:
        skew_s = time.time() - parsedate_to_datetime(date or "").timestamp()
    except ValueError:
        return []
    if abs(skew_s) <= SKEW_LIMIT_S:
        return [fine("clock", f"agrees with {host}")]
    word = "ahead of" if skew_s > 0 else "behind"
    return [broken("clock", f"{abs(skew_s):.0f} s {word} {host}", "correct it, for example with NTP")]


ANSWER_LIMIT_S = 10.0
BODY_LIMIT_BYTES = 1024 * 1024


class _Unreached(Exception):
    """No answer came; the message says why, without the address."""


class Probes:
    """Asks over one session."""

    def __init__(self, http: "aiohttp.ClientSession", certificates: Certificates) -> None:
        self._http = http
        self._certificates = certificates

    async def channel(self, name: str, channel: ChannelSection) -> list[Finding]:
        """Check the bot's token, and that the clocks agree."""
        match channel:
            case TelegramChannel():
                return await self._telegram(name, channel)
            case SlackChannel():
                return await self._slack(name, channel)
            case DiscordChannel():
                return await self._discord(name, channel)
            case ExtensionChannel():
                return []  # its extension is loaded, and asks its platform when the hub starts

    async def _discord(self, name: str, channel: DiscordChannel) -> list[Finding]:
        what = f"channel {name}"
        host = urlsplit(channel.api_base_url).netloc.rpartition("@")[2]
        headers = {"Authorization": f"Bot {channel.token.get_secret_value()}"}
        try:
            answer = await self._get(f"{channel.api_base_url}/users/@me", headers)
            app = await self._get(f"{channel.api_base_url}/applications/@me", headers)
        except _Unreached as error:
            return [broken(what, f"can't reach {host}: {error}", "check the network and api_base_url")]
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
            return [broken(what, f"can't reach {host}: {error}", "check the network and api_base_url")]
        return findings

    async def _telegram(self, name: str, channel: TelegramChannel) -> list[Finding]:
        what = f"channel {name}"
        token = channel.token.get_secret_value()
        host = urlsplit(channel.api_base_url).netloc.rpartition("@")[2]
        try:
            answer = await self._get(f"{channel.api_base_url}/bot{token}/getMe", {})
        except _Unreached as error:
            return [broken(what, f"can't reach {host}: {error}", "check the network and api_base_url")]
        groups = telegram_groups(name, channel, answer)
        return [telegram_bot(what, answer), *clock(host, answer.date), *groups]

    async def groups(self, name: str, channel: ChannelSection) -> list[Finding]:
        """Check what a bot sees in groups; nothing if the platform does not say."""
        if channel.groups == "off" or not isinstance(channel, TelegramChannel):
            return []
        with contextlib.suppress(_Unreached):  # the hub that runs knows more about that
            token = channel.token.get_secret_value()
            answer = await self._get(f"{channel.api_base_url}/bot{token}/getMe", {})
            return telegram_groups(name, channel, answer)
        return []

    async def model(self, model: Model) -> list[Finding]:
        """Check that the provider accepts the key and knows the model."""
        what = f"model {model.name}"
        if model.provider == "extension":
            return []
        if model.provider == "demo":
            return [fine(what, "built in")]
        if model.provider == "cli":
            return []  # doctor tries it (bot.ops.model_trial)
        key = model.api_key.get_secret_value()
        headers: Mapping[str, str]
        if model.provider == "anthropic":
            from core.model.anthropic import key_headers  # brings httpx, which few commands need

            headers, path = key_headers(key), "/v1/messages"
            url = f"{model.api_url.removesuffix('/v1')}/v1/models?limit=1000"
        else:
            headers, path = {"Authorization": f"Bearer {key}"} if key else {}, "/chat/completions"
            url = f"{model.api_url}/models"
        host = urlsplit(url).netloc.rpartition("@")[2]
        try:
            answer = await self._get(url, headers)
        except _Unreached as error:
            return [broken(what, f"can't reach {host}: {error}", "check the network and base_url")]
        return [provider(what, host, model.model, answer, path)]

    async def search(self, base_url: str) -> Finding:
        """Check that the search engine answers a search."""
        what, host = "web search", urlsplit(base_url).netloc.rpartition("@")[2]
        try:
            answer = await self._get(f"{base_url.rstrip('/')}/search?q=hubbub&format=json", {})
        except _Unreached as error:
            return broken(what, f"can't reach {host}: {error}", "check base_url of [web_search]")
        return search_engine(what, host, answer)

    async def _get(self, url: str, headers: Mapping[str, str]) -> Answer:
        return await self._ask("GET", url, headers)

    async def _ask(self, method: str, url: str, headers: Mapping[str, str]) -> Answer:
        tls = self._certificates.for_url(url) or True
        try:
            asking = self._http.request(method, url, headers=headers, ssl=tls, allow_redirects=False)
            async with asking as answer:
                body = bytearray()
                while len(body) < BODY_LIMIT_BYTES and (piece := await answer.content.readany()):
                    body += piece
                return Answer(answer.status, _json(body), answer.headers.get("Date"))
        except TimeoutError as error:
            raise _Unreached(f"no response within {ANSWER_LIMIT_S:g} s") from error
        except (ssl.SSLError, aiohttp.ClientSSLError) as error:
            raise _Unreached("its certificate is not trusted") from error
        except aiohttp.ClientConnectorError as error:
            raise _Unreached(_reason(error.os_error)) from error
        except (aiohttp.ClientError, ValueError, OSError) as error:
            raise _Unreached(type(error).__name__) from error


async def channel_findings(config: Config) -> list[Finding]:
    """Return the platforms' findings about every channel's tokens."""
    limit = aiohttp.ClientTimeout(total=ANSWER_LIMIT_S)
    async with aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as http:
        probes = Probes(http, Certificates())
        findings: list[Finding] = []
        for name, channel in config.channels.items():
            findings += await probes.channel(name, channel)
        return findings


async def channel_trial(config: Config, name: str) -> Sequence[Finding]:
    """Return what the platform says to one channel's tokens, the broken first, without any secret."""
    alone = config.model_copy(update={"channels": {name: config.channels[name]}})
    return without_secrets(await channel_findings(alone), config)


def without_secrets(findings: Sequence[Finding], config: Config) -> Sequence[Finding]:
    """Return findings that name none of the configuration's secrets, the broken first."""
    redact = Redactor(secret_values(config))
    said = [Finding(one.what, one.health, redact(one.message), redact(one.fix)) for one in findings]
    return sorted(said, key=lambda one: one.health is not Health.BROKEN)


LOCAL_LIMIT_S = 1.0


async def local_models(servers: Sequence[ProviderSetup]) -> Mapping[str, Sequence[str]]:
    """Return the models of servers that answer, by the server's name. Asks this machine only."""
    limit = aiohttp.ClientTimeout(total=LOCAL_LIMIT_S)
    async with aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as http:
        answers = await asyncio.gather(*(_listed(http, one.base_url) for one in servers))
    return {one.name: models for one, models in zip(servers, answers, strict=True) if models}


async def _listed(http: "aiohttp.ClientSession", base_url: str) -> Sequence[str]:
    if urlsplit(base_url).hostname != "127.0.0.1":
        return ()
    try:
        async with http.get(f"{base_url}/models", allow_redirects=False) as answer:
            page = _json(await answer.content.read(BODY_LIMIT_BYTES))
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
        return ()
    match page:
        case {"data": [*models]}:
            found = [model.get("id") for model in models if isinstance(model, dict)]
            return [name for name in found if isinstance(name, str) and name]
        case _:
            return ()


async def probed(config: Config, *, running: bool) -> list[Finding]:
    """Probe the models and the channels; where a hub is running, only what it doesn't report itself."""
    limit = aiohttp.ClientTimeout(total=ANSWER_LIMIT_S)
    async with aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as http:
        probes = Probes(http, Certificates())
        findings: list[Finding] = []
        for model in config.models:
            findings += await probes.model(model)
        for name, channel in config.channels.items():
            ask = probes.groups if running else probes.channel
            findings += await ask(name, channel)
        if config.web_search.base_url is not None:
            findings.append(await probes.search(config.web_search.base_url))
        return findings


def _reason(error: OSError) -> str:
    """Return the system's reason for a failed connection; if several addresses were tried or the
    lookup failed, any reason there is."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or type(error).__name__


def _json(body: bytes | bytearray) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
