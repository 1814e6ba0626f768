"""Hints for lists: what is to be read again, as server-sent events."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping

from bot.web.callers import Caller
from bot.web.live import Live, Subscription
from bot.web.presenting import Presenter
from bot.web.stream import Event, Onlooker
from channels.supervisor import ChannelState
from core.store.feed import Feeds
from core.store.routine_port import Routines

NAMED_AT_ONCE = 100
"""Routines of which something is told."""
SEEN_LIMIT = 10_000
"""Threads whose owner is remembered while one member looks on."""

ChannelStates = Callable[[], Mapping[str, ChannelState]]


class ListStream(Onlooker):
    """Hints for lists: read again what they name."""

    def __init__(
        self,
        feeds: Feeds,
        live: Live,
        presenter: Presenter,
        caller: Caller,
        subscription: Subscription,
        states: ChannelStates,
        routines: Routines,
    ) -> None:
        super().__init__(feeds, live, presenter, caller, subscription)
        self._states = states
        self._routines = routines
        self._own: dict[str, bool] = {}

    async def news(self) -> AsyncIterator[Event]:
        """What has changed since the last time."""
        on = self._on
        if on.changed:
            on.changed = False
            yield Event("hello", {})
        threads, on.threads = on.threads, set()
        for thread_id in sorted(threads):
            if await self._may_see(thread_id):
                yield Event("thread_changed", {"thread_id": thread_id}, thread_id)
        prompts, on.prompts = on.prompts, {}
        async for event in self.prompts(prompts):
            if event.type != "gate_required":
                yield event
        async for event in self._routine_news():
            yield event
        tools, on.tools = on.tools, False
        if tools:
            yield Event("tools_changed", {})
        for event in self._owner_news():
            yield event

    def _owner_news(self) -> Iterator[Event]:
        on = self._on
        people, on.people = on.people, False
        channels, on.channels = on.channels, set()
        if not self._caller.is_owner:
            return
        if people:
            yield Event("pairing_changed", {})
        for name in sorted(channels):
            state = self._states()[name]
            yield Event("channel_state", {"name": name, "phase": state.phase.value, "reason": state.reason})

    async def _routine_news(self) -> AsyncIterator[Event]:
        """Of the caller's own. Of very many at once none is named: the whole list is to be read again."""
        on, owner_id = self._on, self._caller.principal.user_id
        changed, on.routines = on.routines, set()
        ran, on.runs = on.runs, set()
        if len(changed) + len(ran) > NAMED_AT_ONCE:
            yield Event("routine_changed", {"routine_id": None})
            return
        for routine_id in sorted(changed):
            row = await self._routines.routine(routine_id)
            if row is None or row.owner_id == owner_id:
                yield Event("routine_changed", {"routine_id": routine_id})
        for routine_id in sorted(ran):
            row = await self._routines.routine(routine_id)
            if row is None or row.owner_id != owner_id:
                continue
            for run in await self._routines.routine_runs(routine_id, 1):
                yield Event(
                    "routine_run",
                    {
                        "routine_id": routine_id,
                        "name": row.text.name,
                        "run_id": run.id,
                        "status": run.state.value,
                    },
                )

    async def _may_see(self, thread_id: str) -> bool:
        if self._caller.is_owner:
            return True
        if thread_id not in self._own:
            if len(self._own) >= SEEN_LIMIT:
                self._own.clear()
            glance = await self._feeds.thread_glance(thread_id)
            self._own[thread_id] = (
                glance is not None and glance.owner.user_id == self._caller.principal.user_id
            )
        return self._own[thread_id]
