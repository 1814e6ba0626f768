"""The hub at a glance, for `GET /api/status`."""

from collections.abc import Awaitable, Callable

from bot.status_views import ChannelView, ServerView, StatusView
from bot.version import version
from bot.web.health import Readiness
from core.store.base import Store


async def status(store: Store, readiness: Callable[[], Awaitable[Readiness]]) -> StatusView:
    """What runs, in which state, and how much waits for people."""
    state = await readiness()
    channels = {
        name: ChannelView(state=channel.state, reason=channel.reason, since=channel.since)
        for name, channel in state.channels.items()
    }
    return StatusView(
        version=version(),
        ready=state.ready,
        hub=state.hub,
        store=state.store,
        channels=channels,
        mcp={
            name: ServerView(
                state=server.state,
                reason=server.reason,
                since=server.since,
                tools=server.tools,
                refused=dict(server.refused),
            )
            for name, server in state.mcp.items()
        },
        approvals=len(await store.open_prompts()),
        pairing_requests=len(await store.pairing_requests()),
    )
