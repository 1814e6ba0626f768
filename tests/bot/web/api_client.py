"""A program that speaks to a hub's API, and one that reads its streams."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.patience import PATIENCE_S

LIMIT_S = PATIENCE_S


@dataclass(frozen=True, slots=True)
class Client:
    """Speaks with the token given, unless told otherwise."""

    http: aiohttp.ClientSession
    url: str
    token: str

    async def ask(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and JSON; every answer is JSON."""
        headers = {"Authorization": f"Bearer {self.token}"} | (headers or {})
        data = body if isinstance(body, bytes) or body is None else json.dumps(body)
        async with self.http.request(method, self.url + path, data=data, headers=headers) as answer:
            return answer.status, await answer.json()

    async def get(self, path: str) -> Any:
        """Return what is there."""
        status, page = await self.ask("GET", path)
        assert status == 200, page
        return page

    async def download(self, path: str) -> bytes:
        """Return a file's content."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.http.get(self.url + path, headers=headers) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.read()

    async def send(self, text: str, **more: object) -> Any:
        """A message that is taken."""
        status, page = await self.ask("POST", "/api/chat/send", {"text": text, **more})
        assert status == 202, page
        return page

    async def resolve(self, gate_id: str, action: str, **more: object) -> tuple[int, Any]:
        """An answer to what waits."""
        body = {"request_id": gate_id, "action": action, **more}
        return await self.ask("POST", "/api/chat/gate/resolve", body)

    async def refusal(self, method: str, path: str, body: object = None) -> tuple[int, str, str | None]:
        """Status, code and field of something that is refused."""
        status, page = await self.ask(method, path, body)
        assert page["error"]["message"]
        return status, page["error"]["code"], page["error"].get("field")

    async def member(self, name: str) -> "Client":
        """A new member with a token of their own."""
        _, user = await self.ask("POST", "/api/users", {"name": name})
        status, page = await self.ask("POST", "/api/tokens", {"user_id": user["id"]})
        assert status == 201
        return Client(self.http, self.url, page["token"])

    @contextlib.asynccontextmanager
    async def stream(
        self, path: str = "/api/events", headers: dict[str, str] | None = None
    ) -> AsyncIterator["Stream"]:
        """Reading along."""
        headers = {"Authorization": f"Bearer {self.token}"} | (headers or {})
        async with self.http.get(self.url + path, headers=headers) as answer:
            assert answer.status == 200
            assert answer.content_type == "text/event-stream"
            yield Stream(answer)

    async def lines(self, thread_id: str) -> list[tuple[str, str]]:
        """Kind and text of a thread's lines."""
        page = await self.get(f"/api/threads/{thread_id}")
        return [(item["kind"], item.get("text", "")) for item in page["items"]]

    async def until(self, path: str, done: Callable[[Any], bool]) -> Any:
        """Return what is there once it is as wanted."""
        async with asyncio.timeout(LIMIT_S):
            while not done(page := await self.get(path)):  # noqa: ASYNC110 - only asking tells
                await asyncio.sleep(0.01)
        return page


class Stream:
    """One stream's events, in order. `last_id`: of the last event that had one."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer
        self.last_id = ""

    async def next(self) -> dict[str, Any]:
        """The next event."""
        async with asyncio.timeout(LIMIT_S):
            name = ""
            while True:
                line = (await self._answer.content.readline()).decode()
                if not line:
                    raise EOFError
                if line.startswith("id: "):
                    self.last_id = line[4:].strip()
                elif line.startswith("event: "):
                    name = line[7:].strip()
                elif line.startswith("data: "):
                    page = json.loads(line[6:])
                    assert page["type"] == name
                    return page

    async def until(self, kind: str) -> list[dict[str, Any]]:
        """Events up to and with the first of that type."""
        events = [await self.next()]
        while events[-1]["type"] != kind:
            events.append(await self.next())
        return events


@contextlib.asynccontextmanager
async def client(directory: Path, limit_s: float = LIMIT_S) -> AsyncIterator[Client]:
    """The owner, by the file that the hub in this directory wrote."""
    page = json.loads((directory / "data" / "api.json").read_text())
    limit = aiohttp.ClientTimeout(total=limit_s)
    async with aiohttp.ClientSession(timeout=limit) as http:
        yield Client(http, page["url"], page["token"])
