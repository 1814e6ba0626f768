"""One bot's requests to Discord's REST API, through the methods of discord.py's HTTP client. Every method
raises only ChannelError: errors are separated by whether Discord accepted the request.

Rate limits are left to the SDK, which knows the buckets: it waits up to `WAIT_LIMIT_S`, before a
request and after a 429. It also repeats requests after a 5xx. Messages carry a nonce that Discord
enforces, so a message repeated within two minutes is shown once.
"""

import asyncio
import hashlib
import json
import math
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any, Final, TypeVar, cast

import aiohttp
import discord
from discord.http import HTTPClient, MultipartParameters, Ratelimit, Route
from multidict import CIMultiDictProxy

from channels.channel import downloaded, request_error, wait_s
from channels.discord.inbound import Account
from core.errors import (
    AddressGone,
    AuthRejected,
    ChannelError,
    MessageRejected,
    RateLimited,
    Unanswered,
    Unavailable,
)
from core.off_loop import ON_LOOP_CHARS, json_with_breaks

NO_INTENT = (
    "Discord does not let this bot read messages. At discord.com/developers/applications, open the"
    " application, choose Bot, turn on Message Content Intent, then restart the channel"
)

_AUTHENTICATION_FAILED = 4004
"""The gateway's close code for a failed authentication."""

_GONE = frozenset(
    {
        10003,  # unknown channel
        50001,  # missing access
        50007,  # cannot send messages to this user
        50013,  # missing permissions
        50083,  # the thread is archived
        50278,  # no server in common with this user
        160005,  # the thread is locked
    }
)

FAILURES = (
    ChannelError,
    discord.DiscordException,
    aiohttp.ClientError,
    TimeoutError,
    OSError,
    KeyError,
    TypeError,
    ValueError,
)
"""The errors that a request or connection can raise. Any other is a defect of the hub."""


def channel_error(error: BaseException) -> ChannelError:
    """Return the hub's error for a failed request or connection."""
    match error:
        case ChannelError():
            return error
        case discord.DiscordException():
            return _told_by_sdk(error)
        case _:
            return request_error(error, "Discord")


def _told_by_sdk(error: discord.DiscordException) -> ChannelError:
    match error:
        case discord.LoginFailure():
            return AuthRejected("Discord rejected the token")
        case discord.PrivilegedIntentsRequired():
            return AuthRejected(NO_INTENT)
        case discord.ConnectionClosed():
            return _closed(error)
        case discord.RateLimited():
            return RateLimited(error.retry_after)
        case discord.HTTPException():
            return _refused(error)
        case _:
            return request_error(error, "Discord")


def _closed(error: discord.ConnectionClosed) -> ChannelError:
    if error.code == _AUTHENTICATION_FAILED:
        return AuthRejected("Discord rejected the token")
    return Unavailable(f"Discord closed the gateway connection (code {error.code})")


def _refused(error: discord.HTTPException) -> ChannelError:
    said = f"Discord: {error.text[:300]} ({error.code})" if error.code else f"Discord: HTTP {error.status}"
    if error.status == 401:
        return AuthRejected("Discord rejected the token")
    if error.status == 429:
        return RateLimited(wait_s(error.response.headers))
    if error.status >= 500:
        return Unanswered(said)
    if error.code in _GONE or error.status == 403:
        return AddressGone(said)
    return MessageRejected(said)


T = TypeVar("T")

# Login, for requests and for the gateway.

TOTAL_TIMEOUT_S: Final = 60.0
"""The limit on a request including all retries by the SDK."""


async def entered(login: Awaitable[T], close: Callable[[], Awaitable[None]]) -> T:
    """Return the result of a login. If it fails, call `close` and raise ChannelError."""
    try:
        async with asyncio.timeout(TOTAL_TIMEOUT_S):
            return await login
    except FAILURES as error:
        await close()
        raise channel_error(error) from None
    except BaseException:
        await close()
        raise


TRY_TIMEOUT_S: Final = 20.0
"""The limit on one attempt at a request without a file."""
WAIT_LIMIT_S: Final = 30.0
"""The lowest limit that the SDK accepts."""
PUBLIC_THREAD: Final = 11
"""Channel Resource, Channel Types."""
ANSWER_TIMEOUT_S: Final = 5.0
"""The limit on a response. An interaction is valid for 3 s."""
FILE_TIMEOUT_S: Final = 120.0
CONNECTIONS: Final = 100
PAGE: Final = 100
"""Get Channel Messages: at most 100 messages."""
NONCE_CHARS: Final = 25
"""Create Message: nonce, "up to 25 characters"."""

MAX_BUCKETS: Final = 256
"""Above this many rate limits, the unused ones are dropped."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Server:
    """Discord's addresses, of its REST API and of its gateway."""

    api_url: str
    gateway_url: str


class _Bucket(Ratelimit):
    """A rate limit of one route. The SDK's own refuses every request while a window longer than
    `WAIT_LIMIT_S` is open, even if requests remain in it."""

    async def acquire(self) -> None:
        if self.is_expired():
            self.reset()
        if self.remaining <= 0:
            await super().acquire()
            return
        self.remaining -= 1
        self.outgoing += 1


class _Response(aiohttp.ClientResponse):
    """A response that is parsed in a thread if it is large. The SDK itself parses the text of a response of
    the type JSON; a large one has its value in place of its text, and no type."""

    async def text(self, encoding: str | None = None, errors: str = "strict") -> Any:
        content = await self.read()
        if len(content) <= ON_LOOP_CHARS or self.headers.get("content-type") != "application/json":
            return await super().text(encoding, errors)
        read = partial(json_with_breaks, most_values=math.inf)  # pages of history are not refused
        value = await asyncio.to_thread(lambda: read(content.decode("utf-8")))
        untyped = self.headers.copy()
        del untyped["content-type"]
        self._headers = CIMultiDictProxy(untyped)
        self._cache.pop("headers", None)
        return value


class _Connector(aiohttp.TCPConnector):
    """Connections whose requests get such responses."""

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> Any:
        req.response_class = _Response
        return await super().connect(req, traces, timeout)


class DiscordHttp(HTTPClient):
    """The SDK's HTTP client with such rate limits and responses. `base_url`: Discord's address for this
    bot."""

    def __init__(self, base_url: str, tls: ssl.SSLContext | None) -> None:
        super().__init__(
            asyncio.get_running_loop(),
            _Connector(limit=CONNECTIONS, ssl=tls or True),
            max_ratelimit_timeout=WAIT_LIMIT_S,
        )
        self._base_url = base_url
        self._limits: dict[str, _Bucket] = {}

    async def request(self, route: Route, **sent: Any) -> Any:
        """Send a request to this bot's address, which the SDK keeps for all bots together."""
        route.url = self._base_url + route.url.removeprefix(Route.BASE)
        try_s = FILE_TIMEOUT_S if sent.get("files") else TRY_TIMEOUT_S
        return await super().request(route, timeout=aiohttp.ClientTimeout(total=try_s), **sent)

    def get_ratelimit(self, key: str) -> Ratelimit:
        if key not in self._limits:
            if len(self._limits) >= MAX_BUCKETS:
                self._limits = {name: one for name, one in self._limits.items() if not one.is_inactive()}
            self._limits[key] = _Bucket(self.max_ratelimit_timeout)
        return self._limits[key]


class DiscordClient:
    """A client that logs in at its first use. `tls`: shared with other clients."""

    def __init__(self, token: str, base_url: str, tls: ssl.SSLContext | None) -> None:
        self._token = token
        self._base_url = base_url
        self._tls = tls
        self._http: DiscordHttp | None = None
        self._application_id = ""
        self._files: aiohttp.ClientSession | None = None
        self._entering = asyncio.Lock()

    async def close(self) -> None:
        """Close all connections."""
        if self._http is not None:
            await self._http.close()
        if self._files is not None:
            await self._files.close()

    # --- accounts and channels ------------------------------------------------------------------------

    async def account(self) -> Account:
        """Return the bot's account. It is requested each time, because the token may have been revoked."""
        me = await self._ask(lambda http: http.request(Route("GET", "/users/@me")))
        return self._read(lambda: Account(str(me["id"]), self._application_id))

    async def channel(self, channel_id: str) -> Json:
        """Return a channel (Get Channel)."""
        return await self._ask(lambda http: http.get_channel(channel_id))

    async def open_direct(self, user_id: str) -> str:
        """Open a private conversation with a person (Create DM) and return its id."""
        opened = await self._ask(lambda http: http.start_private_message(user_id))
        return self._read(lambda: str(opened["id"]))

    async def open_thread(self, channel_id: str, name: str) -> str:
        """Open a public thread (Start Thread without Message) and return its id.

        Raises MessageRejected if threads are not possible there."""
        # The SDK's own method would set the time after which the thread is archived, which the channel sets.
        body = {"name": name, "type": PUBLIC_THREAD}
        route = Route("POST", "/channels/{channel_id}/threads", channel_id=channel_id)
        opened = await self._ask(lambda http: http.request(route, json=body))
        return self._read(lambda: str(opened["id"]))

    async def commands(self, application_id: str) -> Sequence[Json]:
        """Return the global commands."""
        return await self._ask(lambda http: http.get_global_commands(application_id))

    async def set_commands(self, application_id: str, commands: Sequence[Json]) -> None:
        """Replace the global commands."""
        wanted = [dict(command) for command in commands]
        await self._ask(lambda http: http.bulk_upsert_global_commands(application_id, wanted))

    # --- messages ----------------------------------------------------------------------------------------

    async def post(
        self, channel_id: str, body: Json, nonce: str, file: tuple[str, bytes] | None = None
    ) -> str:
        """Create a message (Create Message), optionally with a file (name and content). Returns its id."""
        body = {**body, "nonce": short_nonce(nonce), "enforce_nonce": True}
        params = MultipartParameters(body, None, None) if file is None else _with_file(body, *file)
        limit_s = TOTAL_TIMEOUT_S + (0 if file is None else FILE_TIMEOUT_S)
        posted = await self._ask(lambda http: http.send_message(channel_id, params=params), limit_s)
        return self._read(lambda: str(posted["id"]))

    async def edit(self, channel_id: str, message_id: str, body: Json) -> None:
        """Edit a message (Edit Message)."""
        params = MultipartParameters(dict(body), None, None)
        await self._ask(lambda http: http.edit_message(channel_id, message_id, params=params))

    async def delete(self, channel_id: str, message_id: str) -> bool:
        """Delete a message (Delete Message). Returns False if Discord does not allow it (gone, not ours)."""
        try:
            await self._ask(lambda http: http.delete_message(channel_id, message_id))
        except MessageRejected:
            return False
        return True

    async def typing(self, channel_id: str) -> None:
        """Show the typing indicator (Trigger Typing Indicator) for ten seconds."""
        await self._ask(lambda http: http.send_typing(channel_id))

    async def message(self, channel_id: str, message_id: str) -> Json:
        """Return a message (Get Channel Message)."""
        return await self._ask(lambda http: http.get_message(channel_id, message_id))

    async def newest(
        self, channel_id: str, limit: int = PAGE, *, before: int | None = None
    ) -> Sequence[Json]:
        """Return a channel's newest messages (before `before`), at most one page, newest first."""
        return await self._history(lambda http: http.logs_from(channel_id, limit, before=before))

    async def after(self, channel_id: str, after: int, limit: int) -> Sequence[Json]:
        """Return a channel's messages newer than `after`, oldest first. Beyond `limit`, the oldest are left
        out."""
        page = await self._history(lambda http: http.logs_from(channel_id, PAGE, after=after))
        if len(page) < PAGE:
            return sorted(page, key=_number)
        found: list[Json] = []
        before: int | None = None
        while len(found) < limit:
            page = await self.newest(channel_id, before=before)
            newer = [message for message in page if _number(message) > after]
            found += newer
            if not newer or len(newer) < len(page):
                break
            before = _number(newer[-1])
        return sorted(found[:limit], key=_number)

    # --- interactions and files --------------------------------------------------------------------------

    async def answer(self, interaction_id: str, token: str, body: Json) -> None:
        """Answer an interaction (Create Interaction Response)."""
        path = "/interactions/{webhook_id}/{webhook_token}/callback"
        route = Route("POST", path, webhook_id=interaction_id, webhook_token=token)
        await self._ask(lambda http: http.request(route, json=dict(body)), ANSWER_TIMEOUT_S)

    async def download(self, url: str, limit_bytes: int) -> bytes:
        """Download a received file from the URL in its message."""
        if self._files is None:
            connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=self._tls or True)
            self._files = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        timeout = aiohttp.ClientTimeout(total=FILE_TIMEOUT_S)
        request = self._files.get(url, timeout=timeout, allow_redirects=False)
        return await downloaded(request, limit_bytes, "Discord")

    # --- inside ------------------------------------------------------------------------------------------

    async def _history(self, read: Callable[[DiscordHttp], Awaitable[Any]]) -> Sequence[Json]:
        messages = await self._ask(read)
        return self._read(lambda: [message for message in messages if _number(message) >= 0])

    async def _opened(self) -> DiscordHttp:
        async with self._entering:
            if self._http is None:
                http = DiscordHttp(self._base_url, self._tls)
                self._application_id = await entered(self._login(http), http.close)
                self._http = http
        return self._http

    async def _login(self, http: DiscordHttp) -> str:
        await http.static_login(self._token)
        return str((await http.application_info())["id"])

    async def _ask(
        self, request: Callable[[DiscordHttp], Awaitable[Any]], limit_s: float = TOTAL_TIMEOUT_S
    ) -> Any:
        http = await self._opened()
        try:
            async with asyncio.timeout(limit_s):
                return await request(http)
        except FAILURES as error:
            raise channel_error(error) from None

    def _read(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Unanswered("could not read Discord's response") from error


def _with_file(body: Json, name: str, content: bytes) -> MultipartParameters:
    """Return a message with a file, which the SDK rewinds when it repeats the request."""
    file = discord.File(BytesIO(content), filename=name)
    body = {**body, "attachments": [{"id": 0, "filename": name}]}
    form: list[dict[str, Any]] = [
        {"name": "payload_json", "value": json.dumps(body)},
        {
            "name": "files[0]",
            "value": file.fp,
            "filename": file.filename,
            "content_type": "application/octet-stream",
        },
    ]
    return MultipartParameters(None, form, [file])


def short_nonce(nonce: str) -> str:
    """Return a nonce of the length that Discord accepts. Equal inputs give equal results."""
    return hashlib.sha256(nonce.encode()).hexdigest()[:NONCE_CHARS]


def _number(message: Json) -> int:
    return int(cast("str", message["id"]))
