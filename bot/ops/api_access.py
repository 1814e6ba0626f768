"""Access of commands to a running hub on the same machine: a file next to the database, for its user only,
and requests with what it says."""

import asyncio
import contextlib
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import urlencode, urlsplit

from bot.runtime import StartError, needed_to_start
from core.lazy import LazyModule, dataclass

if TYPE_CHECKING:
    from http import client
else:
    client = LazyModule("http.client")  # the hub itself needs none

T = TypeVar("T")

ACCESS_NAME = "api.json"
TOKEN_BYTES = 32
ANYWHERE = {"http://0.0.0.0": "http://127.0.0.1", "http://[::]": "http://[::1]"}


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The API's address and its token; valid until the hub ends. `holder`: the hub's process id, as in its
    lock file."""

    url: str
    token: str = field(repr=False)
    holder: str

    @classmethod
    def new(cls, url: str) -> "ApiAccess":
        """Return a fresh token for a hub that serves on `url`. A hub that listens on all addresses
        gets one of this machine."""
        host, _, port = url.rpartition(":")
        return cls(f"{ANYWHERE.get(host, host)}:{port}", secrets.token_urlsafe(TOKEN_BYTES), str(os.getpid()))


@contextlib.contextmanager
def published(data_dir: Path, access: ApiAccess) -> Iterator[None]:
    """Publish the file within the context. The caller holds the directory's lock.

    Raises StartError if the file cannot be written.
    """
    path = data_dir / ACCESS_NAME
    with needed_to_start(path, "make the directory writable by the hub's user"):
        unfinished = path.with_suffix(".new")
        unfinished.unlink(missing_ok=True)
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w") as file:
            json.dump({"url": access.url, "token": access.token, "pid": int(access.holder)}, file)
        unfinished.rename(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # one that stays is of no use: the token dies with the hub
            path.unlink()


def read_access(data_dir: Path) -> ApiAccess | None:
    """Return what a hub has published; None if there is nothing. A killed hub's file stays until the next one
    publishes its own.

    Raises StartError if the file belongs to another user's hub.
    """
    try:
        page = json.loads((data_dir / ACCESS_NAME).read_text())
        return ApiAccess(str(page["url"]), str(page["token"]), str(page["pid"]))
    except PermissionError as error:
        advice = "run this as the hub's user"
        raise StartError(f"can't use {data_dir / ACCESS_NAME}: {error.strerror}; {advice}") from error
    except (OSError, ValueError, KeyError, TypeError):
        return None


# Requests, as plain HTTP and past any proxy. A client of the usual kind, ready for TLS and much else, takes
# longer to load than the command that needs it.

ANSWER_LIMIT_S = 15.0
PIECE_BYTES = 65_536


class NoAnswer(Exception):
    """The hub did not answer in time, or with something that is no answer; the message says what happened."""


class Exchange:
    """One request to the running hub, sent as the context is entered; whatever waits for it ends with the
    context. All methods raise NoAnswer.

    `body`: sent as JSON; `limit_s`: the longest time without a sign of the hub.
    """

    def __init__(
        self,
        access: ApiAccess,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: Mapping[str, Any] | None = None,
        limit_s: float = ANSWER_LIMIT_S,
    ) -> None:
        where = urlsplit(access.url)
        # The name the API answers to, also where the hub listens on one of this machine's other addresses.
        self._headers = {"Host": "localhost", "Authorization": f"Bearer {access.token}"}
        if body is not None:
            self._headers["Content-Type"] = "application/json"
        self._asked = (method, f"{path}?{urlencode(query)}" if query else path)
        self._body = None if body is None else json.dumps(body).encode()
        self._connection = client.HTTPConnection(where.hostname or "", where.port, timeout=limit_s)
        self._socket: socket.socket | None = None
        self._answer: client.HTTPResponse
        # Its own: a hub in this process may need all other threads to answer.
        self._thread = ThreadPoolExecutor(1)
        self._ended = False

    async def __aenter__(self) -> Self:
        try:
            await self._step(self._send)
        except BaseException:
            self._end()
            raise
        return self

    async def __aexit__(self, *_raised: object) -> None:
        self._end()

    @property
    def status(self) -> int:
        """The answer's HTTP status."""
        return self._answer.status

    async def json(self) -> Any:
        """Return the answer."""
        text = await self._step(self._answer.read)
        try:
            return json.loads(text)
        except ValueError as error:
            raise NoAnswer(f"HTTP {self.status} without JSON") from error

    async def pieces(self, silence_s: float) -> AsyncIterator[bytes]:
        """Yield the answer as it comes, until it ends or none has come in that time."""
        if self._socket is not None:
            self._socket.settimeout(silence_s)
        while piece := await self._step(lambda: self._answer.read1(PIECE_BYTES)):
            yield piece

    def _send(self) -> None:
        self._connection.connect()
        self._socket = self._connection.sock
        if not self._ended:
            self._connection.request(*self._asked, self._body, self._headers)
            self._answer = self._connection.getresponse()

    async def _step(self, step: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, step)
        except (OSError, client.HTTPException) as error:
            raise NoAnswer(str(error) or type(error).__name__) from error

    def _end(self) -> None:
        self._ended = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread if it waits
        self._connection.close()
        self._thread.shutdown(wait=False)
