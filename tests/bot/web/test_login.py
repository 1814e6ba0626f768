"""Logging a browser in: links that work once, secrets in a header, and what other sites and guessers get."""

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from core.clock import SECOND_US
from core.store.port import KeyKind
from tests.bot.web.api_client import LIMIT_S, Client, Stream, client
from tests.harness.bodies import LongBody, answer_to_a_part
from tests.harness.process import HubProcess
from tests.harness.telegram_hub import Hub, open_hub

DAY_S = 86_400
MINUTE_S = 60
SESSION = "X-Hubbub-Session"


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, direct="open", speed=1) as opened:
        yield opened


@pytest_asyncio.fixture
async def api(house: Hub) -> AsyncIterator[Client]:
    async with client(house.directory) as opened:
        yield opened


async def link(api: Client) -> str:
    status, page = await api.ask("POST", "/api/login-links")
    assert status == 201
    return page["url"]


async def handed_in(api: Client, url: str, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    """Return what the console's script gets for a link, or for a code of somebody's own."""
    where, _, code = url.partition("#code=")
    async with api.http.post(where, json={"code": code}, headers=headers) as answer:
        assert "Set-Cookie" not in answer.headers
        assert answer.status != 201 or answer.headers["Cache-Control"] == "no-store"
        return answer.status, await answer.json()


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was logged in, as its script speaks to the hub."""

    http: aiohttp.ClientSession
    url: str
    secret: str

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON."""
        proof = {SESSION: self.secret} | {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.http.request(method, self.url + path, json=body, headers=proof) as answer:
            return answer.status, await answer.json()

    async def status(self) -> int:
        """Return whether the hub knows it."""
        return (await self.ask("GET", "/api/me"))[0]


async def logged_in(api: Client, before: str = "") -> Page:
    """A page, by a fresh link."""
    status, page = await handed_in(api, await link(api), {SESSION: before} if before else None)
    assert status == 201
    return Page(api.http, api.url, page["secret"])


async def opened(api: Client, path: str) -> aiohttp.ClientResponse:
    async with api.http.get(api.url + path) as answer:
        await answer.read()
        return answer


async def test_a_link_works_once(api: Client) -> None:
    url = await link(api)
    status, page = await handed_in(api, url)
    assert status == 201
    assert await Page(api.http, api.url, page["secret"]).status() == 200
    status, page = await handed_in(api, url)
    assert (status, page["error"]["code"]) == (403, "forbidden")
    assert await Page(api.http, api.url, "").status() == 401


async def test_previewing_a_login_link_reveals_nothing(api: Client) -> None:
    """The fragment after `#` is never sent, and the page is the same for everybody."""
    url = await link(api)
    assert await (await opened(api, "/login")).text() == await (await opened(api, "/")).text()
    assert (await handed_in(api, url))[0] == 201


async def test_wrong_links_are_refused(api: Client) -> None:
    for code in ("", "x", "é", "\0", "a" * 200):
        assert (await handed_in(api, f"{api.url}/login#code={code}"))[0] == 403
    for body in (b"", b"{}", b"[]", b'{"code": 1}', b'{"code": "\xff"}', b'{"code": "' + b"a" * 300 + b'"}'):
        async with api.http.post(f"{api.url}/login", data=body) as answer:
            assert (answer.status, (await answer.json())["error"]["code"]) == (400, "invalid")
    async with api.http.post(f"{api.url}/login", data=b" " * 2000) as answer:
        assert answer.status == 413


async def test_login_links_expire(house: Hub, api: Client) -> None:
    for age_s, status in ((15 * MINUTE_S - 5, 201), (15 * MINUTE_S, 403)):
        url = await link(api)
        house.clock.skip(age_s)
        assert (await handed_in(api, url))[0] == status


async def test_sessions_expire(house: Hub, api: Client) -> None:
    page = await logged_in(api)
    house.clock.skip(14 * DAY_S - MINUTE_S)
    assert await page.status() == 200
    house.clock.skip(MINUTE_S)
    assert await page.status() == 401


async def test_guesses_are_limited_and_lock_no_one_out(house: Hub, api: Client) -> None:
    guesses = [(await handed_in(api, f"{api.url}/login#code=guess{n}"))[0] for n in range(12)]
    assert guesses == [403] * 10 + [429] * 2
    await logged_in(api)
    house.clock.skip(MINUTE_S)
    assert (await handed_in(api, f"{api.url}/login#code=guess"))[0] == 403


FOREIGN: dict[str, dict[str, str]] = {
    "a page of another site": {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    "a page of another port": {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"},
    "a form of another site": {"Sec-Fetch-Site": "cross-site"},
    "an old browser": {"Origin": "http://evil.example"},
    "an old browser on another port": {"Origin": "http://127.0.0.1:1"},
    "a frame without an origin": {"Origin": "null"},
}


async def test_other_sites_cannot_use_up_a_login_link(api: Client) -> None:
    url = await link(api)
    for headers in FOREIGN.values():
        for _ in range(3):
            status, page = await handed_in(api, url, headers)
            assert (status, page["error"]["code"]) == (403, "forged")
    assert (await handed_in(api, f"{api.url}/login#code=guess"))[0] == 403
    own = {"Sec-Fetch-Site": "same-origin", "Origin": api.url}
    assert (await handed_in(api, url, own))[0] == 201


async def test_a_cookie_does_not_authenticate(api: Client) -> None:
    page = await logged_in(api)
    values = (page.secret, f"Bearer {api.token}", api.token)
    asked = (("GET", "/api/me"), ("GET", "/api/events"), ("POST", "/api/uploads?name=x"))
    for name, value in itertools.product(("hubbub_session", SESSION, "Authorization"), values):
        cookie = {"Cookie": f"{name}={value}"}
        for method, path in asked:
            async with api.http.request(method, api.url + path, headers=cookie, data=b"{}") as answer:
                assert answer.status == 401, name


COOKIES = {
    "overwriting": "hubbub_session=theirs; hubbub-session=theirs; session=theirs",
    "200 of them": "; ".join(f"c{number}={'x' * 4000}" for number in range(200)),
    "8 kB in one": f"c={'x' * 8192}",
    "no cookies at all": '=;;=\t; \x80\xff; a="',
}


async def test_cookies_of_others_neither_end_nor_change_a_session(api: Client) -> None:
    page = await logged_in(api)
    for why, cookie in COOKIES.items():
        headers = {"Cookie": cookie, SESSION: page.secret}
        for path in ("/", "/static/main.js", "/api/me"):
            async with api.http.get(api.url + path, headers=headers) as answer:
                assert answer.status == 200, why
                assert "Set-Cookie" not in answer.headers
        assert (await page.ask("POST", "/api/chat/send", {"text": "hello"}, Cookie=cookie))[0] == 202, why
        assert (await handed_in(api, await link(api), {"Cookie": cookie}))[0] == 201, why
        assert await page.status() == 200, why


async def test_a_session_from_an_old_cookie_does_not_authenticate(house: Hub, api: Client) -> None:
    """Earlier versions kept the same secrets in a cookie, which every port of the machine was sent."""
    user_id = (await api.get("/api/me"))["user_id"]
    kept = hashlib.sha256(b"seen by all").hexdigest()
    await house.app.store.keys.keep_key(kept, KeyKind.SESSION, user_id, house.clock.now() + DAY_S * SECOND_US)
    assert await Page(api.http, api.url, "seen by all").status() == 401


async def test_logging_in_again_ends_the_previous_session(api: Client) -> None:
    first = await logged_in(api)
    assert (await handed_in(api, f"{api.url}/login#code=wrong", {SESSION: first.secret}))[0] == 403
    assert await first.status() == 200
    second = await logged_in(api, before=first.secret)
    assert (await first.status(), await second.status()) == (401, 200)


async def test_a_session_outlives_the_hub_and_ends_on_logout(house: Hub, api: Client) -> None:
    secret = (await logged_in(api)).secret
    await house.stop()
    await house.start()
    async with client(house.directory) as after:
        page = Page(after.http, after.url, secret)
        assert await page.status() == 200
        assert (await page.ask("POST", "/api/logout"))[0] == 200
        assert await page.status() == 401


@pytest.mark.parametrize(
    "end", ["logged out", "logged out while busy", "expired", "a member's token revoked"]
)
async def test_a_stream_ends_with_its_key(house: Hub, api: Client, end: str) -> None:
    page, mia = await logged_in(api), await api.member("Mia")
    mias = end.startswith("a member")
    proof = {"Authorization": f"Bearer {mia.token}"} if mias else {SESSION: page.secret}
    async with api.http.get(f"{api.url}/api/events", headers=proof) as answer:
        stream = Stream(answer)
        assert (await stream.next())["type"] == "hello"
        match end:
            case "expired":
                house.clock.skip(14 * DAY_S)
            case "logged out" | "logged out while busy":
                await page.ask("POST", "/api/logout")
            case _:
                user_id = (await mia.get("/api/me"))["user_id"]
                await api.ask("POST", "/api/tokens/revoke", {"user_id": user_id})
        busy, heard = end.endswith("busy"), "tools_changed"
        if busy:  # an event within the 15 s does not put the look at the key off
            house.clock.skip(4)
            await api.ask("POST", "/api/tools/pause", {})
            await stream.until(heard)
        house.clock.skip(11 if busy else 15)
        await api.ask("POST", f"/api/tools/{'unpause' if busy else 'pause'}", {})
        with pytest.raises(EOFError):
            while True:  # what was under way, and nothing of this
                assert (await stream.next())["type"] != heard


async def test_other_sites_cannot_send_requests_for_a_browser(api: Client) -> None:
    page = await logged_in(api)
    for why, headers in FOREIGN.items():
        for method, path in (("POST", "/api/chat/send"), ("POST", "/api/logout"), ("GET", "/api/me")):
            body = {"text": "hello"} if path.endswith("send") else None
            async with api.http.request(method, api.url + path, json=body, headers=headers) as answer:
                assert answer.status == 401, why
            # Nor could they with the secret.
            status, found = await page.ask(method, path, body, **headers)
            assert (status, found["error"]["code"]) == (403, "forged"), why
    own = {"Sec-Fetch-Site": "same-origin", "Origin": api.url}
    assert (await page.ask("POST", "/api/chat/send", {"text": "hello"}, **own))[0] == 202


async def test_a_session_cannot_create_login_links(api: Client) -> None:
    status, page = await (await logged_in(api)).ask("POST", "/api/login-links")
    assert (status, page["error"]["code"]) == (403, "forbidden")


async def test_requests_with_another_host_name_are_refused(api: Client) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.", "0.0.0.0"):
        named = {"Host": host}
        status, page = await handed_in(api, await link(api), named)
        assert (status, page["error"]["code"]) == (403, "forbidden_host")
        for path in ("/readyz", "/metrics"):
            async with api.http.get(api.url + path, headers=named) as answer:
                assert answer.status == 403
                assert (await answer.json())["error"]["code"] == "forbidden_host"
    for path in ("/readyz", "/metrics", "/healthz"):
        assert (await opened(api, path)).status == 200


# ---------------------------------------------------------------- what is served


async def test_every_response_has_the_security_headers(api: Client) -> None:
    for path in ("/", "/login", "/api/me", "/healthz", "/static/nothing", "/nothing"):
        answer = await opened(api, path)
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


async def test_paths_outside_the_static_files_are_not_served(api: Client) -> None:
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


async def test_an_unchanged_asset_is_answered_with_304(api: Client) -> None:
    async with api.http.get(f"{api.url}/") as answer:
        etag = answer.headers["ETag"]
        assert answer.content_type == "text/html"
    async with api.http.get(f"{api.url}/", headers={"If-None-Match": etag}) as answer:
        assert (answer.status, await answer.read()) == (304, b"")


# ---------------------------------------------------------------- bodies


async def test_a_body_that_is_too_large_is_not_read_completely(api: Client) -> None:
    headers = {"Authorization": f"Bearer {api.token}"}
    assert await LongBody().refused_by(f"{api.url}/api/chat/send", headers)


@pytest.mark.slow
async def test_a_body_that_arrives_too_slowly_is_abandoned(api: Client) -> None:
    answer = await answer_to_a_part(f"{api.url}/api/chat/send", f"Authorization: Bearer {api.token}")
    assert answer.startswith("HTTP/1.1 408")


# ---------------------------------------------------------------- where it listens


async def test_the_first_link_is_printed(tmp_path: Path) -> None:
    async with HubProcess(tmp_path, env={"HUBBUB__HTTP__PORT": "0"}) as hub:
        assert hub.process.stdout is not None
        line = (await hub.process.stdout.readline()).decode()
        assert line.startswith("Console: ")
        url = line.split()[1]
        async with client(tmp_path) as api:
            status, page = await handed_in(api, url)
        assert status == 201
        assert await hub.stop() == 0
        assert url.split("=")[1] not in hub.err
        assert page["secret"] not in hub.out + hub.err
