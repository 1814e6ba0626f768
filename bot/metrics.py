"""What the hub counts, for Prometheus: `GET /metrics`.

Counted since the hub started, in memory; what can be asked for when somebody looks is asked for then.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from channels.supervisor import ChannelState, Phase
from core.events import Began, Failed, Finished, TurnEvent
from core.messages import InboundEvent
from core.model.base import Model, ModelReply, ModelRequest, ReplyDelta
from core.model.streams import closing
from core.ports import Acceptance, Inbox, Seen, SendState

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OUTCOMES = frozenset({"turn", "waiting", "command", "answer", "refused", "ignored", "failed", "edited"})


class Metrics:
    """The counters. Implements core.events.TurnListener."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._accepted = self._counter("events_accepted", "Inbound events taken.", "channel", "outcome")
        self._turns = self._counter("turns", "Turns begun (also anew) and ended.", "state")
        self._sends = self._counter("sends", "Messages out, by how they went.", "channel", "state")
        self._model_calls = self._counter("model_calls", "Calls of models, by how they ended.", "state")
        # Made once: looking them up by name for every event would cost more than counting.
        self._by_event = {
            Began: self._turns.labels("begun"),
            Finished: self._turns.labels("finished"),
            Failed: self._turns.labels("failed"),
        }

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(name, told, labels, namespace="hubbub", registry=self._registry)

    def look_at(self, gauges: "Gauges") -> None:
        """Show these, too, whenever somebody looks."""
        self._registry.register(gauges)

    def page(self) -> bytes:
        """All of it, in Prometheus's text format."""
        return generate_latest(self._registry)

    def accepted(self, channel: str, outcome: str) -> None:
        """An event was taken; of its outcome only the kind is counted."""
        kind = outcome.partition(" ")[0].rstrip(":")
        self._accepted.labels(channel, kind if kind in _OUTCOMES else "other").inc()

    def sent(self, channel: str, state: SendState) -> None:
        """A message went out, or did not."""
        self._sends.labels(channel, state.value).inc()

    def model_called(self, state: str) -> None:
        """A call of a model ended."""
        self._model_calls.labels(state).inc()

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        """See TurnListener."""
        del thread_id, turn_id
        counter = self._by_event.get(type(event))
        if counter is not None:
            counter.inc()


@dataclass(frozen=True, slots=True)
class Gauges(Collector):
    """What is asked for when somebody looks. `waiting`: by channel, messages that wait to go out."""

    states: Callable[[], Mapping[str, ChannelState]]
    waiting: Callable[[], Mapping[str, int]]
    running: Callable[[], int]
    streams: Callable[[], int]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """See Collector."""
        phases = GaugeMetricFamily(
            "hubbub_channel_phase", "1 for the phase a channel is in.", labels=["channel", "phase"]
        )
        for name, state in self.states().items():
            for phase in Phase:
                phases.add_metric([name, phase.value], float(state.phase is phase))
        waiting = GaugeMetricFamily("hubbub_sends_waiting", "Messages waiting to go out.", labels=["channel"])
        for name, count in self.waiting().items():
            waiting.add_metric([name], count)
        return [
            phases,
            waiting,
            GaugeMetricFamily("hubbub_turns_running", "Turns that run or are about to.", self.running()),
            GaugeMetricFamily("hubbub_streams_open", "Streams that are being read.", self.streams()),
        ]

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """See Collector: nothing is looked at before somebody asks."""
        return ()


class MeteredInbox:
    """An Inbox that counts what another one takes."""

    def __init__(self, inbox: Inbox, metrics: Metrics) -> None:
        self._inbox = inbox
        self._metrics = metrics

    async def accept(self, event: InboundEvent) -> Acceptance:
        """See Inbox."""
        acceptance = await self._inbox.accept(event)
        if not acceptance.duplicate:
            self._metrics.accepted(event.channel, acceptance.outcome)
        return acceptance

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        """See Inbox."""
        return await self._inbox.last_seen(channel)


class MeteredModel:
    """A Model that counts the calls of another one."""

    def __init__(self, model: Model, metrics: Metrics) -> None:
        self._model = model
        self._metrics = metrics

    @property
    def name(self) -> str:
        """See Model."""
        return self._model.name

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """See Model."""
        state = "failed"
        try:
            async with closing(self._model.reply(request)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, ModelReply):
                        state = "answered"
                    yield piece
        finally:
            self._metrics.model_called(state)
