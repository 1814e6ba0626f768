"""Files attached in the console: how many of one person, and for how long."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from bot.web.files import LIFE_S
from tests.bot.web.api_client import LIMIT_S, Client, client
from tests.harness.telegram_hub import Hub, open_hub

DAY_S = 86_400
HOUR_S = 3_600


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, direct="open") as opened:
        yield opened


@pytest_asyncio.fixture
async def api(house: Hub) -> AsyncIterator[Client]:
    async with client(house.directory) as opened:
        yield opened


async def uploaded(api: Client, content: bytes = b"content") -> str:
    status, page = await api.ask("POST", "/api/uploads?name=a.txt", content)
    assert status == 201, page
    return page["id"]


@contextlib.asynccontextmanager
async def under_way(api: Client) -> AsyncIterator[asyncio.StreamWriter]:
    """An upload of which a part has arrived."""
    host, _, port = api.url.removeprefix("http://").partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /api/uploads?name=slow HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {api.token}\r\n"
    writer.write(f"{head}Content-Length: 100\r\n\r\na part of it".encode())
    try:
        yield writer
    finally:
        writer.transport.abort()


def lying(house: Hub) -> list[str]:
    """The names of what is in the directory."""
    return sorted(path.suffix for path in (house.directory / "data" / "uploads").iterdir())


async def test_a_member_with_all_their_uploads_blocks_no_one(house: Hub, api: Client) -> None:
    mia = await api.member("Mia")
    async with contextlib.AsyncExitStack() as opened:
        for _ in range(10):
            await opened.enter_async_context(under_way(mia))
        async with asyncio.timeout(LIMIT_S):
            await _until(lambda: lying(house) == [".part"] * 10 if _exists(house) else False)
        assert (await mia.refusal("POST", "/api/uploads?name=x", b"x"))[:2] == (429, "too_many")
        await uploaded(api)
        assert (await mia.ask("GET", "/api/me"))[0] == 200
    async with asyncio.timeout(LIMIT_S):
        await _until(lambda: ".part" not in lying(house))
    await uploaded(mia)
    assert lying(house) == ["", "", ".json", ".json"]


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110 - only looking tells
        await asyncio.sleep(0.01)


def _exists(house: Hub) -> bool:
    return (house.directory / "data" / "uploads").exists()


@pytest.mark.parametrize("files, size_bytes", [(500, 1), (53, 20 * 1024 * 1024)])
async def test_uploads_are_limited_per_person(house: Hub, api: Client, files: int, size_bytes: int) -> None:
    mia = await api.member("Mia")
    first = await uploaded(mia)
    place = house.directory / "data" / "uploads"
    about = json.loads((place / f"{first}.json").read_text())
    for number in range(files - 1):
        path = place / f"01900000-0000-7000-8000-{number:012x}"
        with path.open("wb") as file:
            file.truncate(size_bytes)
        path.with_suffix(".json").write_text(json.dumps(about))
    assert (await mia.refusal("POST", "/api/uploads?name=x", b"x"))[:2] == (429, "too_many")
    await uploaded(api)
    house.clock.skip(30 * DAY_S)
    house.clock.pass_by(HOUR_S)
    async with asyncio.timeout(LIMIT_S):
        await _until(lambda: not lying(house))
    await uploaded(mia)


async def test_uploads_expire(house: Hub, api: Client) -> None:
    sent, kept = await uploaded(api), await uploaded(api)
    await api.send("look", attachments=[sent])
    house.clock.skip(LIFE_S - 60)
    await api.send("look again", attachments=[kept])
    house.clock.skip(60)
    for handle in (sent, kept):
        body = {"text": "and again", "attachments": [handle]}
        assert (await api.refusal("POST", "/api/chat/send", body))[0] == 404
    house.clock.pass_by(HOUR_S)
    async with asyncio.timeout(LIMIT_S):
        await _until(lambda: not lying(house))


async def test_uploads_that_a_kill_cut_off_are_removed_after_an_hour(house: Hub, api: Client) -> None:
    kept = await uploaded(api)
    place = house.directory / "data" / "uploads"
    stale, fresh = place / "stale.part", place / "fresh.part"
    for path in (stale, fresh):
        path.write_bytes(b"a part of it")
    os.utime(stale, (0, 0))
    house.clock.pass_by(HOUR_S)
    async with asyncio.timeout(LIMIT_S):
        await _until(lambda: not stale.exists())
    assert fresh.exists()
    assert (place / kept).exists()


async def test_empty_and_oversized_uploads_are_not_stored(house: Hub, api: Client) -> None:
    assert (await api.refusal("POST", "/api/uploads?name=x", b""))[0] == 400

    async def too_much() -> AsyncIterator[bytes]:
        for _ in range(21):
            yield b"x" * 1024 * 1024

    headers = {"Authorization": f"Bearer {api.token}"}
    with contextlib.suppress(aiohttp.ClientError):
        async with api.http.post(f"{api.url}/api/uploads?name=x", data=too_much(), headers=headers) as answer:
            assert answer.status == 413
    async with asyncio.timeout(LIMIT_S):
        await _until(lambda: not lying(house))
