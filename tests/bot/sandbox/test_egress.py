"""The proxy of a job: what it lets through to a real server, and what it refuses."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.jobs.job_socket import (
    BACKLOG,
    MAX_LOGGED,
    OTHERS,
    OTHERS_REFUSED,
    EgressBroker,
    EgressTerms,
    listen_in,
)
from bot.jobs.upkeep import MAX_SAMPLES, ContainerRecord
from core.job import JobBudget, NewJob
from core.safety.network import destination
from core.sandbox.hub_client import forwarding
from core.sandbox.policy import EGRESS_NAME
from core.store.container_port import ContainerUse, EgressUse
from core.store.sqlite.store import open_store
from core.users import Role
from tests.contracts.store.bench import CountingIds, StoppedClock
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
    directory: Path, *look_ups: Sequence[str], name: str = SITE, **limits: Any
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
async def test_a_name_or_port_that_is_not_allowed_is_refused(tmp_path: Path, line: str) -> None:
    async with town(tmp_path) as here:
        assert await here.status(line.format(port=here.site.port)) == 403
        assert here.site.seen == []


async def test_another_port_is_refused_before_its_address_is_looked_up(tmp_path: Path) -> None:
    async with town(tmp_path) as here:
        assert await here.status(f"CONNECT {SITE}:22 HTTP/1.1") == 403
        assert (f"{SITE}:22", f"{SITE}:22 is not in [sandbox] egress") in here.broker.log


@pytest.mark.parametrize("address", [CLOUD, "10.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "fd00::1"])
async def test_an_allowed_name_that_stands_for_a_private_address_is_refused(
    tmp_path: Path, address: str
) -> None:
    async with town(tmp_path, [address], ["127.0.0.1", address]) as here:
        for _ in range(2):  # also where only one of its addresses is private
            assert await here.status(f"CONNECT {SITE}:{here.site.port} HTTP/1.1") == 403


async def test_each_connection_checks_the_name_again_and_redirects_are_not_followed(tmp_path: Path) -> None:
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


async def test_silent_jobs_and_hosts_are_disconnected(tmp_path: Path) -> None:
    async with town(tmp_path, request_limit_s=0.1, silence_limit_s=0.3) as here:

        async def never(_: object) -> object:
            await here.site.over.wait()
            return redirect("/")

        here.site.answer = never  # type: ignore[assignment]
        reader, writer = await here.opened()
        assert (await reader.read()).split()[1] == b"400"
        writer.close()
        with contextlib.suppress(ConnectionError):
            assert await here.said(f"CONNECT {SITE}:{here.site.port} HTTP/1.1", get()) == b""
        assert here.broker.refused == 1


async def test_the_log_lists_reached_and_refused_hosts_within_a_bound(
    tmp_path: Path,
) -> None:
    async with town(tmp_path) as here:
        own = f"{SITE}:{here.site.port}"
        said = [await here.said(f"CONNECT {own} HTTP/1.1", get()) for _ in range(2)]
        for number in range(MAX_LOGGED + 50):
            assert await here.status(f"CONNECT host-{number}.example:443 HTTP/1.1") == 403
    log = here.broker.log
    moved = sum(map(len, said)) + 2 * len(get())
    assert log[(own, None)] == EgressUse(own, None, 2, moved)
    refused = "host-0.example:443 is not in [sandbox] egress"
    assert log[("host-0.example:443", refused)].connections == 1
    assert log[(OTHERS, OTHERS_REFUSED)].connections == 51
    assert len(log) == MAX_LOGGED + 1


async def test_usage_samples_are_thinned_out_and_continue_after_a_restart(tmp_path: Path) -> None:
    clock, ids = StoppedClock(), CountingIds()
    store = await open_store(tmp_path / "hub.db", clock, ids)
    limits = ContainerUse("image", 256, 100, 2, 256)
    try:
        await store.people.ensure_user("ada", Role.OWNER, "ada")
        await store.jobs.save_job(NewJob("job", "ada", "job", "do", (), JobBudget(), project="."))
        for hub in range(2):
            record = ContainerRecord(store.containers, "job", limits, clock, None)
            async with record.kept():
                for number in range(1_000):
                    clock.advance(2)
                    used = {"usage": 9_000_000, "stats": {"inactive_file": 4_000_000}}
                    cpu = {"cpu_usage": {"total_usage": (hub * 1_000 + number) * 10**9}}
                    record.take({"cpu_stats": cpu, "memory_stats": used}, 7)
            use = await store.containers.use_of("job")
            assert use is not None
            assert MAX_SAMPLES // 3 < len(use.samples) < MAX_SAMPLES
            assert use.samples[0].cpu_us == 0, "it shows the whole time"
            assert use.samples[-1].cpu_us > (hub * 1_000 + 990) * 10**6
            assert {(one.memory_bytes, one.disk_bytes) for one in use.samples} == {(5_000_000, 7)}
    finally:
        await store.close()


@pytest.mark.parametrize(
    "text", ["files.example.org", "10.0.0.1:443", "0x7f.1:80", "[::1]:443", "a b:1", "a:0", "a:65536", ":1"]
)
def test_a_destination_needs_a_name_and_a_port(text: str) -> None:
    with pytest.raises(ValueError, match=r"use NAME:PORT, such as files\.example\.org:443"):
        destination(text)
    assert destination("Files.Example.org.:443") == ("files.example.org", 443)
