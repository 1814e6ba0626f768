"""How the hub is doing: its channels, and what became of messages."""

from typing import Annotated

from pydantic import Field

from bot.web.blocks import Page
from bot.web.endpoints import Call, Endpoint, Given, Limit
from bot.web.list_stream import ChannelStates
from core.store.base import Store
from core.store.pairing import NoiseRow
from core.store.rows import Explanation


class ChannelPage(Page):
    """One channel. `phase`: starting, running, backing off, failed or stopped; `failures`: since it last
    ran well; `since`: microseconds UTC."""

    name: str
    platform: str
    phase: str
    reason: str | None
    since: int
    failures: int


class ChannelsPage(Page):
    """Every channel that runs."""

    channels: tuple[ChannelPage, ...]


class WhyQuery(Given):
    """`query`: an event's key, or part of it, of the sender's name or of the text; empty: the newest."""

    query: Annotated[str, Field(max_length=200)] = ""
    limit: Limit = 50


class DeliveryView(Page):
    """How one message went out."""

    state: str
    parts: int
    repeats: int
    reason: str | None


class WhyTurn(Page):
    """The turn an event became part of."""

    id: str
    thread_id: str | None
    state: str | None
    error: str | None
    deliveries: tuple[DeliveryView, ...]


class WhyEvent(Page):
    """One inbound event, and why what became of it did."""

    key: str
    channel: str
    at: int
    sender: str
    text: str
    outcome: str
    thread_id: str | None
    turn: WhyTurn | None
    deliveries: tuple[DeliveryView, ...]


class NoiseView(Page):
    """Events that were counted, not kept."""

    channel: str
    sender: str
    reason: str
    count: int
    last_at: int


class WhyPage(Page):
    """The newest first."""

    events: tuple[WhyEvent, ...]
    noise: tuple[NoiseView, ...]


class Looking:
    """One method per endpoint."""

    def __init__(self, store: Store, states: ChannelStates, platforms: dict[str, str]) -> None:
        self._store = store
        self._states = states
        self._platforms = platforms

    def endpoints(self) -> list[Endpoint]:
        """What is served."""
        return [
            Endpoint("GET", "/channels", self.channels, ChannelsPage, owner_only=True),
            Endpoint("GET", "/why", self.why, WhyPage, WhyQuery, owner_only=True),
        ]

    async def channels(self, call: Call) -> ChannelsPage:
        """How each channel is doing."""
        del call
        return ChannelsPage(
            channels=tuple(
                ChannelPage(
                    name=name,
                    platform=self._platforms.get(name, name),
                    phase=state.phase.value,
                    reason=state.reason,
                    since=state.since,
                    failures=state.failures,
                )
                for name, state in self._states().items()
            )
        )

    async def why(self, call: Call) -> WhyPage:
        """What became of messages, and what was counted instead of kept."""
        query: WhyQuery = call.query
        text = query.query.strip()
        if text:
            found = await self._store.explain_matching(text, query.limit)
        else:
            found = await self._store.explain_recent(query.limit)
        noise = await self._store.noise(query.limit)
        wanted = [row for row in noise if not text or text in (row.channel, row.platform_user_id)]
        return WhyPage(events=tuple(map(_event, found)), noise=tuple(map(_noise, wanted)))


def _event(event: Explanation) -> WhyEvent:
    deliveries = tuple(
        DeliveryView(state=one.state, parts=one.parts, repeats=one.repeats, reason=one.reason)
        for one in event.deliveries
    )
    turn = None
    if event.turn_id is not None:
        turn = WhyTurn(
            id=event.turn_id,
            thread_id=event.thread_id,
            state=event.turn_state,
            error=event.turn_error,
            deliveries=deliveries,
        )
    return WhyEvent(
        key=event.key,
        channel=event.channel,
        at=event.received_at,
        sender=event.sender,
        text=event.text,
        outcome=event.outcome,
        thread_id=event.thread_id,
        turn=turn,
        deliveries=deliveries,
    )


def _noise(row: NoiseRow) -> NoiseView:
    return NoiseView(
        channel=row.channel,
        sender=row.platform_user_id,
        reason=row.reason,
        count=row.seen,
        last_at=row.last_at,
    )
