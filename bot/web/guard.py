"""Who may use the API: programs of this machine's user, which can read the token the hub has written."""

import hmac
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})


def error_response(
    status: int, code: str, message: str, field: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """The one shape of everything that goes wrong."""
    error = {"code": code, "message": message} | ({"field": field} if field else {})
    return JSONResponse({"error": error}, status_code=status, headers=headers)


class ApiGuard:
    """Lets requests through that name a loopback host and bring the token.

    The host keeps pages of other sites out, whose names were made to lead to this machine.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        refusal = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
        if name.lower() not in LOOPBACK_HOSTS:
            return error_response(403, "forbidden_host", "the API is for this machine: use 127.0.0.1")
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token):
            return None
        return error_response(
            401,
            "unauthorized",
            "send the token of api.json in the data directory as Authorization: Bearer",
            headers={"WWW-Authenticate": "Bearer"},
        )
