"""The HTTP of one job's worker: one endpoint on a Unix socket, in a directory that its container sees."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.web.server import WebServer
from core.errors import StoreError
from core.sandbox.orchestrator import (
    MAX_REQUEST_BYTES,
    BadRequest,
    JobSession,
    NotTheWorker,
)
from core.sandbox.policy import SOCKET_NAME, ContainerUser
from core.sandbox.worker import PATH
from core.store.container_port import OutOfOrder

BACKLOG = 16
BEARER = "Bearer "


def listen_in(directory: Path, user: ContainerUser | None) -> socket.socket:
    """Return a new socket that listens in a directory. `user`: its owner, who may connect; None for the hub's
    own user.

    It is bound through the directory's descriptor: the path of a socket has 107 bytes at most."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o711)
    (directory / SOCKET_NAME).unlink(missing_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(f"/proc/self/fd/{descriptor}/{SOCKET_NAME}")
        os.chmod(SOCKET_NAME, 0o600, dir_fd=descriptor)
        if user is not None:
            os.chown(SOCKET_NAME, user.uid, user.gid, dir_fd=descriptor)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    finally:
        os.close(descriptor)
    return listening


@contextlib.asynccontextmanager
async def serving(session: JobSession, directory: Path, user: ContainerUser | None) -> AsyncIterator[None]:
    """Serve a job's worker for as long as the context lasts."""

    async def answer(request: Request) -> Response:
        token = request.headers.get("authorization", "")
        if not token.startswith(BEARER):
            return PlainTextResponse("the token is missing", 401)
        try:
            body = await _body(request)
            said = await session.answer(token.removeprefix(BEARER), body)
        except NotTheWorker as error:
            return PlainTextResponse(str(error), 401)
        except BadRequest as error:
            return PlainTextResponse(str(error), 400)
        except OutOfOrder as error:
            return PlainTextResponse(str(error), 409)
        except StoreError as error:
            return PlainTextResponse(str(error), 503)
        return Response(said, media_type="application/json")

    server = WebServer(listen_in(directory, user), [Route(PATH, answer, methods=["POST"])])
    running = asyncio.create_task(server.run(), name="socket of a job")
    try:
        yield
    finally:
        session.close()
        running.cancel()
        await asyncio.wait([running])
        (directory / SOCKET_NAME).unlink(missing_ok=True)


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_REQUEST_BYTES:
                raise BadRequest(f"a request has at most {MAX_REQUEST_BYTES} bytes")
    except ClientDisconnect:
        raise BadRequest("the request is not whole") from None
    return bytes(body)
