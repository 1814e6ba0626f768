"""A server that answers with recorded bytes, keeps connections open, and counts them."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

SSE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived."""

    connection: int
    head: str
    body: bytes

    def header(self, name: str) -> str | None:
        for line in self.head.split("\r\n")[1:]:
            key, _, value = line.partition(":")
            if key.lower() == name.lower():
                return value.strip()
        return None


def answer(body: bytes, *, status: str = "200 OK", media_type: str = SSE, headers: str = "") -> bytes:
    """A response in one chunk of a chunked body, as streams travel."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nTransfer-Encoding: chunked\r\n{headers}\r\n"
    chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n" if body else b""
    return head.encode() + chunk + b"0\r\n\r\n"


@dataclass(slots=True)
class RecordedServer:
    """`respond`: the bytes to send for a request. `gather`: none is answered before so many came."""

    respond: Callable[[Seen], bytes]
    tls: ssl.SSLContext | None = None
    gather: int = 1
    connections: int = 0
    seen: list[Seen] = field(default_factory=list)
    _server: asyncio.Server | None = None
    _gathered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def base_url(self) -> str:
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return f"http{'s' if self.tls else ''}://localhost:{port}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls, backlog=1024)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                seen = Seen(connection, head, b"")
                length = int(seen.header("content-length") or 0)
                seen = Seen(connection, head, await reader.readexactly(length))
                self.seen.append(seen)
                if len(self.seen) >= self.gather:
                    self._gathered.set()
                await self._gathered.wait()
                writer.write(self.respond(seen))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
