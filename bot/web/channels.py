"""The endpoints platforms call, mounted below `/channels/{name}`; channels know no web framework."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount
from starlette.routing import Route as WebRoute

from channels.channel import HttpRequest, HttpResponse, Route

CHANNELS_PATH = "/channels"

BODY_LIMIT_BYTES = 1024 * 1024
"""Platforms' events are far smaller; more is refused before it is read."""


def channel_routes(routes: Mapping[str, Sequence[Route]]) -> list[BaseRoute]:
    """One mount per channel that has endpoints."""
    return [
        Mount(f"{CHANNELS_PATH}/{name}", routes=[_web_route(route) for route in of_channel])
        for name, of_channel in routes.items()
        if of_channel
    ]


def _web_route(route: Route) -> WebRoute:
    return WebRoute(route.path, _endpoint(route.handle), methods=[route.method])


def _endpoint(
    handle: Callable[[HttpRequest], Awaitable[HttpResponse]],
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return Response(status_code=413)
        answer = await handle(
            HttpRequest(request.method, request.url.path, dict(request.headers.items()), body)
        )
        return Response(answer.body, answer.status, dict(answer.headers))

    return endpoint


async def _body(request: Request) -> bytes | None:
    """The raw body, None if it is over the limit."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_LIMIT_BYTES:
            return None
    return bytes(body)
