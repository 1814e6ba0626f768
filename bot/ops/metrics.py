"""Metrics for Prometheus: `GET /metrics`.

Counters since the hub started, in memory; gauges are read at each request.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

from channels.supervisor import ChannelState
from core.events import Began, Failed, Finished, TurnEvent
from core.messages import InboundEvent
from core.model.base import Model, ModelAbilities, ModelReply, ModelRequest, ReplyDelta, closing
from core.ports import Acceptance, Inbox, Seen, SendState

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OUTCOMES = frozenset({"turn", "waiting", "command", "answer", "refused", "ignored", "failed", "edited"})
_TURN_STATES = {Began: "begun", Finished: "finished", Failed: "failed"}


@dataclass(frozen=True, slots=True)
class Gauges:
    """Values read at each request. `waiting`: queued messages by channel."""

    states: Callable[[], Mapping[str, ChannelState]]
    waiting: Callable[[], Mapping[str, int]]
    running: Callable[[], int]
    streams: Callable[[], int]


class Metrics:
    """The counters, by their labels. Implements core.events.TurnListener."""

    def __init__(self) -> None:
        self.events_accepted: Counter[tuple[str, str]] = Counter()
        self.turns: Counter[str] = Counter(dict.fromkeys(_TURN_STATES.values(), 0))
        self.sends: Counter[tuple[str, str]] = Counter()
        self.model_calls: Counter[str] = Counter()
        self.gauges: Gauges | None = None

    def look_at(self, gauges: Gauges) -> None:
        """Show these, too, whenever somebody looks."""
        self.gauges = gauges

    def accepted(self, channel: str, outcome: str) -> None:
        """Count an accepted event; its outcome is reduced to its kind."""
        kind = outcome.partition(" ")[0].rstrip(":")
        self.events_accepted[channel, kind if kind in _OUTCOMES else "other"] += 1

    def sent(self, channel: str, state: SendState) -> None:
        """Count a message that was sent or failed."""
        self.sends[channel, state.value] += 1

    def model_called(self, state: str) -> None:
        """Count a finished model call."""
        self.model_calls[state] += 1

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        del thread_id, turn_id
        state = _TURN_STATES.get(type(event))
        if state is not None:
            self.turns[state] += 1


class MeteredInbox:
    """An Inbox that counts what another one takes."""

    def __init__(self, inbox: Inbox, metrics: Metrics) -> None:
        self._inbox = inbox
        self._metrics = metrics

    async def accept(self, event: InboundEvent) -> Acceptance:
        acceptance = await self._inbox.accept(event)
        if not acceptance.duplicate:
            self._metrics.accepted(event.channel, acceptance.outcome)
        return acceptance

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        return await self._inbox.last_seen(channel)


class MeteredModel:
    """A Model that counts the calls of another one."""

    def __init__(self, model: Model, metrics: Metrics) -> None:
        self._model = model
        self._metrics = metrics

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def abilities(self) -> ModelAbilities:
        return self._model.abilities

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        state = "failed"
        try:
            async with closing(self._model.reply(request)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, ModelReply):
                        state = "answered"
                    yield piece
        finally:
            self._metrics.model_called(state)
