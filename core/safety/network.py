"""Network addresses a tool may reach: the public internet, and what the operator opened.

Judged three times, by the same rules: the address as written; every address its name resolves to, before a
connection is made (one lookup per connection, so that a name cannot change its meaning between judgment
and use);
and the very address a socket is about to connect to.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from yarl import URL

from core.errors import ToolDenied, ToolFailed
from core.lazy import dataclass

# Numeric addresses on the public internet, and others an operator opened.

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NOT_PUBLIC_4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        # the IANA registry of special-purpose addresses (RFC 6890 and its successors)
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # a cloud's own service for its machines, at a public address
    )
)
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
"""All public IPv6 addresses; mapped, loopback, link-local, private and multicast ones lie outside."""
_NOT_PUBLIC_6 = tuple(
    ipaddress.IPv6Network(network)
    # protocol assignments with Teredo, documentation, 6to4
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""NAT64 (RFC 6052): the last 32 bits are the target IPv4 address."""

_PRIVATE_6 = tuple(ipaddress.IPv6Network(network) for network in ("::1/128", "fc00::/7", "fe80::/10"))
"""IPv6 networks that can be opened: none that stands for an IPv4 address."""

_FORM = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:./]+)\]|(?P<four>[0-9./]+)):(?P<port>[0-9]{1,5})")
_ADVICE = "use ADDRESS:PORT or NETWORK:PORT, such as 127.0.0.1:8080, 10.0.0.0/8:443 or [fd00::/8]:443"


def is_public(address: str) -> bool:
    """Return whether a numeric address lies on the public internet. Raises ValueError for any other text."""
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _NOT_PUBLIC_4)
    if parsed in _TRANSLATED:
        return is_public(str(ipaddress.IPv4Address(int(parsed) & 0xFFFF_FFFF)))
    return parsed in _UNICAST_6 and not any(parsed in network for network in _NOT_PUBLIC_6)


@dataclass(frozen=True, slots=True)
class Exemption:
    """One port of a private network's addresses, open although they are not public."""

    network: _Network
    port: int

    @classmethod
    def parse(cls, text: str) -> "Exemption":
        """Parse an operator's text. Raises ValueError, whose text is "problem; what to do"."""
        found = _FORM.fullmatch(text)
        if found is None:
            problem = "has no port" if _is_network(text) else "is not an address with a port"
            raise ValueError(f"{problem}; {_ADVICE}")
        port = int(found["port"])
        if not 0 < port < 65536:
            raise ValueError("has an invalid port; use one from 1 to 65535")
        return cls(_private(found["six"] or found["four"]), port)

    def covers(self, address: str, port: int) -> bool:
        """Return whether it opens a numeric address and port. Raises ValueError for any other text."""
        return port == self.port and ipaddress.ip_address(address) in self.network


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text.strip("[]"), strict=False)
    except ValueError:
        return False
    return "%" not in text


def _private(written: str) -> _Network:
    """Return an address or a network, if it lies within one private network. Raises ValueError."""
    try:
        network = ipaddress.ip_network(written)
    except ValueError:
        if not _is_network(written):
            raise ValueError(f"is not an address with a port; {_ADVICE}") from None
        meant = ipaddress.ip_network(written, strict=False)
        raise ValueError(f"mixes an address and a network; for the network use {meant}") from None
    if isinstance(network, ipaddress.IPv4Network):
        private = any(network.subnet_of(closer) for closer in _NOT_PUBLIC_4)
    else:
        private = any(network.subnet_of(closer) for closer in _PRIVATE_6)
    if not private:
        raise ValueError("is not within one private network; public addresses need no entry, remove it")
    return network


URL_LIMIT_CHARS = 8000
LOOKUP_THREADS = 4

Lookup = Callable[[str, int], Awaitable[Sequence[str]]]
"""Function that returns the numeric addresses of a host name. Raises OSError if there are none."""

_NOT_IN_A_URL = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")
_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}\.?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOOPBACK = "127.0.0.1"


class SystemLookup:
    """The machine's own resolver, in its own threads: if it hangs, nothing else waits for a thread."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(LOOKUP_THREADS, thread_name_prefix="look-up")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        look = partial(socket.getaddrinfo, host.encode("ascii"), port, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, look)
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class NetworkGuard:
    """Guard of addresses. `exempt`: non-public addresses that may be reached."""

    def __init__(self, lookup: Lookup, exempt: Sequence[Exemption] = ()) -> None:
        self._lookup = lookup
        self._exempt = tuple(exempt)

    def web_address(self, text: str) -> URL:
        """Return the address, parsed as it will be used. Raises ToolDenied; looks nothing up."""
        if len(text) > URL_LIMIT_CHARS or _NOT_IN_A_URL.search(text):
            raise ToolDenied("it is not a web address: too long, or with invalid characters")
        try:
            url = URL(text)
            host, port = url.raw_host or "", url.port or 0
        except ValueError as error:
            raise ToolDenied(f"it is not a web address: {error}") from error
        if url.scheme not in ("http", "https") or not host:
            raise ToolDenied("only addresses that start with https:// or http:// can be fetched")
        if not 0 < port < 65536:
            raise ToolDenied("it is not a web address: the port is not valid")
        self._judge_host(host, port)
        return url

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Look up a host's name. Raises ToolDenied unless all its addresses may be reached, ToolFailed if
        it has none."""
        found = await self._looked_up(host, port)
        if not all(self.reachable(address, port) for address in found):
            raise ToolDenied(f"{host} is not on the public internet")
        return found

    async def _looked_up(self, host: str, port: int) -> Sequence[str]:
        try:
            found = await self._lookup(host, port)
        except OSError as error:
            raise ToolFailed(f"{host} could not be found: {error.strerror or error}.") from error
        if not found:
            raise ToolFailed(f"{host} has no address.")
        return found

    def reachable(self, address: str, port: int) -> bool:
        """Return whether a socket may connect to this numeric address."""
        try:
            return is_public(address) or any(one.covers(address, port) for one in self._exempt)
        except ValueError:
            return False

    def _judge_host(self, host: str, port: int) -> None:
        literal = _LOOPBACK if _is_localhost(host) else host
        if ":" in literal or _NUMBER.fullmatch(literal.rstrip(".").rpartition(".")[2]):
            # `1.2.3`, `0x7f.1` and other spellings of a number are not accepted as addresses.
            if not self.reachable(literal, port):
                raise ToolDenied(f"{host} is not on the public internet")
        elif not _HOST_NAME.fullmatch(host):
            raise ToolDenied("it is not a web address: the host name is not valid")


def destination(text: str) -> tuple[str, int]:
    """Return the host name, in lower case, and the port of an operator's NAME:PORT. Raises ValueError, whose
    text is "problem; what to do"."""
    name, _, port = text.lower().rpartition(":")
    number = int(port) if re.fullmatch("[0-9]{1,5}", port) else 0
    if not name or not 0 < number < 65536:
        raise ValueError("is not a host name with a port; use NAME:PORT, such as files.example.org:443")
    name = name.rstrip(".")
    if not _HOST_NAME.fullmatch(name) or _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise ValueError("does not begin with a host name; use NAME:PORT, such as files.example.org:443")
    return name, number


def _is_localhost(host: str) -> bool:
    return f".{host.rstrip('.')}".endswith(".localhost")


class OwnHostGuard(NetworkGuard):
    """Guard that also lets one host and port be reached wherever they are: those that an operator configured
    for one purpose. Redirects from there are judged like any address."""

    def __init__(self, lookup: Lookup, exempt: Sequence[Exemption], own: URL) -> None:
        super().__init__(lookup, exempt)
        self._own = (own.raw_host or "", own.port or 0)
        self._found = frozenset({self._own[0]})

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        if (host, port) != self._own:
            return await super().addresses(host, port)
        found = await self._looked_up(host, port)
        self._found = frozenset(found)
        return found

    def reachable(self, address: str, port: int) -> bool:
        return (port == self._own[1] and address in self._found) or super().reachable(address, port)


class ServerGuard(OwnHostGuard):
    """Guard of the addresses that a server names: public ones, the server's own, and all loopback ones if the
    server itself is there."""

    def __init__(self, lookup: Lookup, exempt: Sequence[Exemption], server: URL) -> None:
        super().__init__(lookup, exempt, server)
        self._near = _is_loopback(server.raw_host or "")

    def reachable(self, address: str, port: int) -> bool:
        return super().reachable(address, port) or (self._near and _is_loopback(address))

    def web_address(self, text: str) -> URL:
        url = super().web_address(text)
        if url.scheme != "https" and not (self._near and _is_loopback(url.raw_host or "")):
            raise ToolDenied("it is not https")
        return url


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
