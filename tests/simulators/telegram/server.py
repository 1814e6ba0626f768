"""HTTP in front of the world: `/bot<token>/<method>`, `/file/bot<token>/<path>`, and the faults between."""

import asyncio
import json
from email.utils import formatdate
from typing import Any

from aiohttp import web

from tests.simulators.control import ControlApi
from tests.simulators.server import PlatformServer
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
UNAUTHORIZED = ApiError(401, "Unauthorized")
NOT_FOUND = ApiError(404, "Not Found")
_NGINX_PAGE = "<html>\r\n<head><title>{0}</title></head>\r\n<body><h1>{0}</h1></body>\r\n</html>\r\n"
_GARBAGE = b"<!doctype html>"
METHODS = methods_of(methods_account, methods_chats, methods_files, methods_messages, methods_updates)


class ApiServer(PlatformServer[RequestRecord, Fault]):
    """Answers the bots."""

    def __init__(self, sim: SimulatorState, control: ControlApi, host: str, port: int) -> None:
        super().__init__(sim, control, host, port, MAX_BODY_BYTES)
        self._sim = sim
        self._rates = RateLimits()

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
        record = sim.log.open(canonical, params.logged(), sim.clock(), bot_id=bot.id)
        chat_id = params.values.get("chat_id")
        if chat_id is not None:
            record.chat_id = params.integer("chat_id") or None
        call = Call(sim, bot, params, record)
        return await self._logged(request, record, lambda: self._take(call, function))

    def _finish(self, answer: web.Response) -> None:
        answer.headers["Date"] = formatdate(self._sim.clock(), usegmt=True)
        if answer.status == 429 and isinstance(answer.body, bytes):
            answer.headers["Retry-After"] = str(json.loads(answer.body)["parameters"]["retry_after"])

    async def _take(self, call: Call, function: Method | None) -> web.Response:
        """Runs the method; its answer."""
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
            self._failed(record, error)
            status, body = 500, ApiError(500, "Internal Server Error: the simulator failed").body()
        else:
            status, body = 200, {"ok": True, "result": result}
        return _answer(status, json.dumps(body).encode())

    def _made_up(self, fault: Fault, record: RequestRecord) -> web.Response | None:
        if fault.kind == "rate_limit":
            error = too_many_requests(fault.retry_after)
            return _answer(429, json.dumps(error.body()).encode())
        if fault.kind == "server_error" and fault.html:
            page = _NGINX_PAGE.format(f"{fault.status} {fault.description}")
            return _answer(fault.status, page.encode())
        if fault.kind in {"server_error", "error"}:
            error = ApiError(fault.status, fault.description, fault.parameters)
            return _answer(fault.status, json.dumps(error.body()).encode())
        if fault.kind == "garbage" and fault.when == "before":
            return _answer(200, _GARBAGE)
        return None

    def _garbled(self, answer: web.Response) -> web.Response:
        return _answer(answer.status, _GARBAGE)

    def _download(self, token: str, path: str) -> web.Response:
        if token not in self._sim.world.bots:
            return _refusal(UNAUTHORIZED)
        stored = self._sim.files.by_path(path)
        if stored is None or stored.size_bytes > MAX_DOWNLOAD_BYTES:
            return _refusal(NOT_FOUND)
        return web.Response(body=stored.read(), content_type="application/octet-stream")


def _answer(status: int, body: bytes) -> web.Response:
    kind = "text/html" if body.startswith(b"<") else "application/json"
    return web.Response(status=status, body=body, content_type=kind)


def _refusal(error: ApiError) -> web.Response:
    return web.json_response(error.body(), status=error.code)
