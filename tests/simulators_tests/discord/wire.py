"""The gateway spoken by hand, where a library would wait between its attempts."""

import json
import zlib
from typing import Any, Self

import aiohttp

from tests.patience import PATIENCE_S
from tests.simulators.discord import DiscordSimulator
from tests.simulators_tests.discord.conftest import INTENTS, TOKEN

Json = dict[str, Any]
LIMIT_S = PATIENCE_S


class Wire:
    """One websocket. ``closed`` is the close code once the server has closed it."""

    def __init__(self, sim: DiscordSimulator, *, compress: bool = False) -> None:
        query = "&compress=zlib-stream" if compress else ""
        self._url = f"{sim.gateway_url}?v=10&encoding=json{query}"
        self._inflator = zlib.decompressobj() if compress else None
        self._client = aiohttp.ClientSession()
        self._ws: aiohttp.ClientWebSocketResponse | None = None
        self.seq: int | None = None
        self.hello: Json = {}

    async def __aenter__(self) -> Self:
        try:
            self._ws = await self._client.ws_connect(self._url)
        except BaseException:
            await self._client.close()
            raise
        self.hello = await self.read()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close(4900)

    @property
    def ws(self) -> aiohttp.ClientWebSocketResponse:
        assert self._ws is not None
        return self._ws

    @property
    def closed(self) -> int | None:
        return self.ws.close_code

    async def close(self, code: int) -> None:
        """Closes with a code; 1000 and 1001 end the session."""
        await self.ws.close(code=code)
        await self._client.close()

    async def send(self, op: int, data: Any) -> None:
        await self.ws.send_str(json.dumps({"op": op, "d": data}))

    async def read(self) -> Json:
        """The next payload. Raises ``EOFError`` when the server has closed."""
        message = await self.ws.receive(timeout=LIMIT_S)
        if message.type not in {aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY}:
            raise EOFError(f"closed with {self.ws.close_code}")
        raw = message.data
        if self._inflator is not None:
            raw = self._inflator.decompress(raw)
        elif isinstance(raw, bytes):
            raw = zlib.decompress(raw)
        payload: Json = json.loads(raw)
        if payload.get("s") is not None:
            self.seq = payload["s"]
        return payload

    async def until(self, name: str) -> list[Json]:
        """Payloads up to and with the event of this name."""
        found = [await self.read()]
        while found[-1].get("t") != name:
            found.append(await self.read())
        return found

    async def ended(self) -> int | None:
        """Reads on until the server closes; its code."""
        try:
            while True:
                await self.read()
        except EOFError:
            return self.closed

    async def identify(self, intents: int = int(INTENTS), token: str = TOKEN, **more: Any) -> Json:
        """Identifies and gives READY's data, the guilds that follow read as well."""
        properties = {"os": "linux", "browser": "test", "device": "test"}
        await self.send(2, {"token": token, "intents": intents, "properties": properties, **more})
        ready: Json = (await self.until("READY"))[-1]["d"]
        for _ in ready["guilds"] if intents & 1 else []:
            await self.until("GUILD_CREATE")
        return ready

    async def resume(self, session_id: str, seq: int | None, token: str = TOKEN) -> None:
        await self.send(6, {"token": token, "session_id": session_id, "seq": seq})
