"""How python-telegram-bot's `Bot` reaches Telegram: httpx requests handed straight to aiohttp connections.

An httpx client between the two would keep cookies, follow redirects and look for credentials, none of which
the Bot API has; it costs as much as the request itself.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport
from telegram.error import NetworkError, TimedOut
from telegram.request import BaseRequest, RequestData

KEEP_ALIVE_S: Final = 30.0
JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class RequestTimeouts:
    """`pool_s`: for a place among the connections and connecting altogether; `read_s`: of silence."""

    connect_s: float
    pool_s: float
    read_s: float


class BotRequest(BaseRequest):
    """Implements python-telegram-bot's port to the network. Raises TimedOut and NetworkError, their cause
    being httpx's error and its cause the transport's.

    `tls`: shared with other clients, since making one takes tens of milliseconds.
    """

    __slots__ = ("_answered", "_headers", "_timeouts", "_transport", "_urls")

    def __init__(self, tls: ssl.SSLContext, connections: int, timeouts: RequestTimeouts) -> None:
        def session() -> aiohttp.ClientSession:
            """Made at the first request: a session belongs to the running event loop."""
            connector = aiohttp.TCPConnector(ssl=tls, limit=connections, keepalive_timeout=KEEP_ALIVE_S)
            return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

        self._transport = AiohttpTransport(verify=tls, client=session)
        self._timeouts = timeouts
        self._answered: httpx.Headers | None = None
        self._headers = {"User-Agent": self.USER_AGENT}
        self._urls: dict[str, httpx.URL] = {}

    @property
    def read_timeout(self) -> float | None:
        """Seconds of silence after which an answer is given up."""
        return self._timeouts.read_s

    @property
    def answer_date(self) -> str | None:
        """When the newest answer was given, by Telegram's clock: an HTTP date."""
        return None if self._answered is None else self._answered.get("Date")

    async def initialize(self) -> None:
        """Nothing to do: connections are made when they are needed."""

    async def shutdown(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = BaseRequest.DEFAULT_NONE,
        write_timeout: Any = BaseRequest.DEFAULT_NONE,  # noqa: ARG002 - the transport has none
        connect_timeout: Any = BaseRequest.DEFAULT_NONE,
        pool_timeout: Any = BaseRequest.DEFAULT_NONE,
    ) -> tuple[int, bytes]:
        """See BaseRequest: the status and the body of the answer."""
        own = self._timeouts
        limits = {
            "read": _seconds(read_timeout, own.read_s),
            "connect": _seconds(connect_timeout, own.connect_s),
            "pool": _seconds(pool_timeout, own.pool_s),
        }
        request = self._request(method, url, request_data, {"timeout": limits})
        try:
            response = await self._transport.handle_async_request(request)
            try:
                body = await response.aread()
            finally:
                await response.aclose()
        except httpx.TimeoutException as error:
            raise TimedOut from error
        except httpx.HTTPError as error:
            raise NetworkError(f"httpx.{type(error).__name__}: {error}") from error
        self._answered = response.headers
        return response.status_code, body

    def _request(
        self, method: str, url: str, data: RequestData | None, extensions: Mapping[str, Any]
    ) -> httpx.Request:
        if data is not None and (files := data.multipart_data):
            fields = data.json_parameters
            made = httpx.Request(
                method, url, headers=self._headers, data=fields, files=files, extensions=extensions
            )
        elif data is not None:
            headers = {**self._headers, "Content-Type": JSON}
            body, parsed = data.json_payload, self._parsed(url)
            made = httpx.Request(method, parsed, headers=headers, content=body, extensions=extensions)
        else:
            made = httpx.Request(method, url, headers=self._headers, extensions=extensions)
        made.headers.encoding = "ascii"  # else it is guessed anew for each header that is read
        return made

    def _parsed(self, url: str) -> httpx.URL:
        """The address of an API method: few, and used over and over. (Files' addresses don't come here.)"""
        parsed = self._urls.get(url)
        if parsed is None:
            parsed = self._urls[url] = httpx.URL(url)
        return parsed


def _seconds(asked: Any, own: float) -> float | None:
    """What the caller of a Bot method asked for: a number, None for no limit, or the library's mark for
    "nothing"."""
    return asked if asked is None or isinstance(asked, (int, float)) else own
