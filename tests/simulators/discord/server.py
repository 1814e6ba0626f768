"""HTTP in front of the world: `/api/v10/…`, `/gateway`, `/attachments/…`, and the faults between."""

import json
import time
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from tests.simulators.control import ControlApi
from tests.simulators.discord import (
    errors,
    rates,
    routes_account,
    routes_channels,
    routes_interactions,
    routes_messages,
)
from tests.simulators.discord.bodies import MAX_BODY_BYTES, Body, read_body
from tests.simulators.discord.errors import ApiError
from tests.simulators.discord.faults import Fault
from tests.simulators.discord.gateway import Connection
from tests.simulators.discord.interactions import Interactions
from tests.simulators.discord.log import RequestRecord
from tests.simulators.discord.registry import NO_CONTENT, Call, Created, Route, Router
from tests.simulators.discord.world import Bot, User
from tests.simulators.server import PlatformServer

Json = dict[str, Any]
ROUTER = Router(routes_account, routes_channels, routes_interactions, routes_messages)
API = "/api/v10"
_NGINX_PAGE = "<html>\r\n<head><title>{0}</title></head>\r\n<body><h1>{0}</h1></body>\r\n</html>\r\n"
NOBODY = Bot("", User(0, "nobody", is_bot=True))
"""Who asks when no bot's token is needed."""


class ApiServer(PlatformServer[RequestRecord, Fault]):
    """Answers the bots. ``go_down`` refuses connections on the port until ``come_up``."""

    def __init__(self, sim: Interactions, control: ControlApi, host: str, port: int) -> None:
        super().__init__(sim, control, host, port, MAX_BODY_BYTES)
        self._sim = sim

    async def _gateway(self, request: web.BaseRequest) -> web.StreamResponse:
        closed_until = self._sim.gateway_closed_until
        if closed_until is not None and time.monotonic() < closed_until and request.transport is not None:
            request.transport.abort()
            return web.Response()
        if request.query.get("v", "10") != "10" or request.query.get("encoding", "json") != "json":
            return web.Response(status=400, text="this simulator speaks v=10 and encoding=json")
        if request.query.get("compress", "zlib-stream") != "zlib-stream":
            return web.Response(status=400, text="this simulator knows zlib-stream only")
        connection = Connection(self._sim, request)
        self._sim.wires.add(connection)
        try:
            return await connection.serve()
        finally:
            self._sim.wires.discard(connection)

    # -- one request

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path.startswith("/_control"):
            return await self._control.handle(request)
        if path == "/gateway" or path.startswith("/gateway/") or "Upgrade" in request.headers:
            return await self._gateway(request)
        if path.startswith("/attachments/"):
            return await self._download(request)
        if path.startswith(API + "/"):
            # the raw path: an emoji in it is percent-encoded and must stay one part
            return await self._api(request, request.rel_url.raw_path.removeprefix(API))
        return json_answer(errors.no_such_route().body(), status=404)

    async def _api(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        sim = self._sim
        found, parts, known = ROUTER.find(request.method, path)
        bot = _authorized(sim, request)
        refusal: ApiError | None = None
        body = Body()
        try:
            if found is None:
                raise errors.wrong_method() if known else errors.no_such_route()
            if bot is None and found.needs_token:
                raise errors.unauthorized()
            body = await read_body(request)
        except ApiError as error:
            refusal = error
        name = found.name if found is not None else f"{request.method} {path}"
        bot_id = 0 if bot is None else bot.id
        record = sim.log.open(name, body.logged(), sim.clock(), bot_id=bot_id, path=path)
        channel = parts.get("channel_id", "")
        record.channel_id = int(channel) if channel.isdecimal() else None
        parts = {key: unquote(value) for key, value in parts.items()}
        call = Call(sim, bot or NOBODY, record, body, dict(request.query), parts)
        return await self._logged(request, record, lambda: self._take(call, found, refusal))

    async def _take(self, call: Call, found: Route | None, refusal: ApiError | None) -> web.Response:
        """Runs the operation; its answer."""
        record = call.record
        headers: dict[str, str] = {}
        try:
            if refusal is not None or found is None:
                raise refusal or errors.no_such_route()
            verdict = self._sim.rates.check(record.bot_id, found.name, _major(call))
            headers = verdict.headers
            if verdict.retry_after_s is not None:
                record.status, record.error = 429, "rate limited"
                return _limited(verdict.scope, verdict.retry_after_s, headers)
            result = found.function(call)
        except ApiError as error:
            record.code, record.error = error.code, error.message
            return json_answer(error.body(), status=error.status, headers=headers)
        except Exception as error:
            self._failed(record, error)
            broken = ApiError(500, 0, "500: Internal Server Error (the simulator failed)")
            return json_answer(broken.body(), status=500)
        return _answer(result, headers)

    def _made_up(self, fault: Fault, record: RequestRecord) -> web.Response | None:
        if fault.kind == "rate_limit":
            wait_s = float(fault.retry_after)
            shared = fault.scope == "shared"
            headers = rates.bucket_headers(record.method, 5, 4 if shared else 0, wait_s)
            return _limited(fault.scope, wait_s, {} if fault.scope == "global" else headers)
        if fault.kind == "server_error" and fault.html:
            page = _NGINX_PAGE.format(f"{fault.status} Bad Gateway")
            return web.Response(status=fault.status, text=page, content_type="text/html")
        if fault.kind in {"server_error", "error"}:
            record.code = fault.code
            return json_answer(fault.refusal().body(), status=fault.status)
        if fault.kind == "garbage" and fault.when == "before":
            return self._garbled(web.Response())
        return None

    async def _download(self, request: web.BaseRequest) -> web.StreamResponse:
        """https://docs.discord.com/developers/reference#signed-attachment-cdn-urls."""
        sim, path = self._sim, request.rel_url.path
        record = sim.log.open("downloadAttachment", {}, sim.clock(), path=path)
        fault = sim.faults.hit(record)
        if fault is not None:
            made_up = self._made_up(fault, record)
            if made_up is not None:
                return await self._send(request, record, made_up)
            if not await self._play(request, record, fault):
                return web.Response()
        _, _, channel_id, attachment_id, _ = [*path.split("/"), "", "", "", ""][:5]
        expires = int(request.query.get("ex") or "0", 16)
        places = sim.world.channels
        channel = places.get(int(channel_id)) if channel_id.isdecimal() else None
        held = [a for m in channel.messages.values() for a in m.attachments] if channel is not None else []
        wanted = next((a for a in held if str(a.id) == attachment_id), None)
        signed = request.query.get("hm") == sim.signature(path, expires) and sim.clock() < expires
        record.taken = True
        if wanted is None or not signed:
            gone = web.Response(status=404, text="This content is no longer available.")
            return await self._send(request, record, gone)
        kind = (wanted.media_type or "application/octet-stream").partition(";")[0]
        answer = web.Response(body=wanted.content, content_type=kind)
        return await self._send(request, record, answer)


def _authorized(sim: Interactions, request: web.BaseRequest) -> Bot | None:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return sim.world.bot_of_token(token) if kind == "Bot" else None


def _major(call: Call) -> str:
    """Return what buckets are kept apart by: the channel, guild or webhook in the path."""
    names = ("channel_id", "guild_id", "token")
    return next((call.path[name] for name in names if name in call.path), "")


def json_answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    """JSON as the platform labels it: libraries look for exactly ``application/json``, no charset."""
    packed = json.dumps(body).encode()
    return web.Response(status=status, body=packed, headers=headers, content_type="application/json")


def _answer(result: Any, headers: dict[str, str]) -> web.Response:
    if result is NO_CONTENT:
        return web.Response(status=204, headers=headers)
    if isinstance(result, Created):
        return json_answer(result.body, status=201, headers=headers)
    return json_answer(result, headers=headers)


def _limited(scope: str, retry_after_s: float, headers: dict[str, str]) -> web.Response:
    headers, body = rates.refusal(scope, retry_after_s, headers)
    return json_answer(body, status=429, headers=headers)
