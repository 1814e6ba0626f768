"""HTTP in front of the world: `/bot<token>/<method>`, `/file/bot<token>/<path>`, and the faults between."""

import asyncio
import json
import logging
from email.utils import formatdate
from typing import Any

from aiohttp import web

from tests.simulators.control import ControlApi
from tests.simulators.exchange import play_fault, send_answer
from tests.simulators.listener import Listener
from tests.simulators.telegram import (
    methods_account,
    methods_chats,
    methods_files,
    methods_messages,
    methods_updates,
)
from tests.simulators.telegram.errors import ApiError, too_many_requests
from tests.simulators.telegram.faults import Fault
from tests.simulators.telegram.limits import MAX_DOWNLOAD_BYTES
from tests.simulators.telegram.log import RequestRecord
from tests.simulators.telegram.params import MAX_BODY_BYTES, read_params
from tests.simulators.telegram.rates import RateLimits
from tests.simulators.telegram.registry import Call, Method, methods_of
from tests.simulators.telegram.state import SimulatorState

Json = dict[str, Any]
_log = logging.getLogger(__name__)
UNAUTHORIZED = ApiError(401, "Unauthorized")
NOT_FOUND = ApiError(404, "Not Found")
_NGINX_PAGE = "<html>\r\n<head><title>{0}</title></head>\r\n<body><h1>{0}</h1></body>\r\n</html>\r\n"
METHODS = methods_of(methods_account, methods_chats, methods_files, methods_messages, methods_updates)


class ApiServer:
    """Answers the bots."""

    def __init__(self, sim: SimulatorState, control: ControlApi, host: str, port: int) -> None:
        self._sim = sim
        self._control = control
        self._rates = RateLimits()
        self._arriving: set[asyncio.Task[tuple[int, bytes]]] = set()
        self.listener = Listener(self._handle, host, port, request_factory=_request)

    # -- one request

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path.startswith("/bot"):
            token, _, name = path[4:].partition("/")
            return await self._api(request, token, name)
        if path.startswith("/file/bot"):
            token, _, file_path = path[9:].partition("/")
            return self._download(token, file_path)
        if path.startswith("/_control"):
            return await self._control.handle(request)
        return _refusal(NOT_FOUND)

    async def _api(self, request: web.BaseRequest, token: str, name: str) -> web.StreamResponse:
        sim = self._sim
        bot = sim.world.bots.get(token)
        try:
            params = await read_params(request)
        except ApiError as error:
            return _refusal(error)
        if bot is None:
            return _refusal(UNAUTHORIZED)
        canonical, function = METHODS.get(name.lower(), (name, None))
        record = sim.log.open(bot.id, canonical, params.logged(), sim.clock())
        chat_id = params.values.get("chat_id")
        if chat_id is not None:
            record.chat_id = params.integer("chat_id") or None
        sim.changed()
        try:
            return await self._execute(request, Call(sim, bot, params, record), function)
        except asyncio.CancelledError:
            if record.outcome in {"pending", "held"}:
                record.outcome = "gone"
            raise
        finally:
            record.finished_at = sim.clock()
            sim.changed()

    async def _send(
        self, request: web.BaseRequest, record: RequestRecord, status: int, body: bytes
    ) -> web.Response:
        html = body.startswith(b"<")
        response = web.Response(
            status=status, body=body, content_type="text/html" if html else "application/json"
        )
        response.headers["Date"] = formatdate(self._sim.clock(), usegmt=True)
        if status == 429:
            response.headers["Retry-After"] = str(json.loads(body)["parameters"]["retry_after"])
        return await send_answer(request, record, response)

    async def _execute(
        self, request: web.BaseRequest, call: Call, function: Method | None
    ) -> web.StreamResponse:
        record = call.record
        fault = self._sim.faults.hit(record)
        if fault is None:
            status, body = await self._take(call, function)
            return await self._send(request, record, status, body)
        record.fault = fault.id
        made_up = _made_up_answer(fault)
        if made_up is not None:
            return await self._send(request, record, *made_up)
        if fault.kind == "late":
            status, body = await self._take_late(call, function, fault)
        elif fault.when == "before":
            if not await play_fault(request, record, fault, self._sim.changed):
                return web.Response()
            status, body = await self._take(call, function)
        else:
            status, body = await self._take(call, function)
            if fault.kind == "garbage":
                body = b"<!doctype html>"
            elif not await play_fault(request, record, fault, self._sim.changed):
                return web.Response()
        return await self._send(request, record, status, body)

    async def _take_late(self, call: Call, function: Method | None, fault: Fault) -> tuple[int, bytes]:
        """Runs the method once it is released: a request on its way arrives without its sender, too."""
        released = fault.released
        call.record.outcome = "held"
        self._sim.changed()

        async def arrive() -> tuple[int, bytes]:
            await released.wait()
            return await self._take(call, function)

        arriving = asyncio.create_task(arrive())
        self._arriving.add(arriving)
        arriving.add_done_callback(self._arriving.discard)
        return await asyncio.shield(arriving)

    async def _take(self, call: Call, function: Method | None) -> tuple[int, bytes]:
        """Runs the method; the answer's status and body."""
        record = call.record
        try:
            if function is None:
                raise NOT_FOUND
            if self._sim.enforce_rate_limits:
                self._rates.check(call)
            result = function(call)
            if asyncio.iscoroutine(result):
                result = await result
        except ApiError as error:
            record.error = error.description
            status, body = error.code, error.body()
        except Exception as error:
            _log.exception("the simulator failed in %s", record.method)
            record.error = f"{type(error).__name__}: {error}"
            status, body = 500, ApiError(500, "Internal Server Error: the simulator failed").body()
        else:
            status, body = 200, {"ok": True, "result": result}
        record.taken, record.status = True, status
        self._sim.changed()
        return status, json.dumps(body).encode()

    def _download(self, token: str, path: str) -> web.Response:
        if token not in self._sim.world.bots:
            return _refusal(UNAUTHORIZED)
        stored = self._sim.files.by_path(path)
        if stored is None or stored.size_bytes > MAX_DOWNLOAD_BYTES:
            return _refusal(NOT_FOUND)
        return web.Response(body=stored.read(), content_type="application/octet-stream")


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    """A request with room for the largest album; aiohttp's own limit is 1 MB."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=MAX_BODY_BYTES)


def _made_up_answer(fault: Fault) -> tuple[int, bytes] | None:
    """The answer of faults that need no world."""
    if fault.kind == "rate_limit":
        error = too_many_requests(fault.retry_after)
        return 429, json.dumps(error.body()).encode()
    if fault.kind == "server_error" and fault.html:
        return fault.status, _NGINX_PAGE.format(f"{fault.status} {fault.description}").encode()
    if fault.kind in {"server_error", "error"}:
        error = ApiError(fault.status, fault.description, fault.parameters)
        return fault.status, json.dumps(error.body()).encode()
    if fault.kind == "garbage" and fault.when == "before":
        return 200, b"<!doctype html>"
    return None


def _refusal(error: ApiError) -> web.Response:
    return web.json_response(error.body(), status=error.code)
