"""HTTP in front of the world: the Web API, uploads, downloads, response URLs, sockets, and the faults
between.

``/api/<method>``, ``/upload/v1/<secret>``, ``/files-pri/…``, ``/actions/<team>/<key>``, ``/link/?ticket=…``.
"""

import json
from typing import Any

from aiohttp import BodyPartReader, web

from tests.simulators.control import ControlApi
from tests.simulators.server import PlatformServer, Take
from tests.simulators.slack import (
    methods_chat,
    methods_conversations,
    methods_files,
    methods_sockets,
    methods_streams,
    methods_views,
)
from tests.simulators.slack.content import with_warnings
from tests.simulators.slack.errors import RateLimited, SlackError
from tests.simulators.slack.faults import Fault
from tests.simulators.slack.interactions import Interactions
from tests.simulators.slack.log import RequestRecord
from tests.simulators.slack.params import Params, read_params
from tests.simulators.slack.rates import RateLimits
from tests.simulators.slack.registry import Call, Declared, methods_of
from tests.simulators.slack.world import App

Json = dict[str, Any]
MAX_BODY_BYTES = 64 * 1024 * 1024
METHODS = methods_of(
    methods_chat, methods_conversations, methods_files, methods_sockets, methods_streams, methods_views
)
_LOGIN_PAGE = "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body></body></html>"
_ERROR_PAGE = "<html><head><title>{0}</title></head><body><h1>{0}</h1></body></html>"


class ApiServer(PlatformServer[RequestRecord, Fault]):
    """Answers the apps."""

    def __init__(self, sim: Interactions, control: ControlApi, host: str, port: int) -> None:
        super().__init__(sim, control, host, port, MAX_BODY_BYTES)
        self._sim = sim
        self._rates = RateLimits()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        area, _, rest = request.path.lstrip("/").partition("/")
        match area:
            case "api":
                return await self._api(request, rest)
            case "upload":
                return await self._other(request, None, "upload", {}, lambda: self._upload(request))
            case "files-pri":
                app, _ = self._account(request, Params({}))
                params = {"path": rest}
                return await self._other(request, app, "download", params, lambda: self._download(app, rest))
            case "actions":
                body = await request.read()
                params = _json_or_empty(body)
                return await self._other(
                    request, None, "response_url", params, lambda: self._respond(rest, params)
                )
            case "link":
                return await self._sim.sockets.serve(request)
            case "login":
                return web.Response(text=_LOGIN_PAGE, content_type="text/html")
            case "_control":
                return await self._control.handle(request)
        return web.Response(status=404, text=_ERROR_PAGE.format("404 Not Found"), content_type="text/html")

    # -- every request: logged, hit by faults, answered

    async def _other(
        self, request: web.BaseRequest, app: App | None, name: str, params: Json, take: Take
    ) -> web.StreamResponse:
        """A request that is for no method of the Web API."""
        record = self._sim.log.open(name, params, self._sim.clock(), app_id=app.id if app else None)
        return await self._logged(request, record, take)

    async def _taken(self, record: RequestRecord, take: Take) -> web.Response:
        return await super()._taken(record, lambda: self._answered(record, take))

    async def _answered(self, record: RequestRecord, take: Take) -> web.Response:
        """Runs what the request asks for; refusals become answers."""
        try:
            return await take()
        except SlackError as error:
            record.error = error.error
            return web.json_response(error.body(), status=404 if record.method == "response_url" else 200)
        except RateLimited as error:
            record.error = "ratelimited"
            return _rate_limited(error.retry_after_s)
        except Exception as error:
            self._failed(record, error)
            return web.json_response({"ok": False, "error": "fatal_error"}, status=500)

    def _made_up(self, fault: Fault, record: RequestRecord) -> web.Response | None:
        if fault.kind == "rate_limit":
            record.error = "ratelimited"
            return _rate_limited(fault.retry_after)
        if fault.kind == "server_error":
            title = f"{fault.status} Server Error"
            text = _ERROR_PAGE.format(title) if fault.html else title
            kind = "text/html" if fault.html else "text/plain"
            return web.Response(status=fault.status, text=text, content_type=kind)
        if fault.kind == "error":
            record.error = fault.error
            return web.json_response({"ok": False, "error": fault.error})
        if fault.kind == "garbage" and fault.when == "before":
            return self._garbled(web.Response())
        return None

    # -- the Web API

    async def _api(self, request: web.BaseRequest, name: str) -> web.StreamResponse:
        warning: str | None = None
        broken: SlackError | None = None
        try:
            params, warning = await read_params(request)
        except SlackError as error:
            params, broken = Params({}), error
        declared = METHODS.get(name.lower())
        app, token = self._account(request, params)
        shown, app_id = declared.name if declared else name, app.id if app else None
        record = self._sim.log.open(shown, params.logged(), self._sim.clock(), app_id=app_id)
        record.channel = _channel_of(params)
        record.warning = warning

        async def take() -> web.Response:
            if broken is not None:
                raise broken
            if declared is None:
                raise SlackError("unknown_method", req_method=name)
            answer = self._call(declared, app, token, params, record)
            return web.json_response(with_warnings(answer, [warning]) if warning else answer)

        return await self._logged(request, record, take)

    def _account(self, request: web.BaseRequest, params: Params) -> tuple[App | None, str]:
        """The app a request's token belongs to, and the token."""
        header = request.headers.get("Authorization", "")
        token = header[7:].strip() if header.lower().startswith("bearer ") else ""
        if not token and request.content_type != "application/json":
            token = str(params.values.get("token") or "")
        for app in self._sim.world.apps.values():
            if token and token in {app.bot_token, app.app_token}:
                return app, token
        return None, token

    def _call(
        self, declared: Declared, app: App | None, token: str, params: Params, record: RequestRecord
    ) -> Json:
        if not token:
            raise SlackError("not_authed")
        if app is None:
            raise SlackError("invalid_auth")
        if token in app.revoked:
            raise SlackError(app.revoked[token])
        if (token == app.app_token) != (declared.token == "app"):
            raise SlackError("not_allowed_token_type")
        if declared.scope is not None and declared.scope not in app.scopes:
            provided = ",".join(sorted(app.scopes))
            raise SlackError("missing_scope", needed=declared.scope, provided=provided)
        call = Call(self._sim, app, params, record)
        if self._sim.enforce_rate_limits:
            self._rates.check(call, declared)
        answer: Json = declared.function(call)
        return answer

    # -- files

    async def _upload(self, request: web.BaseRequest) -> web.Response:
        secret = request.path.rpartition("/")[2]
        file = next((f for f in self._sim.world.files.values() if f.secret == secret), None)
        if file is None or file.completed:
            return web.Response(status=404, text="not found")
        if request.content_type == "multipart/form-data":
            content = await _first_part(request)
        else:
            content = await request.read()
        if len(content) != file.declared_bytes:
            return web.Response(status=400, text="the length is not the announced one")
        file.content = content
        return web.Response(text=f"OK - {len(content)}")

    async def _download(self, app: App | None, path: str) -> web.Response:
        name = path.partition("/")[0].rpartition("-")[2]
        file = self._sim.world.files.get(name)
        if app is None or app.bot_token in app.revoked or file is None or not file.completed or file.deleted:
            return web.Response(status=302, headers={"Location": f"/login?redir=%2Ffiles-pri%2F{name}"})
        if not any(app.user.id in self._sim.world.channels[c].members for c in file.channels):
            return web.Response(status=302, headers={"Location": f"/login?redir=%2Ffiles-pri%2F{name}"})
        return web.Response(body=file.read(), headers={"Content-Type": file.media_type})

    async def _respond(self, path: str, body: Json) -> web.Response:
        self._sim.use_response_url(path.rpartition("/")[2], body)
        return web.Response(text="ok")


def _channel_of(params: Params) -> str | None:
    value = params.values.get("channel") or params.values.get("channel_id")
    return value if isinstance(value, str) else None


async def _first_part(request: web.BaseRequest) -> bytes:
    async for part in await request.multipart():
        if isinstance(part, BodyPartReader):
            return bytes(await part.read(decode=False))
    return b""


def _json_or_empty(body: bytes) -> Json:
    try:
        parsed = json.loads(body)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _rate_limited(retry_after_s: int) -> web.Response:
    return web.json_response(
        {"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": str(retry_after_s)}
    )
