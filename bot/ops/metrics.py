"""Metrics for Prometheus: `GET /metrics`.

Counters since the hub started, in memory; gauges are read at each request.
"""

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from channels.supervisor import ChannelState
from core.errors import StoreUnavailable
from core.events import Began, Failed, Finished, TurnEvent
from core.lazy import dataclass
from core.messages import InboundEvent
from core.ports import Acceptance, Inbox, Seen, SendState
from core.runs.metering import Metered
from core.store.feed import Changes
from core.usage import MICRO_USD

if TYPE_CHECKING:
    from core.job import JobState

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
NEW_JOB = "new"
"""The state, as a label, that a job had before it was created."""
_OUTCOMES = frozenset({"turn", "waiting", "command", "answer", "refused", "ignored", "failed", "edited"})
_TURN_STATES = {Began: "begun", Finished: "finished", Failed: "failed"}


@dataclass(frozen=True, slots=True)
class Gauges:
    """Values read at each request. `waiting`: queued messages by channel. `job_states`: jobs by state."""

    states: Callable[[], Mapping[str, ChannelState]]
    waiting: Callable[[], Mapping[str, int]]
    running: Callable[[], int]
    streams: Callable[[], int]
    jobs: Callable[[], int]
    job_states: Callable[[], Awaitable[Mapping["JobState", int]]]


class Metrics:
    """The counters, by their labels. Implements core.events.TurnListener and
    core.store.feed.ChangeListener."""

    def __init__(self) -> None:
        self.events_accepted: Counter[tuple[str, str]] = Counter()
        self.turns: Counter[str] = Counter(dict.fromkeys(_TURN_STATES.values(), 0))
        self.sends: Counter[tuple[str, str]] = Counter()
        self.model_calls: Counter[tuple[str, str]] = Counter()
        self.model_tokens: Counter[tuple[str, str]] = Counter()
        self.model_cost_usd: defaultdict[str, float] = defaultdict(float)
        self.model_seconds: defaultdict[str, float] = defaultdict(float)
        self.job_changes: Counter[tuple[str, str]] = Counter()
        self.gauges: Gauges | None = None

    def look_at(self, gauges: Gauges) -> None:
        """Show these, too, whenever somebody looks."""
        self.gauges = gauges

    async def job_states(self) -> Mapping["JobState", int] | None:
        """Return how many jobs are in each state; None while the database cannot be read."""
        if self.gauges is None:
            return None
        try:
            return await self.gauges.job_states()
        except StoreUnavailable:
            return None

    def accepted(self, channel: str, outcome: str) -> None:
        """Count an accepted event; its outcome is reduced to its kind."""
        kind = outcome.partition(" ")[0].rstrip(":")
        self.events_accepted[channel, kind if kind in _OUTCOMES else "other"] += 1

    def sent(self, channel: str, state: SendState) -> None:
        """Count a message that was sent or failed."""
        self.sends[channel, state.value] += 1

    def model_called(self, call: Metered) -> None:
        """Count a finished model call."""
        self.model_calls[call.model, "answered" if call.answered else "failed"] += 1
        self.model_seconds[call.model] += call.seconds
        if (used := call.usage) is None:
            return
        fresh = used.input_tokens - used.cached_input_tokens - used.cache_write_tokens
        for kind, tokens in (
            ("input", fresh),
            ("output", used.output_tokens),
            ("cache_read", used.cached_input_tokens),
            ("cache_write", used.cache_write_tokens),
        ):
            self.model_tokens[call.model, kind] += tokens
        self.model_cost_usd[call.model] += used.cost_micro_usd / MICRO_USD

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        del thread_id, turn_id
        state = _TURN_STATES.get(type(event))
        if state is not None:
            self.turns[state] += 1

    def changed(self, changes: Changes) -> None:
        # Each hub counts what it committed.
        for before, state in changes.job_changes:
            self.job_changes[NEW_JOB if before is None else before.value, state.value] += 1


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
