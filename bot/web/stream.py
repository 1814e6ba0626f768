"""`GET /api/events?thread=…`: one thread exactly, as server-sent events.

A thread's stream is the thread's lines behind a position, in order, each once and with its position as the
event's id; between them what its turn is doing. Lines are read from the store whenever it says that there are
new ones, so a stream that is cut and taken up at its last id misses nothing and repeats nothing.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, assert_never

from bot.live import Live, LiveTurn, Subscription, TooManySubscribers
from bot.web.auth import AccessRules, Caller
from bot.web.endpoints import Call, Endpoint
from bot.web.items import Presenter
from bot.web.jobs_api import EventsWanted, JobEventView, JobsApi
from bot.web.responses import ApiError, Event, EventStream, resumed_at
from channels.manager import ChannelState
from core.clock import Clock
from core.events import (
    AutoLoop,
    Began,
    CandidateFailed,
    Failed,
    Finished,
    ModelSelected,
    Output,
    Rested,
    RunEnded,
    RunEvent,
    RunStarted,
    Step,
    TextDelta,
    TurnEvent,
)
from core.gates import GateState
from core.job import JobEvent
from core.lazy import dataclass
from core.messages import Address
from core.store.feed import CardSettled, CardShown, FeedItem, Feeds
from core.store.unattended_port import Jobs, Routines, RunViews
from core.transcript import AssistantSaid

BATCH = 200


@dataclass(frozen=True, slots=True)
class Onlooker:
    """The reader of one stream. `on`: its subscription to news."""

    feeds: Feeds
    live: Live
    presenter: Presenter
    caller: Caller
    on: Subscription

    async def gates(self, gate_ids: Mapping[str, str]) -> AsyncIterator[Event]:
        """Return gates as they stand now, as far as the caller may see them."""
        for gate_id in gate_ids:
            glance = await self.feeds.gate_glance(gate_id)
            if glance is None or not self._concerns(glance.gate.requester_id, glance.gate.rule.named):
                continue
            approval = self.presenter.approval(glance, self.caller.principal)
            if glance.gate.state is GateState.CLOSED:
                yield Event("approval_resolved", approval, approval.thread_id)
            else:
                yield Event("approval_needed", approval, approval.thread_id)
                yield Event("gate_required", approval, approval.thread_id)

    def _concerns(self, requester_id: str, named: tuple[str, ...]) -> bool:
        user_id = self.caller.principal.user_id
        return self.caller.is_owner or user_id == requester_id or user_id in named


class ThreadStream:
    """One thread's stream."""

    def __init__(self, onlooker: Onlooker, thread_id: str, after: int) -> None:
        self._onlooker = onlooker
        self._live = onlooker.live
        self._thread_id = thread_id
        self._after = after
        self._turn: LiveTurn | None = None
        self._attempt = -1
        self._told_chars = 0
        self._told_pieces = 0
        self._met = False

    async def news(self) -> AsyncIterator[Event]:
        """Return the news so far. Lines come first: what a turn says it did is committed by then."""
        onlooker, on = self._onlooker, self._onlooker.on
        gates, on.gates = on.gates, {}
        while on.changed:
            on.changed = False
            items = await onlooker.feeds.feed_after(self._thread_id, self._after, BATCH)
            for item in items:
                self._meet(item, gates)
                (shown,) = await onlooker.presenter.items(self._thread_id, [item])
                yield Event("item", shown, self._thread_id, item.seq)
                self._after = item.seq
            on.changed = on.changed or len(items) == BATCH
        async for event in onlooker.gates(gates):
            yield event
        jobs, on.jobs = on.jobs, set()
        for job_id in sorted(jobs):
            line = await onlooker.feeds.job_line(self._thread_id, job_id)
            if line is not None:
                (shown,) = await onlooker.presenter.items(self._thread_id, [line])
                yield Event("item_changed", shown, self._thread_id)
        if not self._met:
            self._met = True
            told = await onlooker.feeds.feed_before(self._thread_id, self._after + 1, BATCH)
            on.news.clear()
            for event in self._meet_turn(told):
                yield event
        while on.news:
            turn_id, event = on.news.popleft()
            yield self._event(turn_id, event)
        for event in self._text():
            yield event

    def _meet(self, item: FeedItem, gates: dict[str, str]) -> None:
        match item.shown:
            case CardShown(gate) | CardSettled(gate, _):
                gates[gate.id] = gate.thread_id
            case AssistantSaid():
                self._skip([item])
            case _:
                pass

    def _skip(self, lines: Sequence[FeedItem]) -> None:
        """Leave out the reply that is being written if one of these lines is it."""
        turn = self._live.turn(self._thread_id)
        if turn is not None and any(map(turn.is_told_by, lines)):
            self._follow(turn)
            self._text_after(turn)

    def _follow(self, turn: LiveTurn) -> None:
        """Begin with the reply that is being written, unless it was begun with before."""
        if self._turn is not turn or self._attempt != turn.attempt:
            self._turn, self._attempt = turn, turn.attempt
            self._told_chars = self._told_pieces = 0

    def _meet_turn(self, told: Sequence[FeedItem]) -> list[Event]:
        """Return earlier events of a turn that runs when the stream begins. `told`: lines that are shown."""
        turn = self._live.turn(self._thread_id)
        if turn is None:
            return []
        self._skip(told)
        begun: list[TurnEvent | None] = [Began("", Address("")), turn.started, turn.model]
        steps = [Step(call_id, *step) for call_id, step in turn.steps.items()]
        since = [turn.failed, *steps, *turn.outputs.values(), turn.loop]  # a failure follows its text
        return [*self._events(turn, begun), *self._text(), *self._events(turn, since)]

    def _events(self, turn: LiveTurn, news: Sequence[TurnEvent | None]) -> list[Event]:
        return [self._event(turn.turn_id, event) for event in news if event is not None]

    def _event(self, turn_id: str, event: TurnEvent) -> Event:
        return Event(*_turn_event(turn_id, event), self._thread_id)

    def _text(self) -> list[Event]:
        turn = self._live.turn(self._thread_id)
        if turn is None:
            self._turn = None
            return []
        self._follow(turn)
        if turn.chars == self._told_chars:
            return []
        offset = self._told_chars
        delta = {
            "turn": turn.turn_id,
            "attempt": turn.attempt,
            "offset": offset,
            "text": self._text_after(turn),
        }
        return [Event("turn_delta", delta, self._thread_id)]

    def _text_after(self, turn: LiveTurn) -> str:
        """Return a reply's text since the last call for it."""
        text = turn.text_from(self._told_pieces)
        self._told_chars, self._told_pieces = turn.chars, len(turn.pieces)
        return text


def _turn_event(turn_id: str, event: TurnEvent) -> tuple[str, dict[str, Any]]:
    match event:
        case Began():
            return "turn_started", {"turn": turn_id}
        case Step(call_id, tool, state):
            return "turn_step", {"turn": turn_id, "call_id": call_id, "tool": tool, "state": state.value}
        case Output(call_id, offset, text):
            return "turn_output", {"turn": turn_id, "call_id": call_id, "offset": offset, "text": text}
        case AutoLoop(phase):
            return f"auto_loop_{phase.value}", {
                "turn": turn_id,
                "tool": event.tool,
                "depth": event.depth,
                "executed": event.executed,
                "max_rounds": event.max_rounds,
                "max_tools": event.max_tools,
                "reason": event.reason,
            }
        case Finished():
            return "turn_finished", {"turn": turn_id}
        case Failed(text):
            return "turn_failed", {"turn": turn_id, "text": text}
        case Rested():
            return "turn_rested", {"turn": turn_id}
        case RunStarted() | ModelSelected() | CandidateFailed() | RunEnded():
            return _run_event(turn_id, event)
        case TextDelta():
            raise TypeError("text is told by offset")
        case _:
            assert_never(event)


def _run_event(run_id: str, event: RunEvent) -> tuple[str, dict[str, Any]]:
    match event:
        case RunStarted():
            name = "run_started"
        case ModelSelected():
            name = "model_selected"
        case CandidateFailed():
            name = "candidate_failed"
        case RunEnded():
            name = "run_ended"
        case _:
            assert_never(event)
    return name, {"run": run_id, **asdict(event)}


# Hints for lists: what is to be read again, as server-sent events.

NAMED_AT_ONCE = 100
"""Routines whose changes are named one by one."""
SEEN_LIMIT = 10_000
"""Threads whose owner is remembered while one member looks on."""

ChannelStates = Callable[[], Mapping[str, ChannelState]]


class ListStream:
    """Hints for lists: read again what they name."""

    def __init__(
        self,
        onlooker: Onlooker,
        states: ChannelStates,
        routines: Routines,
        runs: RunViews,
        jobs: Callable[[], Jobs],
    ) -> None:
        self._onlooker = onlooker
        self._jobs = jobs
        self._on = onlooker.on
        self._caller = onlooker.caller
        self._states = states
        self._routines = routines
        self._runs = runs
        self._own: dict[str, bool] = {}

    async def news(self) -> AsyncIterator[Event]:
        """Return the changes since the last call."""
        on = self._on
        if on.changed:
            on.changed = False
            yield Event("hello", {})
        threads, on.threads = on.threads, set()
        for thread_id in sorted(threads):
            if await self._may_see(thread_id):
                yield Event("thread_changed", {"thread_id": thread_id}, thread_id)
        gates, on.gates = on.gates, {}
        async for event in self._onlooker.gates(gates):
            if event.type != "gate_required":
                yield event
        async for event in self._routine_news():
            yield event
        async for event in self._job_news():
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
        """Yield changes of the caller's own routines. If there are very many at once, none is
        named: the whole list is to be read again."""
        on = self._on
        changed, on.routines = on.routines, set()
        ran, on.runs = on.runs, set()
        if len(changed) + len(ran) > NAMED_AT_ONCE:
            yield Event("routine_changed", {"routine_id": None})
            return
        for routine_id in sorted(changed | ran):
            row = await self._routines.routine(routine_id)
            if row is not None and row.owner_id != self._caller.principal.user_id:
                continue
            if routine_id in changed:
                yield Event("routine_changed", {"routine_id": routine_id})
            if row is None or routine_id not in ran:
                continue
            for run in await self._runs.routine_runs(routine_id, 1):
                page = {"name": row.text.name, "run_id": run.id, "status": run.state.value}
                yield Event("routine_run", {"routine_id": routine_id, **page})

    async def _job_news(self) -> AsyncIterator[Event]:
        jobs, self._on.jobs = self._on.jobs, set()
        for job_id in sorted(jobs):
            if await self._jobs().job(self._caller.principal.user_id, job_id) is not None:
                yield Event("job_changed", {"job_id": job_id})

    async def _may_see(self, thread_id: str) -> bool:
        if self._caller.is_owner:
            return True
        if thread_id not in self._own:
            if len(self._own) >= SEEN_LIMIT:
                self._own.clear()
            glance = await self._onlooker.feeds.thread_glance(thread_id)
            self._own[thread_id] = (
                glance is not None and glance.owner.user_id == self._caller.principal.user_id
            )
        return self._own[thread_id]


# One job's events, and the endpoint of their stream.

Read = Callable[[int], Awaitable[Sequence[JobEvent]]]
"""Returns the events after a position."""


class JobStream:
    """Implementation of bot.web.stream.Stream for one job."""

    def __init__(self, on: Subscription, after: int, read: Read) -> None:
        self._on = on
        self._after = after
        self._read = read

    async def news(self) -> AsyncIterator[Event]:
        self._on.news.clear()  # everything that a job does is an event of its own
        while self._on.changed:
            self._on.changed = False
            for event in await self._read(self._after):
                yield Event(event.kind.value, asdict(JobEventView.of(event)), seq=event.seq)
                self._after = event.seq
                self._on.changed = True


class JobStreams:
    """The endpoint of streams of jobs."""

    def __init__(self, jobs: JobsApi, live: Live, gate: AccessRules, clock: Clock) -> None:
        self._jobs = jobs
        self._live = live
        self._gate = gate
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        """Return the endpoints."""
        return [
            Endpoint(
                "GET",
                "/jobs/{id}/stream",
                self.stream,
                None,
                query=EventsWanted,
                refusals=(404, 429, 503),
                media_type="text/event-stream",
            )
        ]

    async def stream(self, call: Call) -> EventStream:
        """Stream a job's events (server-sent events), also those to come."""
        query: EventsWanted = call.query
        by, job = call.caller.principal, await self._jobs.find(call)
        try:
            on = self._live.subscribe(job.id, by)  # its journal is a thread with its id
        except TooManySubscribers as error:
            raise ApiError(429, "too_many", "too many streams are open; close one") from error

        async def read(after: int) -> Sequence[JobEvent]:
            return await self._jobs.registry.events(by, job.id, after=after, limit=query.limit)

        stream = JobStream(on, resumed_at(call.request, query.after), read)
        return EventStream(self._live, on, stream, partial(self._gate.still_holds, call.caller), self._clock)
