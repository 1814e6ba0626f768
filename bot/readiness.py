"""Whether the hub can do its work: what `/readyz` tells."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

from bot.web.health import ChannelHealth, Readiness
from channels.manager import ChannelManager
from core.clock import SECOND_US
from core.hub import Hub
from core.store.base import Store

STORE_PROBE_S = 1.0


async def readiness_of(store: Store, hub: Hub, manager: ChannelManager) -> Readiness:
    """How everything is doing now; answers soon whatever the store does."""
    healthy = await _takes_writes(store)
    unreachable = manager.unreachable()
    channels = {
        name: ChannelHealth(
            state.phase.value,
            state.reason,
            datetime.fromtimestamp(state.since / SECOND_US, UTC).isoformat(),
            dict(Counter(one.reason for one in unreachable[name].values())),
        )
        for name, state in manager.states().items()
    }
    return Readiness(
        ready=hub.is_open and healthy,
        hub="open" if hub.is_open else "shut",
        store="ok" if healthy else "takes no writes: nothing is accepted until it does",
        channels=channels,
    )


async def _takes_writes(store: Store) -> bool:
    """Whether the store is fine; one that is still trying is not. Whoever asks is answered soon."""
    try:
        async with asyncio.timeout(STORE_PROBE_S):
            return await store.healthy()
    except TimeoutError:
        return False
