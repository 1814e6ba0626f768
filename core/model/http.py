"""The one HTTP client shared by all model calls: httpx's interface over aiohttp's connections.

httpx's own transport costs about twice the CPU per call, and its pool slows down with every idle
connection. aiohttp's does not, so hundreds of calls that each last minutes can share one pool.
"""

import ssl
from typing import Any

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

CONNECT_TIMEOUT_S = 10.0
"""The limit for TCP and TLS to one address of the provider."""
OPEN_TIMEOUT_S = 20.0
"""The limit for obtaining a connection: name lookup, all addresses tried, and a free pool slot."""
READ_TIMEOUT_S = 60.0
"""The longest silence before the answer's headers and between parts of its body. There is no total
limit."""
MAX_CONNECTIONS = 1000
KEEPALIVE_S = 60.0


class ProviderClient(httpx.AsyncClient):
    """An httpx client without cookies, redirects or credential lookup, which no provider's API uses.

    Leaving them out saves a third of a call's cost. Build its requests with `httpx.Request`, with
    all their headers."""

    def __init__(self, transport: AiohttpTransport, timeout: httpx.Timeout) -> None:
        super().__init__(transport=transport, timeout=timeout, trust_env=False)
        self._direct = transport

    async def send(self, request: httpx.Request, *, stream: bool = False, **_: Any) -> httpx.Response:
        """Hand the request to the transport, as httpx.AsyncClient.send. A key never travels to
        another host, since redirects are the caller's to follow."""
        if self.is_closed:
            raise RuntimeError("the client is closed")
        response = await self._direct.handle_async_request(request)
        if not stream:
            try:
                await response.aread()
            finally:
                await response.aclose()
        return response


def model_client(
    *, tls: ssl.SSLContext | None = None, read_timeout_s: float = READ_TIMEOUT_S
) -> httpx.AsyncClient:
    """Build the client. The caller closes it (`aclose`).

    It takes no proxy and no credentials from the environment. `tls`: a context shared with other
    clients; by default `tls_context()`. `read_timeout_s`: the longest silence of a provider.
    """
    context = tls if tls is not None else tls_context()

    def session() -> aiohttp.ClientSession:
        """Open a session. The transport calls this at the first request, because a session belongs to the
        running event loop."""
        connector = aiohttp.TCPConnector(ssl=context, limit=MAX_CONNECTIONS, keepalive_timeout=KEEPALIVE_S)
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    timeout = httpx.Timeout(connect=CONNECT_TIMEOUT_S, read=read_timeout_s, write=None, pool=OPEN_TIMEOUT_S)
    return ProviderClient(AiohttpTransport(verify=context, client=session), timeout)


def tls_context() -> ssl.SSLContext:
    """Return a context that trusts the public authorities and those installed on this machine."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context
