"""The way of a program inside a container to the hub: one request after the other, on the job's socket.

Each request has the next number, and is repeated until it is answered: the hub may be killed at any moment,
and answers a repeated request as it did the first time. Needs nothing but the standard library.
"""

import asyncio
import contextlib
import ctypes
import http.client
import json
import os
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from typing import Any

from core.errors import HubError
from core.sandbox.policy import SOCKET_DIRECTORY, SOCKET_NAME, TEMPORARY

LOST_S = 600.0
"""How long a program inside lives without a hub."""
LOOK_EVERY_S = 10.0
"""How often it looks for the hub while it is busy with other things."""
FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 2.0
ANSWER_LIMIT_S = 3_600.0
"""How long the answer to one request may take: a model's reply."""
PATH = "/v1/requests"
PIECE_BYTES = 1 << 16
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": TEMPORARY,
    "TMPDIR": TEMPORARY,
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""The environment of the model's commands."""
PR_SET_DUMPABLE = 4
LOST, REFUSED = 3, 4
"""Exit codes: no hub for too long; the hub answers this program no more."""


class CredentialRefused(HubError):
    """Error for a credential that the job does not get; the text says why, for the model."""


class HubLost(Exception):
    """No hub has answered for too long."""


class HubRefused(Exception):
    """The hub does not answer this worker any more."""


class JobOver(Exception):
    """The hub ended the job."""


class _Connection(http.client.HTTPConnection):
    """HTTP on the socket to the hub."""

    def __init__(self, path: str) -> None:
        super().__init__("hub", timeout=ANSWER_LIMIT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class HubClient:
    """The hub, asked for one thing at a time."""

    def __init__(self, path: str, token: str, lost_s: float = LOST_S) -> None:
        self._path = path
        self._token = token
        self._lost_s = lost_s
        self._seq = 0

    async def ask(self, kind: str, **more: Any) -> dict[str, Any]:
        """Return the answer to the next request. Raises HubLost, HubRefused, JobOver."""
        self._seq += 1
        body = json.dumps({"seq": self._seq, "kind": kind, **more}).encode()
        reached_s, wait_s = time.monotonic(), FIRST_WAIT_S
        while True:
            began_s = time.monotonic()
            try:
                status, said = await asyncio.to_thread(self._post, body)
            except (OSError, http.client.HTTPException):
                if time.monotonic() - began_s > LONGEST_WAIT_S:
                    reached_s = time.monotonic()  # it was connected for a while
            else:
                if status == http.client.OK:
                    return _judged(json.loads(said))
                if status in {http.client.UNAUTHORIZED, http.client.CONFLICT}:
                    raise HubRefused(said.decode(errors="replace"))
            if time.monotonic() - reached_s > self._lost_s:
                raise HubLost
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)

    async def watch(self) -> None:
        """Wait until no hub has been in reach for too long, whatever else is done. Raises HubLost."""
        reached_s = time.monotonic()
        while True:
            await asyncio.sleep(min(LOOK_EVERY_S, self._lost_s / 4))
            try:
                _, writer = await asyncio.open_unix_connection(self._path)
            except OSError:
                if time.monotonic() - reached_s > self._lost_s:
                    raise HubLost from None
            else:
                writer.close()
                reached_s = time.monotonic()

    async def credentials(self, names: Sequence[str]) -> Mapping[str, str]:
        """Return environment variables with the secrets of those names.

        Raises CredentialRefused, and what `ask` raises."""
        return dict([credential(await self.ask("credential", name=name)) for name in names])

    def _post(self, body: bytes) -> tuple[int, bytes]:
        connection = _Connection(self._path)
        try:
            connection.request("POST", PATH, body, {"Authorization": f"Bearer {self._token}"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


def credential(answer: Mapping[str, Any]) -> tuple[str, str]:
    """Return the variable of a credential and its value, from the hub's answer. Raises CredentialRefused."""
    if "value" not in answer:
        raise CredentialRefused(answer["problem"])
    return variable_of(answer["credential"]), answer["value"]


def variable_of(name: str) -> str:
    """Return the environment variable of a credential: GITHUB_TOKEN for github-token."""
    return "".join(one if one.isalnum() else "_" for one in name).upper()


def _judged(answer: dict[str, Any]) -> dict[str, Any]:
    if answer.get("ended"):
        raise JobOver
    return answer


async def _beside(do: Callable[[HubClient], Coroutine[Any, Any, None]], hub: HubClient) -> None:
    """Do the work as long as there is a hub. Raises HubLost, and what the work raises."""
    both = [asyncio.ensure_future(do(hub)), asyncio.ensure_future(hub.watch())]
    try:
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            one.result()
    finally:
        for one in both:
            one.cancel()
        await asyncio.wait(both)


def run_inside(do: Callable[[HubClient], Coroutine[Any, Any, None]]) -> int:
    """Do the work on one job; return the exit code."""
    # What the model's commands run as the same user may not look into this process, which knows the token.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    token = sys.stdin.readline().strip()
    if not token:
        return REFUSED
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    try:
        asyncio.run(_beside(do, HubClient(f"{SOCKET_DIRECTORY}/{SOCKET_NAME}", token)))
    except HubLost:
        return LOST
    except HubRefused:
        return REFUSED
    except JobOver:
        return 0
    return 0


@contextlib.asynccontextmanager
async def forwarding(path: str) -> AsyncGenerator[Mapping[str, str]]:
    """Pass connections from a port of loopback on to the hub's socket; give the variables that name the port.
    Gives none where there is no such socket. Who is let through is the hub's business."""
    if not os.path.exists(path):  # noqa: ASYNC240 - a file in memory
        yield {}
        return

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError):
            from_hub, to_hub = await asyncio.open_unix_connection(path)
            with contextlib.closing(to_hub):
                await asyncio.gather(_pass_on(reader, to_hub), _pass_on(from_hub, writer))

    async with await asyncio.start_server(forward, "127.0.0.1", 0) as server:
        proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        names = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
        yield {**dict.fromkeys(names, proxy), "NO_PROXY": "localhost,127.0.0.1"}


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()
