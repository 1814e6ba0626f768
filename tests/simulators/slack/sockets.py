"""Socket Mode: https://docs.slack.dev/apis/events-api/using-socket-mode.

Every app has up to ten connections; an envelope goes to one of them, in turn. A connection that was told to
disconnect takes acknowledgements until it closes, and no new envelopes.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.simulators.slack import limits
from tests.simulators.slack.ids import Ids

Json = dict[str, Any]
HOST = "applink-simulated"


@dataclass(slots=True, eq=False)
class Connection:
    """One open WebSocket; ``acks`` are the envelopes it still owes an answer for."""

    number: int
    app_id: str
    socket: web.WebSocketResponse
    request: web.BaseRequest
    leaving: str | None = None
    acks: dict[str, asyncio.Future[Json]] = field(default_factory=dict)
    received: list[Any] = field(default_factory=list)

    def to_json(self) -> Json:
        """Return what a judge sees of it."""
        return {
            "number": self.number,
            "app_id": self.app_id,
            "leaving": self.leaving,
            "owed": list(self.acks),
        }


class Sockets:
    """The connections of all apps."""

    def __init__(self, ids: Ids, clock: Callable[[], float], changed: Callable[[], None]) -> None:
        self._ids = ids
        self._clock = clock
        self._changed = changed
        self._tickets: dict[str, str] = {}
        self._turn = 0
        self._opened = 0
        self.open: list[Connection] = []
        self.cut_until = 0.0

    def ticket(self, app_id: str) -> str:
        """A one-use permission to connect, part of the URL that ``apps.connections.open`` gives."""
        ticket = self._ids.secret()
        self._tickets[ticket] = app_id
        return ticket

    def of(self, app_id: str, *, leaving: bool = False) -> list[Connection]:
        """The connections of an app that take envelopes (or, ``leaving``, all of them)."""
        return [c for c in self.open if c.app_id == app_id and (leaving or c.leaving is None)]

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """One connection from its handshake to its end."""
        if self._clock() < self.cut_until:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=503)
        app_id = self._tickets.pop(request.query.get("ticket", ""), None)
        if app_id is None:
            return web.Response(status=401, text="ticket is invalid or used")
        socket = web.WebSocketResponse(autoping=True)
        await socket.prepare(request)
        if len(self.of(app_id, leaving=True)) >= limits.MAX_SOCKETS:
            await socket.send_json(_disconnect("too_many_websockets"))
            await socket.close()
            return socket
        self._opened += 1
        connection = Connection(self._opened, app_id, socket, request)
        self.open.append(connection)
        try:
            await socket.send_json(self._hello(app_id))
            self._changed()
            await self._read(connection)
        except ConnectionResetError:
            pass  # the client went away between two frames
        finally:
            self.open.remove(connection)
            for waiting in connection.acks.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionResetError("the connection closed"))
            self._changed()
        return socket

    def _hello(self, app_id: str) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.of(app_id)),
            "debug_info": {
                "host": HOST,
                "build_number": 1,
                "approximate_connection_time": limits.SOCKET_LIFE_S,
            },
            "connection_info": {"app_id": app_id},
        }

    async def _read(self, connection: Connection) -> None:
        async for frame in connection.socket:
            if frame.type != WSMsgType.TEXT:
                continue
            try:
                answer = json.loads(frame.data)
            except ValueError:
                answer = frame.data
            connection.received.append(answer)
            waiting = connection.acks.get(_envelope_id(answer))
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)
            self._changed()

    # -- envelopes

    def pick(self, app_id: str) -> Connection | None:
        """The connection whose turn it is; None without one."""
        ready = self.of(app_id)
        if not ready:
            return None
        self._turn += 1
        return ready[self._turn % len(ready)]

    async def send(self, connection: Connection, envelope: Json) -> Json:
        """Sends an envelope and waits for its acknowledgement. Raises ``ConnectionError``."""
        waiting: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        connection.acks[envelope["envelope_id"]] = waiting
        try:
            await connection.socket.send_json(envelope)
            return await waiting
        finally:
            connection.acks.pop(envelope["envelope_id"], None)

    # -- endings

    async def ask_to_leave(self, app_id: str, reason: str, number: int | None = None) -> list[Connection]:
        """Tells connections to go. After a ``warning`` they stay; otherwise the server closes them.

        Raises ``LookupError`` if there is none.
        """
        chosen = [c for c in self.of(app_id, leaving=True) if number in {None, c.number}]
        if not chosen:
            raise LookupError(f"app {app_id} has no such connection")
        for connection in chosen:
            await connection.socket.send_json(_disconnect(reason))
            if reason != "warning":
                connection.leaving = reason
        self._changed()
        return chosen

    def abort(self, app_id: str | None = None, number: int | None = None) -> None:
        """Cuts connections without a word."""
        for connection in list(self.open):
            if app_id in {None, connection.app_id} and number in {None, connection.number}:
                transport = connection.request.transport
                if transport is not None:
                    transport.abort()


def _envelope_id(answer: Any) -> str:
    return str(answer.get("envelope_id")) if isinstance(answer, dict) else ""


def _disconnect(reason: str) -> Json:
    return {"type": "disconnect", "reason": reason, "debug_info": {"host": HOST}}
