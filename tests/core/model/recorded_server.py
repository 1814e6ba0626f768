"""A server that answers with recorded bytes, keeps connections open, and counts them."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
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


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server that ends every connection with itself; yields its base URL."""
    tasks: set[asyncio.Task[None]] = set()

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client is done
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(one(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(begin, "127.0.0.1", 0, ssl=tls, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http{'s' if tls else ''}://localhost:{port}/v1"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def read_request(connection: int, reader: asyncio.StreamReader) -> Seen:
    """The next request of a connection. Raises IncompleteReadError at its end."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = int(Seen(connection, head, b"").header("content-length") or 0)
    return Seen(connection, head, await reader.readexactly(length))


@dataclass(slots=True)
class RecordedServer:
    """`respond`: the bytes to send for a request. `gather`: none is answered before so many came."""

    respond: Callable[[Seen], bytes]
    tls: ssl.SSLContext | None = None
    gather: int = 1
    connections: int = 0
    seen: list[Seen] = field(default_factory=list)
    base_url: str = ""
    _gathered: asyncio.Event = field(default_factory=asyncio.Event)
    _serving: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def __aenter__(self) -> Self:
        self.base_url = await self._serving.enter_async_context(serving(self._serve, self.tls))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._serving.aclose()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        while True:
            seen = await read_request(connection, reader)
            self.seen.append(seen)
            if len(self.seen) >= self.gather:
                self._gathered.set()
            await self._gathered.wait()
            writer.write(self.respond(seen))
            await writer.drain()
