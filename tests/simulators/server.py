"""HTTP in front of a platform's world: every request is logged, hit by faults, and answered."""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

from aiohttp import web

from tests.simulators.control import ControlApi
from tests.simulators.faults import Fault, FaultBook
from tests.simulators.listener import Listener
from tests.simulators.request_log import Request

Take = Callable[[], Awaitable[web.Response]]
"""Has a request take effect; refusals are answers, too."""
R = TypeVar("R", bound=Request)
F = TypeVar("F", bound=Fault)
_log = logging.getLogger(__name__)


class World(Protocol[F]):
    """The server's needs of the simulator."""

    faults: FaultBook[F]
    clock: Callable[[], float]

    def changed(self) -> None:
        """Wakes who waits."""


class PlatformServer(Generic[R, F]):
    """Answers bots. A platform says which requests there are, and how it words what it makes up."""

    def __init__(
        self, world: World[F], control: ControlApi, host: str, port: int, max_body_bytes: int
    ) -> None:
        self._world = world
        self._control = control
        self._arriving: set[asyncio.Task[web.Response]] = set()
        self._max_body_bytes = max_body_bytes
        self.listener = Listener(self._handle, host, port, request_factory=self._request)

    @abstractmethod
    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answers one request, whatever it is for."""

    @abstractmethod
    def _made_up(self, fault: F, record: R) -> web.Response | None:
        """The answer of faults that need no world."""

    def _garbled(self, answer: web.Response) -> web.Response:
        """Return what a fault makes of an answer: no JSON."""
        return web.Response(text="<!doctype html>", content_type="text/html")

    def _finish(self, answer: web.Response) -> None:
        """Adds what is known only when the answer goes out."""

    async def _logged(self, request: web.BaseRequest, record: R, take: Take) -> web.StreamResponse:
        """One request, from when it has been read until nothing more becomes of it."""
        self._world.changed()
        try:
            return await self._execute(request, record, take)
        except asyncio.CancelledError:
            if record.outcome in {"pending", "held"}:
                record.outcome = "gone"
            raise
        finally:
            record.finished_at = self._world.clock()
            self._world.changed()

    async def _execute(self, request: web.BaseRequest, record: R, take: Take) -> web.StreamResponse:
        fault = self._world.faults.hit(record)
        if fault is None:
            return await self._send(request, record, await self._taken(record, take))
        record.fault = fault.id
        made_up = self._made_up(fault, record)
        if made_up is not None:
            return await self._send(request, record, made_up)
        if fault.kind == "late":
            answer = await self._taken_late(record, take, fault)
        elif fault.when == "before":
            if not await self._play(request, record, fault):
                return web.Response()
            answer = await self._taken(record, take)
        else:
            answer = await self._taken(record, take)
            if fault.kind == "garbage":
                answer = self._garbled(answer)
            elif not await self._play(request, record, fault):
                return web.Response()
        return await self._send(request, record, answer)

    async def _taken(self, record: R, take: Take) -> web.Response:
        answer = await take()
        record.taken, record.status = True, answer.status
        self._world.changed()
        return answer

    async def _taken_late(self, record: R, take: Take, fault: F) -> web.Response:
        """Once it is released: a request on its way arrives without its sender, too."""
        released = fault.released
        record.outcome = "held"
        self._world.changed()

        async def arrive() -> web.Response:
            await released.wait()
            return await self._taken(record, take)

        arriving = asyncio.create_task(arrive())
        self._arriving.add(arriving)
        arriving.add_done_callback(self._arriving.discard)
        return await asyncio.shield(arriving)

    def _failed(self, record: R, error: Exception) -> None:
        """The simulator has a defect."""
        _log.exception("the simulator failed in %s", record.method)
        record.error = f"{type(error).__name__}: {error}"

    async def _play(self, request: web.BaseRequest, record: R, fault: F) -> bool:
        """Plays a fault that concerns the connection; False if there is nothing to answer any more."""
        if fault.kind == "slow":
            await asyncio.sleep(fault.delay_s)
            return True
        if fault.kind == "hold":
            released = fault.released
            record.outcome = "held"
            self._world.changed()
            await released.wait()
            record.outcome = "pending"
            if fault.then == "answer":
                return True
        if fault.kind == "silent":
            record.outcome = "silent"
            self._world.changed()
            await fault.released.wait()
        elif request.transport is not None:
            record.outcome = "dropped"
        if request.transport is not None:
            request.transport.abort()
        return False

    async def _send(self, request: web.BaseRequest, record: R, answer: web.Response) -> web.Response:
        """Writes the answer at once, so that the log knows whether it went out."""
        self._finish(answer)
        record.status = record.status or answer.status
        try:
            await answer.prepare(request)
            await answer.write_eof()
        except ConnectionError:
            record.outcome = "gone"
            return answer
        connected = request.transport is not None and not request.transport.is_closing()
        record.outcome = "answered" if connected else "gone"
        return answer

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        """A request with room for the largest body; aiohttp's own limit is 1 MB."""
        loop, most = asyncio.get_running_loop(), self._max_body_bytes
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=most)
