"""Private networks that an operator can open, and what such a line never opens."""

import contextlib
import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.safety.network import Exemption, is_public


@pytest.mark.parametrize(
    "line, inside, outside",
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080), ("127.0.0.1", 8081)),
        ("127.0.0.1:8080", ("127.0.0.1", 8080), ("127.0.0.2", 8080)),
        ("10.0.0.0/8:443", ("10.255.0.1", 443), ("11.0.0.1", 443)),
        ("192.168.1.0/24:80", ("192.168.1.9", 80), ("192.168.2.9", 80)),
        ("169.254.169.254:80", ("169.254.169.254", 80), ("169.254.169.253", 80)),
        ("[::1]:8080", ("::1", 8080), ("127.0.0.1", 8080)),
        ("[fd00::/8]:443", ("fd12::7", 443), ("fe80::7", 443)),
        ("10.0.0.0/8:443", ("10.1.2.3", 443), ("::ffff:10.1.2.3", 443)),
        ("10.0.0.0/8:443", ("10.1.2.3", 443), ("64:ff9b::a01:203", 443)),
    ],
)
def test_a_line_opens_exactly_its_addresses(
    line: str, inside: tuple[str, int], outside: tuple[str, int]
) -> None:
    exemption = Exemption.parse(line)
    assert exemption.covers(*inside)
    assert not exemption.covers(*outside)


@pytest.mark.parametrize(
    "line, said",
    [
        ("", "is not an address with a port; use ADDRESS:PORT"),
        ("127.0.0.1", "has no port; use ADDRESS:PORT"),
        ("10.0.0.0/8", "has no port; use ADDRESS:PORT"),
        ("[::1]", "has no port"),
        ("localhost:80", "is not an address with a port"),  # a name may stand for anything tomorrow
        ("intranet.example:443", "is not an address with a port"),
        ("http://10.0.0.1:80", "is not an address with a port"),
        ("::1:80", "has no port"),
        ("[fe80::1%eth0]:80", "is not an address with a port"),
        ("10.0.0.1.5:80", "is not an address with a port"),
        ("010.0.0.1:80", "is not an address with a port"),
        ("10.0.0.0/33:80", "is not an address with a port"),
        ("127.0.0.1:*", "is not an address with a port"),
        ("127.0.0.1:0", "has an invalid port; use one from 1 to 65535"),
        ("127.0.0.1:65536", "has an invalid port"),
        ("10.0.0.1/8:80", "mixes an address and a network; for the network use 10.0.0.0/8"),
        ("8.8.8.8:53", "is not within one private network; public addresses need no entry"),
        ("0.0.0.0/0:80", "is not within one private network"),
        ("10.0.0.0/7:80", "is not within one private network"),
        ("[::/0]:80", "is not within one private network"),
        ("[::ffff:10.0.0.0/104]:80", "is not within one private network"),
        ("[::ffff:a00:1]:80", "is not within one private network"),
        ("[64:ff9b::/96]:80", "is not within one private network"),
        ("[2606:4700::1]:80", "is not within one private network"),
    ],
)
def test_an_unclear_line_is_refused_with_advice(line: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        Exemption.parse(line)
    assert str(refused.value).startswith(said)


@given(
    address=st.ip_addresses(v=4) | st.ip_addresses(v=6),
    prefix=st.integers(0, 128),
    port=st.integers(-1, 70_000),
    bracketed=st.booleans(),
)
def test_no_line_covers_an_address_that_is_public(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, prefix: int, port: int, *, bracketed: bool
) -> None:
    text = f"[{address}/{prefix}]" if bracketed else f"{address}/{prefix}"
    try:
        exemption = Exemption.parse(f"{text}:{port}")
    except ValueError:
        return
    assert not is_public(str(exemption.network[0]))
    assert not is_public(str(exemption.network[-1]))
    assert exemption.covers(str(address), port)


@given(st.text(max_size=30) | st.from_regex(r"[0-9.:/\[\]]{1,20}:[0-9]{1,5}", fullmatch=True))
def test_any_text_is_a_line_or_refused_with_advice(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert Exemption.parse(text).port > 0
        return
    with pytest.raises(ValueError, match="; "):
        Exemption.parse(text)
