"""Which of the network's addresses a tool may reach: web addresses on the public internet, and nothing closer
but what the operator opened.

Judged three times, by the same rules: the address as it is written; every address its name stands for, when
a connection is about to be made (one look-up per connection, so that a name cannot mean one thing when it is
judged and another when it is used); and the very address a socket is about to be connected to.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from yarl import URL

from core.errors import ToolDenied, ToolFailed
from core.safety.addresses import Exemption, is_public

URL_LIMIT_CHARS = 8000
LOOKUP_THREADS = 4

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""The numeric addresses a host's name stands for. Raises OSError where there are none."""

_NOT_IN_A_URL = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")
_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}\.?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOOPBACK = "127.0.0.1"


class SystemLookup:
    """The machine's own resolver, in threads of its own: if it hangs, nothing else waits for a thread."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUP_THREADS, thread_name_prefix="look-up")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """See Lookup."""
        look = partial(socket.getaddrinfo, host.encode("ascii"), port, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look)
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class NetworkGuard:
    """Judges addresses. `exempt`: what may be reached although it is not public."""

    def __init__(self, lookup: Lookup, exempt: Sequence[Exemption] = ()) -> None:
        self._lookup = lookup
        self._exempt = tuple(exempt)

    def web_address(self, text: str) -> URL:
        """The address, parsed as it will be used. Raises ToolDenied; looks nothing up."""
        if len(text) > URL_LIMIT_CHARS or _NOT_IN_A_URL.search(text):
            raise ToolDenied("it is no web address: too long, or with characters that do not belong there")
        try:
            url = URL(text)
            host, port = url.raw_host or "", url.port or 0
        except ValueError as error:
            raise ToolDenied(f"it is no web address: {error}") from error
        if url.scheme not in ("http", "https") or not host:
            raise ToolDenied("only web addresses can be fetched, those that begin with https:// or http://")
        if not 0 < port < 65536:
            raise ToolDenied("it is no web address: there is no such port")
        self._judge_host(host, port)
        return url

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Look a host's name up. Raises ToolDenied unless all its addresses may be reached, ToolFailed where
        it has none."""
        try:
            found = await self._lookup(host, port)
        except OSError as error:
            raise ToolFailed(f"{host} could not be found: {error.strerror or error}.") from error
        if not found:
            raise ToolFailed(f"{host} has no address.")
        if not all(self.reachable(address, port) for address in found):
            raise ToolDenied(f"{host} is not on the public internet")
        return found

    def reachable(self, address: str, port: int) -> bool:
        """Whether a socket may be connected to this numeric address."""
        try:
            return is_public(address) or any(one.covers(address, port) for one in self._exempt)
        except ValueError:
            return False

    def _judge_host(self, host: str, port: int) -> None:
        literal = _LOOPBACK if _is_localhost(host) else host
        if ":" in literal or _NUMBER.fullmatch(literal.rstrip(".").rpartition(".")[2]):
            # `1.2.3`, `0x7f.1` and other ways to write a number are no addresses here.
            if not self.reachable(literal, port):
                raise ToolDenied(f"{host} is not on the public internet")
        elif not _HOST_NAME.fullmatch(host):
            raise ToolDenied("it is no web address: there is no such host name")


def _is_localhost(host: str) -> bool:
    return f".{host.rstrip('.')}".endswith(".localhost")
