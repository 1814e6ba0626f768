"""One configured server: kept connected in the background, its tools offered, its calls carried out.

    connecting ⇄ ready
        ⇅         ↓ gone, hung, or out of bounds
      failed ←────┘     tried again after 1, 2, 4, … 300 s

Only callers of its tools wait for a server, and no longer than their call may take: while it connects they
wait,
while it is failed they get an error at once.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from enum import StrEnum

from core.clock import Clock
from core.errors import HubError, SchemaRefused, SignInRequired, ToolFailed
from core.lazy import dataclass
from core.off_loop import end_with_caller, off_loop
from core.safety.fencing import sanitise
from core.tool import Arguments, CallContext, Effect, Tool
from core.tools.mcp.catalog import Judge, Listed, Offer, Terms, offer
from core.tools.mcp.connection import (
    Connection,
    Connector,
    Credentials,
    Known,
    NotCalled,
    Reply,
    ServerFailed,
    SignInNeeded,
)
from core.tools.processes import end_marked
from core.web import Interceptor

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0
STEADY_AFTER_S = 60.0
"""Duration after which a connection counts as good: the next pause is the first again."""
LIST_AGAIN_AFTER_S = 600.0
"""Interval for servers that do not report changes of their list."""
BETWEEN_LISTS_S = 2.0
"""Least time between two lists, for a server that reports changes all the time."""
MAX_CALLS = 8
"""Calls of one server at once; others wait their turn within their own time."""
REASONS_CHARS = 2_000
_UNDECLARED = "[This result does not match the schema that {server} declared.]"
_UNJUDGED = "[This result could not be checked against the schema that {server} declared.]"

logger = logging.getLogger(__name__)


class Phase(StrEnum):
    """The state of a server."""

    CONNECTING = "connecting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ServerState:
    """A server's state, its reason, and since when (microseconds UTC). `tools`: the number on offer;
    `refused`: by the
    server's own names why others are not."""

    phase: Phase
    reason: str | None
    since: int
    tools: int = 0
    refused: dict[str, str] = field(default_factory=dict[str, str])


class McpServer:
    """Supervisor of one server. `offers`: called with its tools on each change; raises ValueError if
    they cannot be used. `credentials`: None without sign-ins. With them, each person's calls go over
    a connection of their own, so that no session serves two people."""

    def __init__(
        self,
        terms: Terms,
        connector: Connector,
        known: Known,
        offers: Callable[[str, Sequence[Tool]], None],
        clock: Clock,
        credentials: Credentials | None = None,
    ) -> None:
        self._credentials = credentials
        self._speaks_for: str | None = None
        self._terms = terms
        self._connector = connector
        self._known = known
        self._offers = offers
        self._clock = clock
        self._listed: Sequence[Listed] = ()
        self._connection: Connection | None = None
        self._settled = asyncio.Event()
        self._places = asyncio.Semaphore(MAX_CALLS)
        self.state = ServerState(Phase.CONNECTING, None, clock.now())

    @property
    def name(self) -> str:
        """Name in the configuration."""
        return self._terms.server

    async def settled(self) -> None:
        """Wait until it is connected, or has failed."""
        await self._settled.wait()

    def recall(self) -> None:
        """Offer the tools listed at the last connection: a call may be waiting for its answer."""
        listed = self._known.load()
        self._take(listed, offer(listed, self._terms, self._carry_out, judged=True))

    def retire(self) -> None:
        """Let no call wait for the server any more: it is not connected again."""
        self._connection = None
        self._become(Phase.FAILED, "it was turned off")

    async def run(self) -> None:
        """Keep the server connected until cancelled."""
        pause_s = FIRST_PAUSE_S
        while True:
            self._become(Phase.CONNECTING)
            began_s = self._clock.monotonic_s()
            reason = await end_with_caller(self._connected_once(), f"mcp connection {self.name}")
            if self._clock.monotonic_s() - began_s > STEADY_AFTER_S:
                pause_s = FIRST_PAUSE_S
            self._become(Phase.FAILED, f"{reason}; retrying in {pause_s:g} s")
            logger.warning("mcp.server_unavailable server=%s delay_s=%g error=%s", self.name, pause_s, reason)
            if await self._signed_in_within(pause_s):
                pause_s = FIRST_PAUSE_S
                continue
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _signed_in_within(self, pause_s: float) -> bool:
        """Wait; return at once if somebody signs in to a server that no one was signed in to."""
        if self._credentials is None or self._speaks_for is not None:
            await self._clock.sleep(pause_s)
            return False
        waits = asyncio.ensure_future(self._clock.sleep(pause_s))
        try:
            while not waits.done():
                news = asyncio.ensure_future(self._credentials.changed())
                try:
                    await asyncio.wait({waits, news}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    news.cancel()
                if await self._holder() is not None:
                    return True
            return False
        finally:
            waits.cancel()

    async def _holder(self) -> str | None:
        """Return the person as whom its tools are listed. Raises HubError."""
        if self._credentials is None:
            return None
        return await self._credentials.holder(sorted(self._terms.users))

    async def _connected_once(self) -> str:
        """Connect, and stay until the connection ends; return the reason."""
        try:
            self._speaks_for = await self._holder()
            async with self._connector.open(self._speaks_for) as connection:
                await self._list(connection)
                self._connection = connection
                self._become(Phase.READY)
                logger.info("mcp.server_ready server=%s tools=%d", self.name, self.state.tools)
                await self._attend(connection)
        except (ServerFailed, HubError) as error:
            return str(error)
        except Exception:
            logger.exception("mcp.server_crashed server=%s", self.name)
            return "unexpected failure; see the log"
        finally:
            self._connection = None
        return "it ended"

    async def _attend(self, connection: Connection) -> None:
        """Follow the server's list. Raises ServerFailed once it is gone."""
        while True:
            try:
                async with asyncio.timeout(LIST_AGAIN_AFTER_S):
                    await connection.changed()
            except TimeoutError:
                pass  # the server may not be able to report it
            await self._list(connection)
            await self._clock.sleep(BETWEEN_LISTS_S)

    async def _list(self, connection: Connection) -> None:
        listed = await connection.tools()
        if listed == self._listed:
            return
        offered = await asyncio.to_thread(offer, listed, self._terms, self._carry_out)
        self._take(listed, offered)
        await asyncio.to_thread(self._known.save, offered.listed)

    def _take(self, listed: Sequence[Listed], offered: Offer) -> None:
        try:
            self._offers(self.name, offered.tools)
        except ValueError as error:
            raise ServerFailed(str(error)) from error
        self._listed = listed
        self.state = replace(self.state, tools=len(offered.tools), refused=dict(offered.refused))
        if offered.refused:
            why = "; ".join(f"{name}: {reason}" for name, reason in offered.refused.items())
            logger.warning("mcp.tools_refused server=%s reason=%s", self.name, why[:REASONS_CHARS])

    def _become(self, phase: Phase, reason: str | None = None) -> None:
        self.state = replace(self.state, phase=phase, reason=reason, since=self._clock.now())
        if phase is Phase.CONNECTING:
            self._settled.clear()
        else:
            self._settled.set()

    # --- calls -----------------------------------------------------------------------------------------

    async def _carry_out(
        self, tool: Tool, listed: Listed, judge: Judge | None, call: CallContext, arguments: Arguments
    ) -> str:
        user_id = call.principal.user_id
        async with contextlib.AsyncExitStack() as opened:
            if await self._needs_own_connection(user_id):
                await opened.enter_async_context(self._places)
                connection = await self._own_connection(opened, user_id)
            else:
                await self._settled.wait()
                await opened.enter_async_context(self._places)
                connection = self._connection
            if connection is None:
                raise ToolFailed(f"The server {self.name} is not available: {self.state.reason}.")
            if tool.effect is Effect.EFFECT and connection.process is not None:
                # The next hub stops the server before it asks about the outcome of the call.
                await call.process_started(connection.process)
            reply = await self._replied(connection, listed, call, arguments)
        if reply.failed:
            raise ToolFailed(await off_loop(len(reply.text), lambda: sanitise(reply.text)))
        return await asyncio.to_thread(self._judged, reply, judge) if judge is not None else reply.text

    async def _replied(
        self, connection: Connection, listed: Listed, call: CallContext, arguments: Arguments
    ) -> Reply:
        try:
            return await connection.call(listed.name, arguments, call.idempotency_key)
        except SignInNeeded as error:
            if self._credentials is None:
                raise ToolFailed(f"The server {self.name} wants a sign-in, which is not possible.") from error
            raise SignInRequired(self.name, error.challenge) from error
        except NotCalled as error:
            raise ToolFailed(f"The server {self.name} is not available: {error}.") from error
        except ServerFailed as error:
            raise ToolFailed(
                f"{error}. The call may or may not have run; do not repeat it without being asked."
            ) from error

    async def _needs_own_connection(self, user_id: str) -> bool:
        """Return whether the standing connection is not this person's."""
        if self._credentials is None:
            return False
        mine = await self._credentials.holder([user_id])
        return self._connection is None or self._speaks_for != mine

    async def _own_connection(self, opened: contextlib.AsyncExitStack, user_id: str) -> Connection:
        """Connect for a call of a person's own. Raises SignInRequired, ToolFailed."""
        try:
            return await opened.enter_async_context(self._connector.open(user_id))
        except SignInNeeded as error:
            raise SignInRequired(self.name, error.challenge) from error
        except ServerFailed as error:
            raise ToolFailed(f"The server {self.name} is not available: {error}.") from error

    def _judged(self, reply: Reply, judge: Judge) -> str:
        """Return its text, marked if it breaks its declared schema."""
        mark = ""
        try:
            if reply.structured is None or judge(reply.structured) is not None:
                mark = _UNDECLARED
        except SchemaRefused:
            mark = _UNJUDGED
        text = reply.text or json.dumps(reply.structured, ensure_ascii=False)
        if mark:
            logger.warning("mcp.result_mismatch server=%s", self.name)
        return f"{mark.format(server=self.name)}\n{text}" if mark else text


class McpServers:
    """All servers; one cannot block another. Servers come and go while it runs."""

    def __init__(self, offers: Callable[[str, Sequence[Tool]], None], interceptor: Interceptor) -> None:
        """Initialize. `offers`: takes the tools of a server that leaves off the list. `interceptor`: for
        what is sent to servers by HTTP."""
        self.interceptor = interceptor
        self._offers = offers
        self._servers: dict[str, McpServer] = {}
        self._marks: set[str] = set()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._group: asyncio.TaskGroup | None = None

    def add(self, server: McpServer, mark: str | None) -> None:
        """Add a server, which is connected from now on if `run` runs. `mark`: the marker of its processes;
        None if it has none."""
        self._servers[server.name] = server
        if mark is not None:
            self._marks.add(mark)
        if self._group is not None:
            self._start(server)

    async def drop(self, name: str) -> None:
        """Take a server's tools away, then disconnect it and wait until all it started is gone."""
        self._offers(name, ())
        server, task = self._servers.pop(name, None), self._tasks.pop(name, None)
        if server is not None:
            server.retire()
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def settled(self, name: str, limit_s: float) -> None:
        """Wait until a server is connected or has failed, at most that long."""
        server = self._servers.get(name)
        if server is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    await server.settled()

    async def end_survivors(self) -> None:
        """Kill processes left by a dead hub's servers: they must not act after people were asked."""
        for mark in sorted(self._marks):
            if await end_marked(mark):
                logger.warning("mcp.processes_stopped mark=%s", mark)

    def states(self) -> dict[str, ServerState]:
        """Return the state of each server."""
        return {server.name: server.state for server in tuple(self._servers.values())}

    async def run(self) -> None:
        """Keep all servers connected until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for server in tuple(self._servers.values()):
                self._start(server)
            await asyncio.Event().wait()

    def _start(self, server: McpServer) -> None:
        if self._group is not None:
            self._tasks[server.name] = self._group.create_task(server.run(), name=f"mcp {server.name}")
