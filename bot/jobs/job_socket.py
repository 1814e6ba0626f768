"""The sockets of one job, in a directory that its container sees: one endpoint for its worker, and a proxy to
the hosts that the operator named."""

import asyncio
import contextlib
import logging
import os
import re
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.web.server import WebServer
from core.errors import StoreError, ToolDenied, ToolFailed
from core.lazy import dataclass
from core.safety.network import NetworkGuard
from core.sandbox.hub_client import PATH
from core.sandbox.orchestrator import (
    BadRequest,
    JobSession,
    NotTheWorker,
)
from core.sandbox.policy import EGRESS_NAME, SOCKET_NAME, ContainerUser
from core.store.container_port import EgressUse, OutOfOrder

logger = logging.getLogger(__name__)

BACKLOG = 16
BEARER = "Bearer "


def listen_in(directory: Path, user: ContainerUser | None, name: str = SOCKET_NAME) -> socket.socket:
    """Return a new socket that listens in a directory. `user`: its owner, who may connect; None for the hub's
    own user.

    It is bound through the directory's descriptor: the path of a socket has 107 bytes at most."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o711)
    (directory / name).unlink(missing_ok=True)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(f"/proc/self/fd/{descriptor}/{name}")
        os.chmod(name, 0o600, dir_fd=descriptor)
        if user is not None:
            os.chown(name, user.uid, user.gid, dir_fd=descriptor)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    finally:
        os.close(descriptor)
    return listening


# The proxy.

_CONNECT = re.compile(r"CONNECT ([A-Za-z0-9._-]{1,253}):([0-9]{1,5}) HTTP/1\.[01]")
REQUEST_LIMIT_BYTES = 8_192
REQUEST_LIMIT_S = 10.0
CONNECT_LIMIT_S = 10.0
"""For the lookup and all addresses together."""
SILENCE_LIMIT_S = 300.0
PIECE_BYTES = 1 << 16
MAX_LOGGED = 100
UNNAMED, OTHERS, OTHERS_REFUSED = "unnamed", "other targets", "refused"
"""The log's names for requests without a target, and for targets beyond MAX_LOGGED."""


class _Refused(Exception):
    """Carries the status and the text of an answer that is no connection."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class EgressTerms:
    """What jobs reach through the hub, and how much. `allowed`: names in lower case, with ports; `guard`:
    judges them and the addresses they stand for. The limits are of one job, since the hub serves it."""

    allowed: frozenset[tuple[str, int]]
    guard: NetworkGuard
    max_open: int = 32
    max_connections: int = 5_000
    max_bytes: int = 2_000_000_000
    request_limit_s: float = REQUEST_LIMIT_S
    silence_limit_s: float = SILENCE_LIMIT_S


class EgressBroker:
    """The proxy of one job: CONNECT to the hosts that are allowed, and nothing else.

    `asked`, `refused`: the number of connections from the job; `moved_bytes`: in both directions. `log`: the
    same by target and refusal; the job names targets, so there are at most MAX_LOGGED of them."""

    def __init__(
        self,
        job_id: str,
        terms: EgressTerms,
        ended: Callable[[str, Sequence[EgressUse]], None] = lambda job_id, log: None,  # noqa: ARG005
    ) -> None:
        """Keep the parts. `ended`: called with the log once it serves no more."""
        self._ended = ended
        self._job_id = job_id
        self._terms = terms
        self._open: set[asyncio.Task[None]] = set()
        self.asked = self.refused = self.moved_bytes = 0
        self.log: dict[tuple[str, str | None], EgressUse] = {}

    def _note(self, target: str, refused: str | None, connections: int, moved_bytes: int = 0) -> None:
        key = (target, refused)
        if key not in self.log and len(self.log) >= MAX_LOGGED:
            key = (OTHERS, None if refused is None else OTHERS_REFUSED)
        before = self.log.get(key, EgressUse(*key, 0, 0))
        connections, moved_bytes = before.connections + connections, before.moved_bytes + moved_bytes
        self.log[key] = replace(before, connections=connections, moved_bytes=moved_bytes)

    @property
    def open_connections(self) -> int:
        """The number of connections that are served now."""
        return len(self._open)

    @contextlib.asynccontextmanager
    async def serving(self, listening: socket.socket) -> AsyncIterator[None]:
        """Serve for as long as the context lasts; no connection outlives it."""
        server = await asyncio.start_unix_server(
            self._accept, sock=listening, limit=REQUEST_LIMIT_BYTES, backlog=BACKLOG
        )
        try:
            yield
        finally:
            server.close()
            for task in (ending := tuple(self._open)):
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
            self._ended(self._job_id, tuple(self.log.values()))
            logger.info(
                "egress.ended job=%s connections=%d refused=%d bytes=%d",
                *(self._job_id, self.asked, self.refused, self.moved_bytes),
            )

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked += 1
        if self.asked > self._terms.max_connections or self.moved_bytes > self._terms.max_bytes:
            self._answer(writer, UNNAMED, _Refused(429, "this job has used up what it may send and receive"))
        elif len(self._open) >= self._terms.max_open:
            self._answer(
                writer, UNNAMED, _Refused(503, f"at most {self._terms.max_open} connections at a time")
            )
        else:
            task = asyncio.create_task(self._serve(reader, writer), name="egress of a job")
            self._open.add(task)
            task.add_done_callback(self._open.discard)

    def _answer(self, writer: asyncio.StreamWriter, target: str, refused: _Refused) -> None:
        self.refused += 1
        self._note(target, str(refused), 1)
        text = f"{refused}\n".encode()
        head = (
            f"HTTP/1.1 {refused.status} Refused\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + text)
        writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        target = UNNAMED
        try:
            host, port = await self._asked_for(reader)
            target = f"{host}:{port}"
            if (host, port) not in self._terms.allowed:
                raise _Refused(403, f"{target} is not in [sandbox] egress")
            from_host, to_host = await self._connected(host, port)
        except _Refused as refused:
            logger.warning("egress.refused job=%s target=%s reason=%s", self._job_id, target, refused)
            self._answer(writer, target, refused)
            return
        except OSError:
            writer.close()
            return
        except BaseException:
            writer.close()
            raise
        logger.info("egress.connected job=%s target=%s", self._job_id, target)
        self._note(target, None, 1)
        moved = [0, 0]
        try:
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            async with asyncio.timeout(self._terms.silence_limit_s) as silence, asyncio.TaskGroup() as group:
                group.create_task(self._pass_on(reader, to_host, silence, moved, 0))
                group.create_task(self._pass_on(from_host, writer, silence, moved, 1))
        except* (OSError, _Refused) as ended:  # a time-out is an OSError
            logger.info("egress.broken job=%s target=%s reason=%s", self._job_id, target, ended.exceptions[0])
            writer.transport.abort()
        finally:
            to_host.close()
            writer.close()
            self._note(target, None, 0, sum(moved))
            logger.info("egress.closed job=%s target=%s bytes=%d", self._job_id, target, sum(moved))

    async def _asked_for(self, reader: asyncio.StreamReader) -> tuple[str, int]:
        """Return the host and port that a request names. Raises _Refused."""
        try:
            async with asyncio.timeout(self._terms.request_limit_s):
                head = await reader.readuntil(b"\r\n\r\n")
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise _Refused(400, "this is no request") from None
        found = _CONNECT.fullmatch(head.split(b"\r\n")[0].decode(errors="replace"))
        if found is None:
            raise _Refused(403, "only CONNECT to a host name and a port passes here; use https")
        return found[1].lower().rstrip("."), int(found[2])

    async def _connected(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to one of the addresses that the name has now, all of them judged. Raises _Refused."""
        guard = self._terms.guard
        try:
            async with asyncio.timeout(CONNECT_LIMIT_S):
                guard.web_address(f"https://{host}:{port}/")
                for address in await guard.addresses(host, port):
                    with contextlib.suppress(OSError):
                        return await asyncio.open_connection(address, port)
        except ToolDenied as error:
            raise _Refused(403, str(error)) from error
        except (ToolFailed, OSError) as error:
            raise _Refused(502, f"{host}:{port} does not answer") from error
        raise _Refused(502, f"{host}:{port} does not answer")

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        silence: asyncio.Timeout,
        moved: list[int],
        way: int,
    ) -> None:
        while piece := await reader.read(PIECE_BYTES):
            self.moved_bytes += len(piece)
            moved[way] += len(piece)
            if self.moved_bytes > self._terms.max_bytes:
                raise _Refused(429, "this job has used up what it may send and receive")
            silence.reschedule(asyncio.get_running_loop().time() + self._terms.silence_limit_s)
            writer.write(piece)
            await writer.drain()
        writer.write_eof()


# Both.


@contextlib.asynccontextmanager
async def serving(
    session: JobSession, directory: Path, user: ContainerUser | None, egress: EgressBroker | None
) -> AsyncIterator[None]:
    """Serve a job's worker for as long as the context lasts. `egress`: the job's proxy, if it has one."""

    async def answer(request: Request) -> Response:
        token = request.headers.get("authorization", "")
        if not token.startswith(BEARER):
            return PlainTextResponse("the token is missing", 401)
        try:
            body = await _body(request, session.max_request_bytes)
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
        async with contextlib.AsyncExitStack() as stack:
            (directory / EGRESS_NAME).unlink(missing_ok=True)
            if egress is not None:
                await stack.enter_async_context(egress.serving(listen_in(directory, user, EGRESS_NAME)))
            yield
    finally:
        session.close()
        running.cancel()
        await asyncio.wait([running])
        for name in (SOCKET_NAME, EGRESS_NAME):
            (directory / name).unlink(missing_ok=True)


async def _body(request: Request, most: int) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise BadRequest(f"a request has at most {most} bytes")
    except ClientDisconnect:
        raise BadRequest("the request is not whole") from None
    return bytes(body)
