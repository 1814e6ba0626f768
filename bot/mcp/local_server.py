"""HTTP servers for programs that the hub starts, on the loopback interface only."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from aiohttp import web

HOST = "127.0.0.1"
BODY_LIMIT_BYTES = 4 * 1024 * 1024
SHUTDOWN_LIMIT_S = 1.0

Handle = Callable[[web.Request], Awaitable[web.Response]]


@contextlib.asynccontextmanager
async def local_server(routes: Mapping[str, Handle]) -> AsyncIterator[str]:
    """Serve POST requests within the block, by path, on a free port. Return the server's address.

    A handler is cancelled when its client goes away."""
    app = web.Application(client_max_size=BODY_LIMIT_BYTES)
    for path, handle in routes.items():
        app.router.add_post(path, handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=SHUTDOWN_LIMIT_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        yield f"http://{HOST}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
