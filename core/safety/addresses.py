"""Which numeric addresses lie on the public internet, and which others an operator has opened."""

import ipaddress
import re
from dataclasses import dataclass

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NOT_PUBLIC_4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        # the IANA registry of special-purpose addresses (RFC 6890 and its successors)
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
        *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        "168.63.129.16/32",  # a cloud's own service for the machines in it, at a public address
    )
)
_UNICAST_6 = ipaddress.IPv6Network("2000::/3")
"""All that is public in IPv6; mapped, loopback, link-local, private and multicast addresses lie outside."""
_NOT_PUBLIC_6 = tuple(
    ipaddress.IPv6Network(network)
    # protocol assignments with Teredo, documentation, 6to4
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""NAT64 (RFC 6052): the last 32 bits are the IPv4 address that is reached."""

_PRIVATE_6 = tuple(ipaddress.IPv6Network(network) for network in ("::1/128", "fc00::/7", "fe80::/10"))
"""What can be opened in IPv6: nothing that stands for an IPv4 address."""

_FORM = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:./]+)\]|(?P<four>[0-9./]+)):(?P<port>[0-9]{1,5})")
_ADVICE = "write ADDRESS:PORT or NETWORK:PORT, such as 127.0.0.1:8080, 10.0.0.0/8:443 or [fd00::/8]:443"


def is_public(address: str) -> bool:
    """Whether a numeric address lies on the public internet. Raises ValueError where it is none."""
    parsed = ipaddress.ip_address(address)
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _NOT_PUBLIC_4)
    if parsed in _TRANSLATED:
        return is_public(str(ipaddress.IPv4Address(int(parsed) & 0xFFFF_FFFF)))
    return parsed in _UNICAST_6 and not any(parsed in network for network in _NOT_PUBLIC_6)


@dataclass(frozen=True, slots=True)
class Exemption:
    """One port of a private network's addresses, opened although they are not public."""

    network: _Network
    port: int

    @classmethod
    def parse(cls, text: str) -> "Exemption":
        """As operators write it. Raises ValueError, whose text is "problem; what to do"."""
        found = _FORM.fullmatch(text)
        if found is None:
            problem = "names no port" if _is_network(text) else "is no address with a port"
            raise ValueError(f"{problem}; {_ADVICE}")
        port = int(found["port"])
        if not 0 < port < 65536:
            raise ValueError("names a port there is not; write one from 1 to 65535")
        return cls(_private(found["six"] or found["four"]), port)

    def covers(self, address: str, port: int) -> bool:
        """Whether a numeric address and port are opened by it. Raises ValueError where it is no address."""
        return port == self.port and ipaddress.ip_address(address) in self.network


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text.strip("[]"), strict=False)
    except ValueError:
        return False
    return "%" not in text


def _private(written: str) -> _Network:
    """An address or a network, if it lies within one private network. Raises ValueError."""
    try:
        network = ipaddress.ip_network(written)
    except ValueError:
        if not _is_network(written):
            raise ValueError(f"is no address with a port; {_ADVICE}") from None
        meant = ipaddress.ip_network(written, strict=False)
        raise ValueError(f"is an address and a network in one; for the network write {meant}") from None
    if isinstance(network, ipaddress.IPv4Network):
        private = any(network.subnet_of(closer) for closer in _NOT_PUBLIC_4)
    else:
        private = any(network.subnet_of(closer) for closer in _PRIVATE_6)
    if not private:
        raise ValueError("is not within one private network; public addresses need no line here, remove it")
    return network
