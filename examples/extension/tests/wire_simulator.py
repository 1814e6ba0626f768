"""Wire, the platform, as its documentation says: one bot, people in private conversations with it."""

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

LIMIT_CHARS = 1000


@dataclass
class WireMessage:
    """A message of the bot."""

    id: str
    to: str
    nonce: str
    page: dict[str, Any]


@dataclass
class WireSimulator:
    """The platform. `token`: the bot's; `unacked`: events that were not taken yet, by id."""

    token: str = "wire-token"
    messages: dict[str, WireMessage] = field(default_factory=dict)
    unacked: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, str | None] = field(default_factory=dict)
    refused: int = 0
    newest: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        self._changed = asyncio.Condition()
        self._wake = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        await self.come_up()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.go_down()

    async def come_up(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def go_down(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in tuple(self._open):
            writer.transport.abort()

    def fail(self, kind: str, /, *, count: int = 1, **_: object) -> None:
        assert kind == "rate_limit"
        self.refused = count

    async def wait_for(self, predicate: Callable[[], Any], timeout_s: float) -> Any:
        async with asyncio.timeout(timeout_s), self._changed:
            return await self._changed.wait_for(predicate)

    # --- people ----------------------------------------------------------------------------------------

    def writes(self, person: str, text: str) -> None:
        self._event(kind="message", person=person, text=text)

    def presses(self, person: str, message: WireMessage, button: int) -> str:
        first, card = message.page["first"], message.page["card"]
        return self._event(kind="press", person=person, message=message.id, card=card, choice=first + button)

    def delivered_again(self) -> None:
        self.unacked[self.newest["id"]] = self.newest
        self._wake.set()

    def _event(self, **page: Any) -> str:
        number = next(self._numbers)
        page |= {
            "id": f"e{number}",
            "order": f"{number:012d}",
            "name": "Olivia",
            "at": time.time_ns() // 1000,
        }
        self.newest = self.unacked[page["id"]] = page
        self._wake.set()
        return str(page["id"])

    # --- the bot ---------------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            request = json.loads(await reader.readline() or b"{}")
            if request.get("token") != self.token:
                await _say(writer, {"error": "token"})
            elif request["do"] == "receive":
                await _say(writer, {})
                await self._deliver(reader, writer)
            else:
                await _say(writer, self._done(request))
                async with self._changed:
                    self._changed.notify_all()
        self._open.discard(writer)
        writer.close()

    async def _deliver(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            self._wake.clear()
            if not self.unacked:
                await self._wake.wait()
                continue
            event = next(iter(self.unacked.values()))
            await _say(writer, event)
            line = await reader.readline()
            if not line:
                return
            said = json.loads(line)
            self.answers[said["ack"]] = said["answer"]
            self.unacked.pop(said["ack"], None)
            async with self._changed:
                self._changed.notify_all()

    def _done(self, request: dict[str, Any]) -> dict[str, Any]:
        if len(request.get("text", "")) > LIMIT_CHARS:
            return {"error": f"a message has at most {LIMIT_CHARS} characters"}
        match request["do"]:
            case "post" if self.refused:
                self.refused -= 1
                return {"error": "rate", "retry_after_s": 1}
            case "post":
                known = [one for one in self.messages.values() if one.nonce == request["nonce"]]
                number = next(self._numbers)
                message = (
                    known[0] if known else WireMessage(f"{number:012d}", request["to"], request["nonce"], {})
                )
                message.page = request
                self.messages[message.id] = message
                return {"id": message.id, "order": message.id}
            case "edit" | "delete" if request["id"] not in self.messages:
                return {"error": "there is no such message"}
            case "edit":
                self.messages[request["id"]].page = request
            case "delete":
                del self.messages[request["id"]]
        return {}


async def _say(writer: asyncio.StreamWriter, page: dict[str, Any]) -> None:
    writer.write(json.dumps(page).encode() + b"\n")
    await writer.drain()
