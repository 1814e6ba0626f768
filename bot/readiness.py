"""Whether the hub can do its work: what `/readyz` tells."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot.web.health import ChannelHealth, Readiness, ServerHealth
from channels.manager import ChannelManager
from core.clock import SECOND_US
from core.hub import Hub
from core.store.base import Store

if TYPE_CHECKING:
    from core.tools.mcp.server import McpServers

STORE_PROBE_S = 1.0


async def readiness_of(
    store: Store, hub: Hub, manager: ChannelManager, servers: "McpServers | None" = None
) -> Readiness:
    """How everything is doing now; answers soon whatever the store does."""
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
    return Readiness(
        ready=hub.is_open and healthy,
        hub="open" if hub.is_open else "shut",
        store="ok" if healthy else "takes no writes: nothing is accepted until it does",
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
    """Whether the store is fine; one that is still trying is not. Whoever asks is answered soon."""
    try:
        async with asyncio.timeout(STORE_PROBE_S):
            return await store.healthy()
    except TimeoutError:
        return False
