"""Request bodies as a sender without a secret may send them: very long, and never complete."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import aiohttp
from yarl import URL

from bot.web.responses import BODY_LIMIT_S
from tests.patience import PATIENCE_S


class LongBody:
    """A body of 16 MB whose length is not said beforehand. `sent_bytes`: what was taken of it."""

    BYTES, PIECE = 16 * 1024 * 1024, b" " * 65_536

    def __init__(self) -> None:
        self.sent_bytes = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.sent_bytes < self.BYTES:
            self.sent_bytes += len(self.PIECE)
            yield self.PIECE

    async def refused_by(self, url: str, headers: Mapping[str, str]) -> bool:
        """Return whether it is refused before half of it was read."""
        try:
            async with aiohttp.ClientSession() as http, http.post(url, data=self, headers=headers) as answer:
                status = answer.status
        except aiohttp.ClientError:  # closed while we send
            status = 413
        return status == 413 and self.sent_bytes < self.BYTES // 2


async def answer_to_a_part(url: str, *headers: str) -> str:
    """Send the beginning of a body; return the first line of the answer that comes within its time."""
    to = URL(url)
    reader, writer = await asyncio.open_connection(to.host, to.port)
    head = "\r\n".join((f"POST {to.path} HTTP/1.1", "Host: 127.0.0.1", *headers, "Content-Length: 100"))
    writer.write(f"{head}\r\n\r\n{{".encode())
    async with asyncio.timeout(BODY_LIMIT_S + PATIENCE_S):
        answer = (await reader.readuntil(b"\r\n")).decode()
    writer.close()
    return answer
