"""A way to the hub that can be cut: every connection through it ends at once, and no new one is let in."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

CHUNK_BYTES = 65_536


class Way:
    """Passes bytes on, both ways, until it is cut."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._open: set[asyncio.StreamWriter] = set()
        self._cut = False
        self.url = ""
        self.refused = 0

    def cut(self) -> None:
        """End everything that passes."""
        self._cut = True
        for writer in self._open:
            writer.transport.abort()

    def mend(self) -> None:
        """Let connections pass again."""
        self._cut = False

    async def passed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its first byte to its last."""
        if self._cut:
            self.refused += 1
            writer.transport.abort()
            return
        with contextlib.suppress(OSError):
            there = await asyncio.open_connection(self._host, self._port)
            if self._cut:  # meanwhile
                writer.transport.abort()
                there[1].transport.abort()
                return
            self._open |= {writer, there[1]}
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_pump(reader, there[1]))
                    group.create_task(_pump(there[0], writer))
            finally:
                self._open -= {writer, there[1]}


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    writer.transport.abort() if writer.is_closing() else writer.close()


@contextlib.asynccontextmanager
async def way_to(url: str) -> AsyncIterator[Way]:
    """A way to what serves on `url`, of the form http://HOST:PORT."""
    host, _, port = url.removeprefix("http://").partition(":")
    way = Way(host, int(port))
    server = await asyncio.start_server(way.passed, "127.0.0.1", 0)
    way.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield way
    finally:
        way.cut()
        server.close()
