"""The web client against real servers: what they see of it, and what it makes of what they do."""

import asyncio
import contextlib
import gzip
import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web

from core.errors import ToolDenied, ToolFailed, ToolTimeout
from core.safety.network import Exemption, NetworkGuard
from core.tools import web_client as hub_client
from core.tools.web_client import WebClient
from core.web import UNINTERCEPTED, WebAnswer, web_request
from tests.core.model.test_http import self_signed
from tests.core.tools.website import SITE, Website

TLS = ssl.create_default_context()
LIMIT_S = 20.0


@pytest_asyncio.fixture
async def site() -> AsyncIterator[Website]:
    async with Website() as website:
        yield website


async def fetch(
    guard: NetworkGuard,
    url: str,
    *,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
    limit_s: float = LIMIT_S,
    tls: ssl.SSLContext = TLS,
) -> WebAnswer:
    request = web_request(method, guard.web_address(url), headers or {}, body)
    return await WebClient(guard, tls).fetch(request, limit_s, UNINTERCEPTED)


async def to_this_machine(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


def redirect(to: str, status: int = 302) -> web.Response:
    return web.Response(status=status, headers={"Location": to})


# --- one request -----------------------------------------------------------------------------------------


async def test_an_answer_is_fetched_by_name(site: Website) -> None:
    answer = await fetch(site.guard(), site.url("/a?b=c%20d#e"))
    assert (answer.status, answer.body) == (200, b"hello from /a")
    assert answer.headers["content-type"].startswith("text/plain")
    assert str(answer.url) == site.url("/a?b=c%20d#e")
    (seen,) = site.seen
    assert seen.headers["Host"] == f"{SITE}:{site.port}"
    assert seen.query == {"b": "c d"}
    assert seen.headers["User-Agent"] == "hubbub"


async def test_request_bodies_arrive_unchanged(site: Website) -> None:
    headers = {"Content-Type": "application/json", "X-Trace": "grün"}
    await fetch(site.guard(), site.url("/in"), method="PUT", headers=headers, body=b'{"a": 1}')
    (seen,) = site.seen
    assert (seen.method, site.bodies) == ("PUT", [b'{"a": 1}'])
    assert seen.headers["X-Trace"] == "grün"
    assert seen.headers["Content-Type"] == "application/json"


async def test_any_status_is_an_answer(site: Website) -> None:
    async def gone(_: web.Request) -> web.StreamResponse:
        return web.Response(status=410, text="gone")

    site.answer = gone
    answer = await fetch(site.guard(), site.url())
    assert (answer.status, answer.reason, answer.body) == (410, "Gone", b"gone")


async def test_a_login_in_the_address_is_sent_and_not_repeated(site: Website) -> None:
    answer = await fetch(site.guard(), f"http://user:pw@{SITE}:{site.port}/")
    assert site.seen[0].headers["Authorization"] == "Basic dXNlcjpwdw=="
    assert str(answer.url) == site.url("/")


async def test_nothing_is_kept_between_requests(site: Website) -> None:
    async def cookie(request: web.Request) -> web.StreamResponse:
        return web.Response(headers={"Set-Cookie": "track=1; Path=/"})

    site.answer = cookie
    guard = site.guard()
    client = WebClient(guard, TLS)
    for _ in range(3):
        await client.fetch(
            web_request("GET", guard.web_address(site.url()), {}, None), LIMIT_S, UNINTERCEPTED
        )
    assert [seen.headers.get("Cookie") for seen in site.seen] == [None] * 3
    assert [seen.headers["Connection"] for seen in site.seen] == ["close"] * 3


async def test_the_environments_proxy_and_logins_are_not_used(
    site: Website, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text(f"machine {SITE} login somebody password hunter2\n")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    await fetch(site.guard(), site.url())
    assert "Authorization" not in site.seen[0].headers


# --- where it may go -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look_up",
    [
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["::1"],
        ["127.0.0.1", "192.168.0.1"],
        ["8.8.8.8", "127.0.0.1", "fd00::1"],
        ["127.0.0.2"],
    ],
)
async def test_a_name_with_any_address_that_is_not_public_is_not_reached(
    site: Website, look_up: Sequence[str]
) -> None:
    with pytest.raises(ToolDenied, match=f"{SITE} is not on the public internet"):
        await fetch(site.guard(look_up), site.url())
    assert site.seen == []


async def test_the_connection_goes_to_the_address_that_was_judged(site: Website) -> None:
    """The name stands for another server at the next look-up: there is none before the request."""
    async with Website(host="127.0.0.2", port=site.port) as other:
        guard = site.guard(["127.0.0.1"], ["127.0.0.2"], exempt=[f"127.0.0.2:{site.port}"])
        await fetch(guard, site.url("/first"))
        await fetch(guard, site.url("/second"))
        assert (site.paths, other.paths) == (["/first"], ["/second"])


async def test_a_name_that_resolves_to_another_address_is_judged_again(site: Website) -> None:
    guard = site.guard([site.host], ["10.0.0.1"])
    await fetch(guard, site.url("/first"))
    with pytest.raises(ToolDenied, match="not on the public internet"):
        await fetch(guard, site.url("/second"))
    assert site.paths == ["/first"]


class FickleGuard(NetworkGuard):
    """Lets an address pass so many times."""

    passes = 0

    def reachable(self, address: str, port: int) -> bool:
        self.passes -= 1
        return self.passes >= 0 and super().reachable(address, port)


@pytest.mark.parametrize("host", [SITE, "127.0.0.1"])
async def test_the_address_of_the_socket_itself_is_judged_last(site: Website, host: str) -> None:
    guard = FickleGuard(to_this_machine, [Exemption.parse(f"{site.host}:{site.port}")])
    guard.passes = 2
    assert (await fetch(guard, site.url("/", host))).status == 200
    guard.passes = 1
    with pytest.raises(ToolFailed, match="not on the public internet"):
        await fetch(guard, site.url("/", host))
    assert len(site.seen) == 1


# --- redirects -------------------------------------------------------------------------------------------


async def test_three_redirects_are_followed_and_not_a_fourth(site: Website) -> None:
    async def count_down(request: web.Request) -> web.StreamResponse:
        left = int(request.path[1:])
        return redirect(f"./{left - 1}", 307) if left else web.Response(text="there")

    site.answer = count_down
    answer = await fetch(site.guard(), site.url("/3"))
    assert (answer.body, str(answer.url)) == (b"there", site.url("/0"))
    with pytest.raises(ToolFailed, match="redirects more than 3 times"):
        await fetch(site.guard(), site.url("/4"))
    assert site.paths == ["/3", "/2", "/1", "/0", "/4", "/3", "/2", "/1"]


@pytest.mark.parametrize(
    "to",
    [
        *("http://127.0.0.1:1/", "http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/latest/"),
        *("http://localhost/", "//2130706433/", "file:///etc/passwd", "gopher://site.example/"),
        *("javascript:1", "http://user:pw@site.example:{port}/", "http://user@site.example:{port}/"),
    ],
)
async def test_a_redirect_to_a_closed_address_is_refused(site: Website, to: str) -> None:
    async def away(_: web.Request) -> web.StreamResponse:
        return redirect(to.format(port=site.port))

    site.answer = away
    with pytest.raises(ToolDenied):
        await fetch(site.guard(), site.url("/start"))
    assert site.paths == ["/start"]


async def test_a_name_is_looked_up_and_judged_again_at_each_redirect(site: Website) -> None:
    async def onward(_: web.Request) -> web.StreamResponse:
        return redirect("/next")

    site.answer = onward
    with pytest.raises(ToolDenied, match=f"{SITE} is not on the public internet"):
        await fetch(site.guard([site.host], [site.host], ["192.168.1.1"]), site.url("/start"))
    assert site.paths == ["/start", "/next"]


@pytest.mark.parametrize(
    "method, headers, body, path",
    [
        ("POST", {}, b"x", "/"),
        ("POST", {}, None, "/"),
        ("DELETE", {}, None, "/"),
        ("HEAD", {}, None, "/"),
        ("GET", {"Authorization": "Bearer x"}, None, "/"),
        ("GET", {"X-Anything": "x"}, None, "/"),
        ("GET", {}, None, "/?api_key=x"),
    ],
)
async def test_credentials_are_sent_only_to_their_origin(
    site: Website, method: str, headers: dict[str, str], body: bytes | None, path: str
) -> None:
    async def away(_: web.Request) -> web.StreamResponse:
        return redirect(site.url("/elsewhere", "other.example"))

    site.answer = away
    answer = await fetch(site.guard(), site.url(path), method=method, headers=headers, body=body)
    assert (answer.status, answer.headers["location"]) == (302, site.url("/elsewhere", "other.example"))
    assert len(site.seen) == 1


async def test_harmless_headers_go_along(site: Website) -> None:
    async def away(request: web.Request) -> web.StreamResponse:
        return redirect("/there") if request.path == "/" else web.Response(text=request.headers["Accept"])

    site.answer = away
    assert (await fetch(site.guard(), site.url(), headers={"Accept": "text/csv"})).body == b"text/csv"


async def test_a_redirect_without_a_location_is_an_answer(site: Website) -> None:
    async def nowhere(_: web.Request) -> web.StreamResponse:
        return web.Response(status=302, text="somewhere")

    site.answer = nowhere
    assert (await fetch(site.guard(), site.url())).body == b"somewhere"


# --- size and time ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("zipped", [False, True])
async def test_an_answer_at_the_limit_is_read_and_a_longer_one_is_not(site: Website, *, zipped: bool) -> None:
    async def large(request: web.Request) -> web.StreamResponse:
        body = b"x" * int(request.query["size"])
        if zipped:
            return web.Response(body=gzip.compress(body), headers={"Content-Encoding": "gzip"})
        return web.Response(body=body)

    site.answer = large
    limit = hub_client.ANSWER_LIMIT_BYTES
    assert len((await fetch(site.guard(), site.url(f"/?size={limit}"))).body) == limit
    for size in (limit + 1, 20 * limit):
        with pytest.raises(
            ToolFailed, match=rf"{SITE} responded with HTTP 200, but with more than {limit} bytes"
        ):
            await fetch(site.guard(), site.url(f"/?size={size}"))


async def test_an_answer_without_end_is_given_up(site: Website) -> None:
    async def endless(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while not site.over.is_set():
                await response.write(b"x" * 65536)
        return response

    site.answer = endless
    with pytest.raises(ToolFailed, match="too much to read"):
        await fetch(site.guard(), site.url())


@pytest.mark.parametrize(
    "method, begun, said",
    [
        ("GET", True, f"{SITE} sent no complete response within 1 s."),
        (
            "POST",
            False,
            f"{SITE} sent no complete response within 1 s. "
            "The POST request may or may not have been processed.",
        ),
    ],
)
async def test_a_slow_answer_is_given_up(site: Website, method: str, said: str, *, begun: bool) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if begun:
            await response.prepare(request)
            await response.write(b"begun")
        await site.over.wait()
        return response

    site.answer = slow
    with pytest.raises(ToolTimeout) as caught:
        await fetch(site.guard(), site.url(), method=method, limit_s=1)
    assert str(caught.value) == said
    assert len(site.seen) == 1


async def test_a_look_up_that_hangs_is_given_up() -> None:
    async def look_up(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(ToolTimeout):
        await fetch(NetworkGuard(look_up), "http://example.org/", limit_s=0.2)


async def test_cancelling_closes_the_connection() -> None:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        assert await reader.read() == b""
        gone.set()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        guard = NetworkGuard(to_this_machine, [Exemption.parse(f"127.0.0.1:{port}")])
        fetching = asyncio.create_task(fetch(guard, f"http://127.0.0.1:{port}/"))
        await asyncio.wait_for(arrived.wait(), LIMIT_S)
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        await asyncio.wait_for(gone.wait(), LIMIT_S)


# --- what goes wrong -------------------------------------------------------------------------------------


async def test_a_refused_connection_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    guard = NetworkGuard(to_this_machine, [Exemption.parse(f"127.0.0.1:{port}")])
    with pytest.raises(ToolFailed, match=rf"can't reach {SITE}: .*Connect call failed"):
        await fetch(guard, f"http://{SITE}:{port}/", method="POST", body=b"x")


async def test_a_name_without_addresses_is_reported() -> None:
    async def look_up(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(ToolFailed, match=r"example\.org could not be found: Name or service not known"):
        await fetch(NetworkGuard(look_up), "http://example.org/")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"what?",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_an_unreadable_response_leaves_a_possible_change(answer: bytes, method: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]

        guard = NetworkGuard(to_this_machine, [Exemption.parse(f"127.0.0.1:{port}")])
        with pytest.raises(ToolFailed, match="sent a response that is not readable") as caught:
            await fetch(guard, f"http://{SITE}:{port}/", method=method)
    assert ("may or may not" in str(caught.value)) is (method == "POST")


async def test_certificates_are_checked_against_the_name(tmp_path: Path) -> None:
    server_tls, trusting = self_signed(tmp_path)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_tls) as server:
        port = server.sockets[0].getsockname()[1]

        guard = NetworkGuard(to_this_machine, [Exemption.parse(f"127.0.0.1:{port}")])
        assert (await fetch(guard, f"https://localhost:{port}/", tls=trusting)).body == b"ok"
        for url, tls in ((f"https://{SITE}:{port}/", trusting), (f"https://localhost:{port}/", TLS)):
            with pytest.raises(ToolFailed, match="certificate"):
                await fetch(guard, url, tls=tls)


async def test_many_requests_side_by_side_each_get_their_own_answer(site: Website) -> None:
    guard = site.guard()
    client = WebClient(guard, TLS)

    async def one(number: int) -> bytes:
        request = web_request("GET", guard.web_address(site.url(f"/{number}")), {}, None)
        return (await client.fetch(request, LIMIT_S, UNINTERCEPTED)).body

    answers = await asyncio.gather(*(one(number) for number in range(100)))
    assert answers == [f"hello from /{number}".encode() for number in range(100)]
