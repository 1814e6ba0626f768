"""Logging a browser in: links that work once, sessions, and what other sites and guessers get."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from bot.web.endpoints import BODY_LIMIT_S
from tests.bot.api_client import LIMIT_S, Client, client
from tests.bot.program import RunningHub
from tests.scenarios.house import House, open_house

CSRF = {"X-Hubbub-CSRF": "1"}


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, direct="open", speed=1) as opened:
        yield opened


@pytest_asyncio.fixture
async def api(house: House) -> AsyncIterator[Client]:
    async with client(house.directory) as opened:
        yield opened


@contextlib.asynccontextmanager
async def browser() -> AsyncIterator[aiohttp.ClientSession]:
    """Keeps cookies, follows nothing by itself."""
    limit = aiohttp.ClientTimeout(total=LIMIT_S)
    async with aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        yield http


async def link(api: Client) -> str:
    status, page = await api.ask("POST", "/api/login-links")
    assert status == 201
    return page["url"]


async def opened(http: aiohttp.ClientSession, url: str) -> aiohttp.ClientResponse:
    async with http.get(url, allow_redirects=False) as answer:
        await answer.read()
        return answer


async def me(http: aiohttp.ClientSession, api: Client) -> int:
    async with http.get(f"{api.url}/api/me") as answer:
        return answer.status


async def test_a_link_works_once(api: Client) -> None:
    url = await link(api)
    async with browser() as http, browser() as other:
        answer = await opened(http, url)
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        cookie = answer.headers["Set-Cookie"]
        for part in ("HttpOnly", "SameSite=strict", "Path=/"):
            assert part in cookie
        assert await me(http, api) == 200
        again = await opened(other, url)
        assert again.status == 403
        assert "hubbub login" in await again.text()
        assert await me(other, api) == 401


async def test_a_wrong_link_says_what_to_do(api: Client) -> None:
    async with browser() as http:
        for code in ("", "x", "é", "%00", "a" * 5000):
            answer = await opened(http, f"{api.url}/login?code={code}")
            assert answer.status == 403
            assert "hubbub login" in await answer.text()
            assert "Set-Cookie" not in answer.headers


async def test_links_and_sessions_have_their_time(tmp_path: Path) -> None:
    async with open_house(tmp_path, speed=20_000, start=True) as house, client(house.directory) as api:
        url = await link(api)
        async with browser() as http:
            await asyncio.sleep(0.05)  # a quarter of an hour of the hub's
            assert (await opened(http, url)).status == 403


async def test_guessing_is_cut_short(api: Client) -> None:
    url = await link(api)
    async with browser() as http:
        statuses = [(await opened(http, f"{api.url}/login?code=guess{n}")).status for n in range(12)]
        assert statuses == [403] * 10 + [429] * 2
        assert (await opened(http, url)).status == 429


async def test_a_planted_session_is_worth_nothing(api: Client) -> None:
    async with browser() as http:
        planted = {"hubbub_session": "planted"}
        async with http.get(await link(api), cookies=planted, allow_redirects=False) as answer:
            assert "planted" not in answer.headers["Set-Cookie"]
    headers = {"Authorization": "", "Cookie": "hubbub_session=planted"}
    async with api.http.get(f"{api.url}/api/me", headers=headers) as answer:
        assert answer.status == 401


async def test_logging_in_again_ends_the_session_before(api: Client) -> None:
    async with browser() as http:
        first = (await opened(http, await link(api))).cookies["hubbub_session"].value
        await opened(http, await link(api))
        assert await me(http, api) == 200
    async with api.http.get(f"{api.url}/api/me", cookies={"hubbub_session": first}) as answer:
        assert answer.status == 401


async def test_a_session_outlives_the_hub_and_ends_when_told(house: House, api: Client) -> None:
    async with browser() as http:
        cookie = (await opened(http, await link(api))).cookies["hubbub_session"].value
        await house.stop()
        await house.start()
        async with client(house.directory) as after:
            held = {"hubbub_session": cookie}
            async with after.http.get(f"{after.url}/api/me", cookies=held) as answer:
                assert answer.status == 200
            async with after.http.post(f"{after.url}/api/logout", cookies=held, headers=CSRF) as answer:
                assert answer.status == 200
            async with after.http.get(f"{after.url}/api/me", cookies=held) as answer:
                assert answer.status == 401


FORGED: dict[str, tuple[dict[str, str], int]] = {
    "a form of another site": ({}, 403),
    "the header from another origin": ({**CSRF, "Origin": "http://evil.example"}, 403),
    "no origin to speak of": ({**CSRF, "Origin": "null"}, 403),
    "from another site": ({**CSRF, "Sec-Fetch-Site": "cross-site"}, 403),
    "from a neighbour": ({**CSRF, "Sec-Fetch-Site": "same-site"}, 403),
    "the header said otherwise": ({"X-Hubbub-CSRF": "0"}, 403),
    "our own page": ({**CSRF, "Sec-Fetch-Site": "same-origin"}, 202),
    "a program": (CSRF, 202),
}


async def test_other_sites_cannot_speak_for_a_browser(api: Client) -> None:
    async with browser() as http:
        await opened(http, await link(api))
        url = f"{api.url}/api/chat/send"
        for why, (headers, status) in FORGED.items():
            async with http.post(url, json={"text": "hello"}, headers=headers) as answer:
                assert answer.status == status, why
                if status == 403:
                    assert (await answer.json())["error"]["code"] == "forged"
        own = {**CSRF, "Origin": api.url}
        async with http.post(url, json={"text": "hello"}, headers=own) as answer:
            assert answer.status == 202


async def test_a_session_makes_no_links(api: Client) -> None:
    async with browser() as http:
        await opened(http, await link(api))
        async with http.post(f"{api.url}/api/login-links", headers=CSRF) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (403, "forbidden")


async def test_no_other_name_of_the_hub_logs_in(api: Client) -> None:
    async with browser() as http:
        headers = {"Host": "evil.example"}
        async with http.get(await link(api), headers=headers, allow_redirects=False) as answer:
            assert answer.status == 403
            assert "Set-Cookie" not in answer.headers


# ---------------------------------------------------------------- what is served


async def test_everything_is_served_with_its_hands_tied(api: Client) -> None:
    for path in ("/", "/login", "/api/me", "/healthz", "/static/nothing", "/nothing"):
        async with browser() as http:
            answer = await opened(http, api.url + path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "Access-Control-Allow-Origin" not in answer.headers


OUTSIDE = (
    "/static/../api.py",
    "/static/..%2fapi.py",
    "/static/%2e%2e/api.py",
    "/static//etc/passwd",
    "/static/..\\api.py",
    "/static/%00",
    "/static/index.html/..",
)


async def test_nothing_else_is_served(api: Client) -> None:
    host, port = api.url.removeprefix("http://").split(":")
    for path in OUTSIDE:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        async with asyncio.timeout(LIMIT_S):
            answer = (await reader.read()).decode(errors="replace")
        writer.close()
        assert answer.startswith("HTTP/1.1 404"), path
        assert "import" not in answer
        assert "root:" not in answer


async def test_assets_are_asked_for_once(api: Client) -> None:
    async with api.http.get(f"{api.url}/") as answer:
        etag = answer.headers["ETag"]
        assert answer.content_type == "text/html"
    async with api.http.get(f"{api.url}/", headers={"If-None-Match": etag}) as answer:
        assert (answer.status, await answer.read()) == (304, b"")


# ---------------------------------------------------------------- bodies


async def test_a_body_that_is_too_large_is_not_read_to_its_end(api: Client) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 65_536
            yield b"x" * 65_536

    headers = {"Authorization": f"Bearer {api.token}"}
    with contextlib.suppress(aiohttp.ClientError):
        async with api.http.post(f"{api.url}/api/chat/send", data=endless(), headers=headers) as answer:
            assert answer.status == 413
    assert sent < 8 * 1024 * 1024


@pytest.mark.slow
async def test_a_body_that_comes_too_slowly_is_given_up(api: Client) -> None:
    host, port = api.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = f"POST /api/chat/send HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {api.token}\r\n"
    writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
    async with asyncio.timeout(BODY_LIMIT_S + LIMIT_S):
        answer = (await reader.readuntil(b"\r\n")).decode()
    writer.close()
    assert answer.startswith("HTTP/1.1 408")


# ---------------------------------------------------------------- where it listens


async def test_the_first_link_is_printed(tmp_path: Path) -> None:
    async with RunningHub(tmp_path, env={"HUBBUB__HTTP__PORT": "0"}) as hub:
        assert hub.process.stdout is not None
        line = (await hub.process.stdout.readline()).decode()
        assert line.startswith("Console: ")
        url = line.split()[1]
        async with browser() as http:
            assert (await opened(http, url)).status == 303
        assert await hub.stop() == 0
        assert url.split("=")[1] not in hub.err
