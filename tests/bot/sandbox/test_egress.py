"""The proxy of a job: what it lets through to a real server, and what it refuses."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from bot.jobs.job_socket import BACKLOG, EgressBroker, EgressTerms, listen_in
from core.safety.network import destination
from core.sandbox.hub_client import forwarding
from core.sandbox.policy import EGRESS_NAME
from tests.core.tools.test_web_client import redirect
from tests.core.tools.website import SITE, Website

OK = b"HTTP/1.1 200 Connected\r\n\r\n"
CLOUD = "169.254.169.254"


class Town:
    """A job's proxy on its socket, and the website that it may reach."""

    def __init__(self, directory: Path, site: Website, broker: EgressBroker) -> None:
        self.directory = directory
        self.site = site
        self.broker = broker

    async def opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        descriptor = os.open(self.directory, os.O_RDONLY)
        try:
            return await asyncio.open_unix_connection(f"/proc/self/fd/{descriptor}/{EGRESS_NAME}")
        finally:
            os.close(descriptor)

    async def said(self, line: str, then: str = "") -> bytes:
        """All that comes back for a request line and, once connected, for what follows."""
        reader, writer = await self.opened()
        with contextlib.closing(writer):
            with contextlib.suppress(ConnectionError):
                writer.write(f"{line}\r\nHost: any\r\n\r\n".encode())
                await writer.drain()
            if not then:
                return await reader.readline()
            assert await reader.readexactly(len(OK)) == OK
            writer.write(then.encode())
            return await reader.read()

    async def status(self, line: str) -> int:
        return int((await self.said(line)).split()[1])


@contextlib.asynccontextmanager
async def town(
    directory: Path, *look_ups: Sequence[str], name: str = SITE, **limits: int
) -> AsyncIterator[Town]:
    async with Website() as site:
        allowed = frozenset({(name, site.port)})
        broker = EgressBroker("job", EgressTerms(allowed, site.guard(*look_ups), **limits))
        async with broker.serving(listen_in(directory, None, EGRESS_NAME)):
            yield Town(directory, site, broker)
    assert broker.open_connections == 0


def get(path: str = "/") -> str:
    return f"GET {path} HTTP/1.1\r\nHost: {SITE}\r\nConnection: close\r\n\r\n"


async def test_an_allowed_host_is_reached_through_the_workers_port(tmp_path: Path) -> None:
    async with town(tmp_path) as here, forwarding(str(tmp_path / EGRESS_NAME)) as variables:
        port = int(variables["HTTPS_PROXY"].rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.closing(writer):
            writer.write(f"CONNECT {SITE.upper()}.:{here.site.port} HTTP/1.1\r\n\r\n{get('/a')}".encode())
            said = await reader.read()
        assert said.startswith(OK)
        assert said.endswith(b"hello from /a")
        assert here.site.paths == ["/a"]
        assert here.broker.moved_bytes == len(get("/a")) + len(said) - len(OK)
    async with forwarding(str(tmp_path / "nothing.sock")) as variables:
        assert variables == {}


@pytest.mark.parametrize(
    "line",
    [
        "CONNECT 127.0.0.1:{port} HTTP/1.1",
        "CONNECT 2130706433:{port} HTTP/1.1",
        "CONNECT [::ffff:127.0.0.1]:{port} HTTP/1.1",
        "CONNECT [::1]:{port} HTTP/1.1",
        "CONNECT localhost:{port} HTTP/1.1",
        "CONNECT site.example:22 HTTP/1.1",
        "CONNECT site.example:0{port} HTTP/1.1 more",
        "CONNECT sub.site.example:{port} HTTP/1.1",
        "CONNECT site.example.evil.example:{port} HTTP/1.1",
        "CONNECT site.example@evil.example:{port} HTTP/1.1",
        "CONNECT evil.example#site.example:{port} HTTP/1.1",
        "CONNECT site.example\x00.evil.example:{port} HTTP/1.1",
        "CONNECT site.example HTTP/1.1",
        "GET http://site.example:{port}/ HTTP/1.1",
        "POST /v1/requests HTTP/1.1",
    ],
)
async def test_what_is_not_an_allowed_name_and_port_is_refused(tmp_path: Path, line: str) -> None:
    async with town(tmp_path) as here:
        assert await here.status(line.format(port=here.site.port)) == 403
        assert here.site.seen == []


@pytest.mark.parametrize("address", [CLOUD, "10.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "fd00::1"])
async def test_an_allowed_name_that_stands_for_a_private_address_is_refused(
    tmp_path: Path, address: str
) -> None:
    async with town(tmp_path, [address], ["127.0.0.1", address]) as here:
        for _ in range(2):  # also where only one of its addresses is private
            assert await here.status(f"CONNECT {SITE}:{here.site.port} HTTP/1.1") == 403


async def test_each_connection_judges_the_name_anew_and_a_redirect_leads_nowhere(tmp_path: Path) -> None:
    async with town(tmp_path, ["127.0.0.1"], [CLOUD]) as here:

        async def elsewhere(_: object) -> object:
            return redirect(f"http://{CLOUD}/")

        here.site.answer = elsewhere  # type: ignore[assignment]
        line = f"CONNECT {SITE}:{here.site.port} HTTP/1.1"
        assert f"Location: http://{CLOUD}/".encode() in await here.said(line, get())
        assert await here.status(f"CONNECT {CLOUD}:80 HTTP/1.1") == 403
        assert await here.status(line) == 403, "the name stands for another address now"


async def test_a_thousand_connections_are_bounded_and_so_are_bytes(tmp_path: Path) -> None:
    async with town(tmp_path, max_open=8, max_connections=1_000, max_bytes=5_000) as here:
        line = f"CONNECT {SITE}:{here.site.port} HTTP/1.1"
        held = []
        for _ in range(8):
            reader, writer = await here.opened()
            writer.write(f"{line}\r\n\r\n".encode())
            assert await reader.readexactly(len(OK)) == OK
            held.append(writer)
        for _ in range(1_000 // BACKLOG):
            said = await asyncio.gather(*(here.status(line) for _ in range(BACKLOG)))
            assert set(said) == {503}
            assert here.broker.open_connections == 8
        for writer in held:
            writer.close()
        for _ in range(1_000 % BACKLOG + 8):
            await here.said(line)
        assert here.broker.asked > 1_000
        assert await here.status(line) == 429
    async with town(tmp_path, max_bytes=5_000) as here:
        line = f"CONNECT {SITE}:{here.site.port} HTTP/1.1"
        with contextlib.suppress(ConnectionError):
            assert len(await here.said(line, get("/" + "a" * 4_000))) < 5_000
        assert await here.status(line) == 429


@pytest.mark.parametrize(
    "text", ["files.example.org", "10.0.0.1:443", "0x7f.1:80", "[::1]:443", "a b:1", "a:0", "a:65536", ":1"]
)
def test_a_destination_is_a_name_and_a_port(text: str) -> None:
    with pytest.raises(ValueError, match=r"use NAME:PORT, such as files\.example\.org:443"):
        destination(text)
    assert destination("Files.Example.org.:443") == ("files.example.org", 443)
