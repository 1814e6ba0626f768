"""Requests to the public web, limited in time and size; every connection uses a judged address.

Nothing is shared between two requests: no cookie, no connection, no lookup. Logins and proxies
in the hub's environment are not used.
"""

import asyncio
import errno
import socket
import ssl

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from core.errors import ToolDenied, ToolFailed, ToolTimeout
from core.safety.network import NetworkGuard
from core.web import Interceptor, WebAnswer, WebRequest

MAX_REDIRECTS = 3
ANSWER_LIMIT_BYTES = 5_000_000
CONNECT_TIMEOUT_S = 10.0
"""Limit for one address; also for the lookup and all addresses together."""
SILENCE_TIMEOUT_S = 20.0
"""Limit before the answer's headers, and between two pieces of its body."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PIECE_BYTES = 65_536
_HEADERS = {"User-Agent": "hubbub"}
_AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]]


class WebClient:
    """Client for requests. `tls`: shared by all of them."""

    def __init__(self, guard: NetworkGuard, tls: ssl.SSLContext) -> None:
        self._guard = guard
        self._tls = tls

    async def fetch(self, request: WebRequest, limit_s: float, interceptor: Interceptor) -> WebAnswer:
        """Return the answer, whatever its status, after at most MAX_REDIRECTS redirects, or the interceptor's
        own.

        Redirects are followed for requests without personal data; others get the redirect itself. Raises
        ToolDenied for
        addresses that may not be reached, ToolTimeout after `limit_s`, ToolFailed for everything else that
        goes wrong; the
        message says so where a request that changes something may have been taken.
        """
        found = interceptor.answer(request)
        if found is not None:
            return found
        answer: WebAnswer | None = None
        try:
            async with asyncio.timeout(limit_s):
                answer = await self._follow(request)
                return answer
        except TimeoutError:
            text = f"{request.url.host} sent no complete response within {limit_s:g} s."
            raise ToolTimeout(text + _perhaps_taken(request)) from None
        finally:
            interceptor.answered(request, answer)

    async def _follow(self, request: WebRequest) -> WebAnswer:
        url = request.url
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._send(request, url)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None or not request.may_be_redirected:
                return answer
            url = self._redirected(url, location)
        raise ToolFailed(f"{request.url.host} redirects more than {MAX_REDIRECTS} times.")

    def _redirected(self, url: URL, location: str) -> URL:
        try:
            joined = str(url.join(URL(location)))
        except ValueError as error:
            raise ToolFailed(f"{url.host} redirects to an invalid address.") from error
        target = self._guard.web_address(joined)
        if target.user is not None or target.password is not None:
            raise ToolDenied(f"{url.host} redirects to an address that contains a login")
        return target

    async def _send(self, request: WebRequest, url: URL) -> WebAnswer:
        """Send one request on one connection. Raises like `fetch`, and TimeoutError only for the whole
        limit."""
        try:
            async with (
                self._session() as session,
                session.request(
                    request.method, url, headers=request.headers, data=request.body, allow_redirects=False
                ) as response,
            ):
                return await _answer(url, response)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise ToolFailed(f"can't reach {url.host}: {_cause(error)}") from error
        except aiohttp.ServerTimeoutError as error:
            raise ToolFailed(f"{url.host} stopped responding.{_perhaps_taken(request)}") from error
        except aiohttp.ClientError as error:
            text = f"{url.host} sent a response that is not readable: {_cause(error)}"
            raise ToolFailed(text + _perhaps_taken(request)) from error

    def _session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=self._tls,
            resolver=_CheckedResolver(self._guard),
            use_dns_cache=False,
            force_close=True,
            socket_factory=self._socket,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers=_HEADERS,
            timeout=aiohttp.ClientTimeout(
                total=None,
                connect=CONNECT_TIMEOUT_S,
                sock_connect=CONNECT_TIMEOUT_S,
                sock_read=SILENCE_TIMEOUT_S,
            ),
        )

    def _socket(self, address: _AddressInfo) -> socket.socket:
        """Create a socket after a last check: this exact address is about to be connected to."""
        family, kind, protocol, _, endpoint = address
        host, port = str(endpoint[0]), endpoint[1]
        if not isinstance(port, int) or not self._guard.reachable(host, port):
            raise PermissionError(errno.EACCES, f"{host} is not on the public internet")
        return socket.socket(family, kind, protocol)


class _CheckedResolver(AbstractResolver):
    """A resolver by which aiohttp connects to the judged addresses alone: it looks nothing up by itself."""

    def __init__(self, guard: NetworkGuard) -> None:
        self._guard = guard

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 — both are looked up
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in await self._guard.addresses(host, port)
        ]

    async def close(self) -> None:
        pass  # this class does not own the lookup


async def _answer(url: URL, response: aiohttp.ClientResponse) -> WebAnswer:
    body = bytearray()
    async for piece in response.content.iter_chunked(_PIECE_BYTES):
        body += piece
        if len(body) > ANSWER_LIMIT_BYTES:
            raise ToolFailed(
                f"{url.host} responded with HTTP {response.status}, but with more than "
                f"{ANSWER_LIMIT_BYTES} bytes, which is too much to read."
            )
    headers = {name.lower(): value for name, value in response.headers.items()}
    return WebAnswer(url.with_user(None), response.status, response.reason or "", headers, bytes(body))


def _perhaps_taken(request: WebRequest) -> str:
    return "" if request.only_reads else f" The {request.method} request may or may not have been processed."


def _cause(error: aiohttp.ClientError) -> str:
    said = str(error)
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        said = error.os_error.strerror or said
    text = " ".join(said.split()) or type(error).__name__
    return f"{text[:300].rstrip('.')}."
