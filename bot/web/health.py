"""`/healthz` (the process lives), `/readyz` (it takes messages, and each channel's state), `/metrics`."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from bot.ops.metrics import MEDIA_TYPE, Metrics
from bot.web.auth import AccessRules
from channels.manager import ChannelManager
from channels.supervisor import Phase
from channels.webchat import WEB
from core.clock import SECOND_US
from core.inbound.hub import Hub
from core.lazy import dataclass
from core.store.port import Store

if TYPE_CHECKING:
    from core.tools.mcp.server import McpServers


@dataclass(frozen=True, slots=True)
class ChannelHealth:
    """One channel's state and, in words, why; `since` is an ISO time. `unreachable`: how many conversations
    took no message the last time, by the platform's reason; which they are is not everybody's to know."""

    state: str
    reason: str | None
    since: str
    unreachable: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """One MCP server's state and why, since an ISO time; how many of its tools are on offer, and why others
    are not. What others are called is the server's own text, and not everybody's to read."""

    state: str
    reason: str | None
    since: str
    tools: int
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Readiness:
    """True if events are taken: the store takes writes and a platform, if there are any, is past its start.
    A channel that fails doesn't make the hub unready."""

    ready: bool
    hub: str
    store: str
    channels: dict[str, ChannelHealth]
    mcp: dict[str, ServerHealth]


def metrics_routes(metrics: Metrics, gate: AccessRules) -> list[Route]:
    """Return the route `/metrics`, for Prometheus."""

    async def shown(request: Request) -> Response:
        refusal = gate.refusal_of_host(request.headers)
        if refusal is not None:
            return refusal
        from bot.ops.metrics_page import page  # Prometheus's library: of no use before somebody looks

        return Response(page(metrics, await metrics.job_states()), media_type=MEDIA_TYPE)

    return [Route("/metrics", shown)]


def health_routes(readiness: Callable[[], Awaitable[Readiness]], gate: AccessRules) -> list[Route]:
    """Return the two health endpoints; `/readyz` answers 503 while the hub is not ready."""

    async def healthz(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(request: Request) -> Response:
        refusal = gate.refusal_of_host(request.headers)
        if refusal is not None:
            return refusal
        state = await readiness()
        page = asdict(state)
        for server in page["mcp"].values():
            server["refused"] = len(server["refused"])
        return JSONResponse(page, status_code=200 if state.ready else 503)

    return [Route("/healthz", healthz), Route("/readyz", readyz)]


# Whether the hub can do its work: what `/readyz` tells.

STORE_PROBE_S = 1.0


async def readiness_of(
    store: Store, hub: Hub, manager: ChannelManager, servers: "McpServers | None" = None
) -> Readiness:
    """Return the state of everything, soon, whatever the store does."""
    healthy = await _takes_writes(store)
    unreachable = manager.unreachable()
    channels = {
        name: ChannelHealth(
            state.phase.value,
            state.reason,
            _iso(state.since),
            dict(Counter(one.reason for one in unreachable[name].values())),
        )
        for name, state in manager.states().items()
    }
    platforms = [state.phase for name, state in manager.states().items() if name != WEB]
    all_starting = bool(platforms) and all(phase is Phase.STARTING for phase in platforms)
    return Readiness(
        ready=hub.is_open and healthy and not all_starting,
        hub="open" if hub.is_open else "shut",
        store="ok" if healthy else "writes fail: no message is accepted until they succeed",
        channels=channels,
        mcp={} if servers is None else _mcp(servers),
    )


def _mcp(servers: "McpServers") -> dict[str, ServerHealth]:
    return {
        name: ServerHealth(state.phase.value, state.reason, _iso(state.since), state.tools, state.refused)
        for name, state in servers.states().items()
    }


def _iso(at: int) -> str:
    return datetime.fromtimestamp(at // SECOND_US, UTC).isoformat()


async def _takes_writes(store: Store) -> bool:
    """Return whether the store takes writes; one that is still trying does not. Answers soon."""
    try:
        async with asyncio.timeout(STORE_PROBE_S):
            return await store.healthy()
    except TimeoutError:
        return False
