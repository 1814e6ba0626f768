"""Connections to a server, whatever carries them: the port between the tools and a client library."""

import asyncio
import logging
import os
import subprocess
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from core.lazy import dataclass
from core.off_loop import finish
from core.safety.fencing import HeadAndTail
from core.tool import Arguments, ProcessInfo
from core.tools.child import bound
from core.tools.mcp.catalog import Listed
from core.tools.processes import MARKER, end_marked, kill_group, process_info

ANSWER_LIMIT_BYTES = 4 * 1024 * 1024
"""Limit of one answer, by any transport."""
ANSWER_LIMIT_EVENTS = 1_000
"""Limit of the events before an answer, on a transport that has them."""
ANSWER_LIMIT_VALUES = 50_000
"""Limit of the JSON values in one answer: the client library parses and checks them on the event loop."""


IDEMPOTENCY_META = "hubbub/idempotency-key"
"""Name of the idempotency key in a call's `_meta`."""


class ServerFailed(Exception):
    """The server cannot be used; the message gives the reason in our words, never in the server's."""


class ServerExited(ServerFailed):
    """The server's process has ended. `rest`: its output after the last whole line."""

    def __init__(self, rest: bytes) -> None:
        super().__init__("it exited")
        self.rest = rest


class NotCalled(ServerFailed):
    """The server was gone before a call reached it."""


class SignInNeeded(ServerFailed):
    """The server wants its person to sign in; the request has certainly not run. `challenge`: its refusal, as
    it sent it."""

    def __init__(self, challenge: str) -> None:
        super().__init__("it asks for a sign-in")
        self.challenge = challenge


class Credentials(Protocol):
    """The credentials of people at one server."""

    def bearer(self, user_id: str, refused: str = "") -> Awaitable[str | None]:
        """Return a person's token; None if they are not signed in. `refused`: one that the server did not
        accept. Raises HubError."""
        ...

    def holder(self, users: Iterable[str]) -> Awaitable[str | None]:
        """Return the first of these people who is signed in."""
        ...

    def changed(self) -> Awaitable[None]:
        """Wait until somebody may have signed in."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a call. `structured`: its part with a schema, None if there is none."""

    text: str
    failed: bool = False
    structured: Any = None


class Connection(Protocol):
    """One server after the handshake, ready for use. Several tasks may use its methods at once."""

    @property
    def process(self) -> ProcessInfo | None:
        """The server's process, if it is a child of the hub."""
        ...

    async def tools(self) -> Sequence[Listed]:
        """Return all listed tools, or the first hundreds. Raises ServerFailed."""
        ...

    async def call(self, tool: str, arguments: Arguments, idempotency_key: str) -> Reply:
        """Call a tool by the server's own name; the key is sent with it as `IDEMPOTENCY_META`.

        Raises NotCalled, SignInNeeded; also ServerFailed, after which the call may have been carried out.
        Cancelling kills a child: nothing else is certain to stop it.
        """
        ...

    async def changed(self) -> None:
        """Wait until the server reports a changed list. Raises ServerFailed once it is gone."""
        ...


class Connector(Protocol):
    """Connector to one server."""

    def open(self, user_id: str | None = None) -> AbstractAsyncContextManager[Connection]:
        """Start or reach the server and do the handshake; entering raises ServerFailed. On exit, all that
        was started is gone. `user_id`: the person whose credentials are sent; None: no one's."""
        ...


class Known(Protocol):
    """Cache of a server's list, so that its tools are known before the next connection."""

    def load(self) -> Sequence[Listed]:
        """Return the stored list; nothing if it was another server's, or cannot be read."""
        ...

    def save(self, listed: Sequence[Listed]) -> None:
        """Save the list. Blocks; a failure is logged, not raised."""
        ...


# A server that is a child of the hub: it is spoken to line by line, and dies with the hub, even
# if the hub is killed.
#
# A small shell stands by the server in its process group and reads from a pipe that only the
# hub holds open: when the hub dies, by SIGKILL too, the read ends and the shell kills the
# group. Processes that left the group are found by their marker in the environment, at the end
# of the connection and before the next one begins.

LINE_LIMIT_BYTES = ANSWER_LIMIT_BYTES
WINDOW_S = 10.0
WINDOW_LIMIT_BYTES = 16 * 1024 * 1024
WINDOW_LIMIT_LINES = 2_000
"""A server with more in one window is cut off: it keeps the hub busy. Standard error counts, too."""
ERRORS_KEPT_BYTES = 4 * 1024
_BURIAL_S = 5.0
_WATCHED = '(IFS= read -r _ <"/proc/self/fd/$0"; kill -9 0) </dev/null >/dev/null 2>&1 & exec "$@"'
"""It uses /proc, because small shells know no file descriptor above 9."""

logger = logging.getLogger(__name__)


class ServerChild:
    """A server's process from start to end; the caller must call `end` in every case."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        directory: str,
        mark: str,
        window_lines: int = WINDOW_LIMIT_LINES,
    ) -> None:
        """Start the process. `mark`: the value of its marker, unique to it. Raises ServerFailed."""
        self._mark = mark
        self.errors = HeadAndTail(ERRORS_KEPT_BYTES)
        self._process, self._lifeline = _start(argv, {**environment, MARKER: mark}, directory)
        bound(self._process.pid)
        self.info: ProcessInfo = process_info(self._process.pid)
        self._reader = asyncio.StreamReader(limit=LINE_LIMIT_BYTES)
        self._transports: list[asyncio.BaseTransport] = []
        self._untaken = [self._process.stdin, self._process.stdout, self._process.stderr]
        self._heard = _Window(window_lines)
        self._ended = False
        self._killed_because: str | None = None

    async def connect(self) -> None:
        """Connect to its pipes."""
        loop = asyncio.get_running_loop()
        err, _ = await loop.connect_read_pipe(lambda: _Complaints(self), self._untaken.pop())
        self._transports.append(err)
        hearing = asyncio.StreamReaderProtocol(self._reader)
        out, _ = await loop.connect_read_pipe(lambda: hearing, self._untaken.pop())
        self._transports.append(out)
        self._flow = _Flow()
        self._stdin, _ = await loop.connect_write_pipe(lambda: self._flow, self._untaken.pop())
        self._transports.append(self._stdin)

    async def line(self) -> bytes:
        """Return its next line. Raises ServerFailed if it is gone, or writes more than it may."""
        try:
            line = await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as error:
            if self._killed_because is None:
                raise ServerExited(error.partial) from error
            raise ServerFailed(self._killed_because) from error
        except asyncio.LimitOverrunError as error:
            raise ServerFailed(self.kill(f"it sent a line of more than {LINE_LIMIT_BYTES} bytes")) from error
        except OSError as error:
            raise ServerFailed("reading from it failed") from error
        self.count(len(line), 1)
        if self._killed_because is not None:
            raise ServerFailed(self._killed_because)
        return line

    def count(self, size_bytes: int, lines: int) -> None:
        """Count its output and kill it if that is too much."""
        if self._heard.add(asyncio.get_running_loop().time(), size_bytes, lines):
            lines = self._heard.limit_lines
            self.kill(f"it sent more than {WINDOW_LIMIT_BYTES} bytes or {lines} lines at a time")

    async def say(self, line: bytes) -> None:
        """Write a line to it; return when it can take more. Raises ServerFailed if it is gone."""
        if self._flow.lost or self._stdin.is_closing():
            raise ServerFailed(self._killed_because or "writing to it failed")
        self._stdin.write(line)
        await self._flow.ready.wait()

    def end_input(self) -> None:
        """Close its standard input once all that was said has been written."""
        self._stdin.close()

    def kill(self, because: str) -> str:
        """Kill it with all its children; return the recorded reason of its end."""
        if self._killed_because is None:
            self._killed_because = because
            kill_group(self._process.pid)
        return self._killed_because

    async def end(self) -> None:
        """Kill the rest of it and wait for it. A cancellation does not cut this short; it is passed on
        after."""
        if self._ended:
            return
        self._ended = True
        self.kill("the hub stopped it")
        await finish(self._bury(), f"end of {self._mark}")

    async def _bury(self) -> None:
        try:
            await end_marked(self._mark)
            await asyncio.to_thread(self._process.wait, _BURIAL_S)
        except subprocess.TimeoutExpired:
            logger.warning("mcp.process_unkillable mark=%s process=%d", self._mark, self._process.pid)
        finally:
            os.close(self._lifeline)
            for transport in self._transports:
                transport.close()
            for pipe in self._untaken:
                if pipe is not None:
                    pipe.close()


class _Window:
    """Counter of output within a period."""

    def __init__(self, limit_lines: int) -> None:
        self.limit_lines = limit_lines
        self._began_s = self._bytes = self._lines = 0.0

    def add(self, now_s: float, size_bytes: int, lines: int) -> bool:
        """Add output and return whether it is too much."""
        if now_s - self._began_s > WINDOW_S:
            self._began_s, self._bytes, self._lines = now_s, 0.0, 0.0
        self._bytes += size_bytes
        self._lines += lines
        return self._bytes > WINDOW_LIMIT_BYTES or self._lines > self.limit_lines


class _Complaints(asyncio.Protocol):
    """Standard error of a server: beginning and end are for the log."""

    def __init__(self, child: ServerChild) -> None:
        self._child = child

    def data_received(self, data: bytes) -> None:
        self._child.errors.add(data)
        self._child.count(len(data), 0)


class _Flow(asyncio.BaseProtocol):
    """Flow control of its input."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.ready.set()
        self.lost = False

    def pause_writing(self) -> None:
        self.ready.clear()

    def resume_writing(self) -> None:
        self.ready.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 — either way it is over
        self.lost = True
        self.ready.set()


def _start(
    argv: Sequence[str], environment: Mapping[str, str], directory: str
) -> tuple["subprocess.Popen[bytes]", int]:
    """Start the child; return it and the end of the pipe whose closing kills it."""
    read_end, write_end = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 — the operator's own command
            ["/bin/sh", "-c", _WATCHED, str(read_end), *argv],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=directory,
            env=environment,
            pass_fds=(read_end,),
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        os.close(write_end)
        said = error.strerror if isinstance(error, OSError) else "it contains a NUL character"
        raise ServerFailed(f"the command failed to start: {said}") from error
    finally:
        os.close(read_end)
    return process, write_end
