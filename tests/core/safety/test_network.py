"""Which addresses may be reached: what is public, what only looks so, and what a name may stand for."""

import contextlib
import ipaddress
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ToolDenied, ToolError, ToolFailed
from core.safety.network import Exemption, NetworkGuard, SystemLookup, is_public


class Names:
    """A look-up that knows these names; several lists for one name are given out one after the other."""

    def __init__(self, **names: Sequence[Sequence[str]]) -> None:
        self._names = {name.replace("_", "."): list(answers) for name, answers in names.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self._names.get(host)
        if not answers:
            raise OSError("Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]


GUARD = NetworkGuard(Names())


@pytest.mark.parametrize(
    "address",
    [
        *("8.8.8.8", "1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.255.255", "100.128.0.1"),
        *("192.0.1.1", "198.17.0.1", "223.255.255.255", "169.253.1.1", "168.63.129.15"),
        *("2606:4700:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "64:ff9b::808:808"),
    ],
)
def test_public_addresses_are_allowed(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "0.0.0.0"),
        *("169.254.169.254", "100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16"),
        *("192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.9", "224.0.0.1", "240.0.0.1"),
        *(
            "255.255.255.255",
            "192.88.99.1",
            "::1",
            "::",
            "fe80::1",
            "fe80::1%eth0",
            "fc00::1",
            "fd00:ec2::254",
        ),
        *("::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
        *(
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "ff02::1",
            "fec0::1",
            "100::1",
            "3fff::1",
        ),
    ],
)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    assert not is_public(address)


@given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
def test_nothing_python_knows_as_private_is_public(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    closer = address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
    assert not (closer and is_public(str(address)))


@pytest.mark.parametrize(
    "url",
    [
        *(
            "https://example.org",
            "http://example.org:8080/a?b=c#d",
            "HTTPS://EXAMPLE.ORG/",
            "http://8.8.8.8/",
        ),
        *(
            "https://münchen.example/ü?q=ü",
            "https://user:pw@example.org/",
            "http://[2606:4700:4700::1111]:80/",
        ),
        *("http://a_b.example", "http://example.org./", "http://1.example", "http://x"),
    ],
)
def test_web_addresses_are_read(url: str) -> None:
    assert GUARD.web_address(url).scheme in ("http", "https")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "x",
            "example.org",
            "//example.org/",
            "ftp://example.org/",
            "file:///etc/passwd",
            "javascript:1",
        ),
        *("gopher://example.org/", "data:text/plain,x", "ws://example.org/", "http:", "http://", "http:///x"),
        *(
            "http:x",
            "http://?x",
            "http://exa mple.org/",
            "http://example.org/\r\nHost: x",
            "http://a\tb/",
            "\ud800",
        ),
        *(
            "http://example.org\\@10.0.0.1/",
            "http:\\\\10.0.0.1\\",
            "http://example.org:0/",
            "http://h:99999/",
        ),
        *("http://[::1", "http://[1.2.3.4]/", "http://a..b/", "http://-a.b/", "http://a%2eb/", "http://*.b/"),
        "http://example.org/" + "a" * 8000,
        "http://" + "a" * 64 + ".org/",
    ],
)
def test_invalid_web_addresses_are_refused(url: str) -> None:
    with pytest.raises(ToolDenied):
        GUARD.web_address(url)


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://10.0.0.1:80/", "http://[::1]/", "http://[::ffff:10.0.0.1]/"),
        *("http://[fe80::1%25eth0]/", "http://localhost/", "https://LOCALHOST./", "http://a.localhost:1/"),
        *(
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
        ),
        *("http://127.0.0.1./", "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://user@127.0.0.1/"),
        *("http://example.org@169.254.169.254/", "http://1.2.3/", "http://a.1/", "http://8.8.8.8./"),
    ],
)
def test_private_addresses_are_refused_in_every_spelling(url: str) -> None:
    with pytest.raises(ToolDenied, match="not on the public internet"):
        GUARD.web_address(url)


@given(url=st.text(max_size=40) | st.text(max_size=30).map("http://{}".format))
def test_any_text_is_an_address_or_refused(url: str) -> None:
    with contextlib.suppress(ToolDenied):
        address = GUARD.web_address(url)
        assert address.scheme in ("http", "https")
        assert GUARD.web_address(str(address)) == address


async def test_every_address_of_a_name_must_be_public() -> None:
    names = Names(
        good_example=[["8.8.8.8", "2606:4700:4700::1111"]],
        bad_example=[["8.8.8.8", "10.0.0.1"]],
        mapped_example=[["::ffff:8.8.8.8"]],
        odd_example=[["no address"]],
        empty_example=[[]],
    )
    guard = NetworkGuard(names)
    assert await guard.addresses("good.example", 443) == ["8.8.8.8", "2606:4700:4700::1111"]
    for host in ("bad.example", "mapped.example", "odd.example"):
        with pytest.raises(ToolDenied, match=f"{host} is not on the public internet"):
            await guard.addresses(host, 443)
    with pytest.raises(ToolFailed, match=r"empty\.example has no address"):
        await guard.addresses("empty.example", 443)
    with pytest.raises(ToolFailed, match=r"unknown\.example could not be found: Name or service not known"):
        await guard.addresses("unknown.example", 443)


async def test_an_exempt_endpoint_is_reached_and_no_other_port_of_it() -> None:
    opened = [Exemption.parse("192.168.1.5:8123"), Exemption.parse("127.0.0.1:80")]
    guard = NetworkGuard(Names(home_example=[["192.168.1.5"]]), opened)
    assert guard.web_address("http://192.168.1.5:8123/x").port == 8123
    assert guard.web_address("http://localhost/").host == "localhost"
    assert await guard.addresses("home.example", 8123) == ["192.168.1.5"]
    for url in ("http://192.168.1.5/", "http://localhost:81/", "http://192.168.1.6:8123/"):
        with pytest.raises(ToolDenied):
            guard.web_address(url)
    with pytest.raises(ToolDenied):
        await guard.addresses("home.example", 443)


async def test_the_machines_own_look_up_gives_numeric_addresses_once_each() -> None:
    lookup = SystemLookup()
    assert await lookup("127.0.0.1", 80) == ["127.0.0.1"]
    assert "127.0.0.1" in [*await lookup("localhost", 80), "::1"]
    with pytest.raises(ToolError):
        await NetworkGuard(lookup).addresses("localhost", 80)
    with pytest.raises(ToolFailed, match="could not be found"):
        await NetworkGuard(lookup).addresses("nothing.invalid", 80)
