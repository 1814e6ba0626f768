"""An HTTP server on a port of its own that can go down and come back."""

import socket
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Listener:
    """Serves requests; ``go_down`` refuses connections on the port until ``come_up``."""

    def __init__(
        self, handler: Handler, host: str, port: int, *, request_factory: Callable[..., Any] | None = None
    ) -> None:
        self._handler = handler
        self._factory: dict[str, Any] = (
            {} if request_factory is None else {"request_factory": request_factory}
        )
        self._host = host
        self._port = port
        self._placeholder: socket.socket | None = None
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        """Return where it listens (also while it is down)."""
        return f"http://{self._host}:{self._port}"

    async def start(self) -> None:
        """Reserves the port for good and listens on it."""
        self._placeholder = self._bound_socket()
        self._port = self._placeholder.getsockname()[1]
        await self.come_up()

    async def stop(self) -> None:
        """Closes every connection and gives the port back."""
        await self.go_down()
        if self._placeholder is not None:
            self._placeholder.close()
            self._placeholder = None

    async def come_up(self) -> None:
        """Listens (again)."""
        if self._runner is not None:
            return
        server = web.Server(self._handler, handler_cancellation=True, access_log=None, **self._factory)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.SockSite(self._runner, self._bound_socket(), backlog=1024).start()

    async def go_down(self) -> None:
        """Stops listening and cuts every connection; the port stays reserved, so connecting is refused."""
        runner, self._runner = self._runner, None
        if runner is None:
            return
        if runner.server is not None:
            for connection in runner.server.connections:
                if connection.transport is not None:
                    connection.transport.abort()
        await runner.cleanup()

    def _bound_socket(self) -> socket.socket:
        bound = socket.socket(socket.AF_INET6 if ":" in self._host else socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        bound.bind((self._host, self._port))
        return bound
