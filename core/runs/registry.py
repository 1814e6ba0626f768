"""The runs that this hub executes now, by id: the thread of each, what its models have done, which tools
runs without a person go without, and what each waits for.

A run shows life when it begins or ends a call of a tool or a model, when a model sends a piece of its reply,
and when an attempt at a model has failed. Its age is of no account. Engines of unattended runs are built by
the first run.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from core import texts
from core.clock import Clock
from core.events import (
    NO_MODELS,
    CandidateFailed,
    ContextUse,
    ModelSelected,
    ModelTrace,
    RunEnded,
    RunKind,
    RunResult,
    RunStarted,
    Step,
    StepState,
    TurnListener,
    Verbosity,
)
from core.lazy import dataclass
from core.runs.attempts import RunModels
from core.store.facets import ToolFailures

if TYPE_CHECKING:
    from core.store.rows import RunningCall, UnfinishedRun


@dataclass(frozen=True, slots=True)
class Silence:
    """What a run waits for without a sign of life. `tool`: its name; None for the model. `limit_s`: the time
    limit of the tool's call."""

    tool: str | None
    seconds: float
    limit_s: float = 0.0


class Pulse:
    """The pulse of one start of a run, which its subtasks share."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at_s = clock.monotonic_s()
        self._waits: dict[str, Step | None] = {}
        """What it waits for now: tools by call, and the model as None; the newest last."""

    def beat(self) -> None:
        """Note a sign of life."""
        self._at_s = self._clock.monotonic_s()

    def step(self, step: Step) -> None:
        """Note that a call of a tool begins or has ended."""
        self.beat()
        self._waits.pop(step.call_id, None)
        if step.state is StepState.STARTED:
            self._waits[step.call_id] = step

    @contextmanager
    def model(self, run_id: str) -> Generator[None]:
        """Note that the run waits for its model, for the time of the block."""
        self.beat()
        self._waits[run_id] = None
        try:
            yield
        finally:
            self.beat()
            del self._waits[run_id]

    def silence(self) -> Silence | None:
        """Return for how long the run has waited in silence for what it began last; None if for nothing."""
        if not self._waits:
            return None
        newest, seconds = next(reversed(self._waits.values())), self._clock.monotonic_s() - self._at_s
        return Silence(None, seconds) if newest is None else Silence(newest.tool, seconds, newest.limit_s)


MAX_FAILURES_KEPT = 20
LOOK_EVERY_S = 60.0
"""How often tools that fail again and again are looked for."""


class TellOwner(Protocol):
    """A way to send the hub's owner a notice. It raises nothing."""

    async def __call__(self, text: str, once: str = "") -> None:
        """Send the notice. `once`: its subject, of which the owner is told only once, also over restarts."""
        ...


KeepTrace = Callable[[str, ModelTrace], Awaitable[None]]
"""Stores the models of the run with that id. Raises StaleTurn if it doesn't run any more."""
Bind = Callable[..., AbstractContextManager[object]]
"""Puts the given fields on every log record made inside."""


@dataclass(slots=True)
class Run:
    """One run while it is executed.

    `keep_trace`: stores its models. `earlier`: those of its earlier starts.
    `chosen`: the model and effort that people chose for it, in words.
    `selected`: the model that its calls go to; `result`: known once it ends.
    `context`: how full its newest request is; None before the first.
    `models`: kept here, because a run that the database interrupted begins again with the same.
    `joining`: the threads of all runs in which input may wait to join the run.
    `pulse`: None if it is not watched."""

    run_id: str
    thread_id: str
    kind: RunKind
    verbosity: Verbosity
    listener: TurnListener
    keep_trace: KeepTrace
    earlier: ModelTrace = NO_MODELS
    selected: ModelSelected | None = None
    failures: list[CandidateFailed] = field(default_factory=list[CandidateFailed])
    result: RunResult = RunResult.STOPPED
    chosen: str = ""
    models: RunModels | None = None
    joining: set[str] = field(default_factory=set[str])
    context: ContextUse | None = None
    pulse: Pulse | None = None

    @contextmanager
    def subtask(self, run_id: str, models: RunModels) -> Generator["Run"]:
        """Register a subtask of this run for the time of the block."""
        run = Run(run_id, self.thread_id, RunKind.SUBTASK, Verbosity.OFF, self.listener, self.keep_trace)
        run.models, run.pulse = models, self.pulse
        self.listener.turn_event(run.thread_id, run_id, RunStarted(run.kind, run.verbosity))
        try:
            yield run
        finally:
            self.listener.turn_event(run.thread_id, run_id, RunEnded(run.result))

    def take_joining(self) -> bool:
        """Return whether to look for input that waits to join this run, once."""
        waits = self.thread_id in self.joining
        self.joining.discard(self.thread_id)
        return waits

    def trace(self) -> ModelTrace:
        """Return the models of this run over all its starts, for the store."""
        selected = self.earlier.selected if self.selected is None else self.selected.model
        failures = (*self.earlier.failures, *self.failures)[-MAX_FAILURES_KEPT:]
        context = self.context or self.earlier.context
        spent, calls = self.earlier.spent, ()
        if self.models is not None:
            spent, calls = self.models.spent, self.models.meter.ends
        return ModelTrace(selected, failures, spent, context, self.chosen, calls)

    async def keep(self) -> None:
        """Store the models of this run. Raises StaleTurn if it doesn't run any more."""
        trace = self.trace()
        await self.keep_trace(self.run_id, trace)
        self.kept(trace)

    def kept(self, trace: ModelTrace) -> None:
        """Forget the ends of calls that are stored."""
        if self.models is not None:
            self.models.meter.stored(trace.calls)

    def report(self, event: ModelSelected | CandidateFailed) -> None:
        """Publish an event of the run, and remember it."""
        match event:
            case ModelSelected():
                self.selected = event
            case CandidateFailed():
                self.failures = [*self.failures, event][-MAX_FAILURES_KEPT:]
        if self.pulse is not None:
            self.pulse.beat()
        self.listener.turn_event(self.thread_id, self.run_id, event)


def _unbound(**fields: str) -> AbstractContextManager[object]:
    del fields
    return nullcontext()


class RunRegistry:
    """All runs of this hub that are being executed.

    `keep_trace`: stores the models of a run. `bind`: puts fields on log records; by default there are
    none."""

    def __init__(
        self, listener: TurnListener, tell_owner: TellOwner, keep_trace: KeepTrace, bind: Bind = _unbound
    ) -> None:
        self._listener = listener
        self._tell_owner = tell_owner
        self._keep_trace = keep_trace
        self._bind = bind
        self._runs: dict[str, Run] = {}
        self._joining: set[str] = set()

    def __len__(self) -> int:
        return len(self._runs)

    def joins(self, thread_id: str) -> None:
        """Note that input may wait to join the thread's run, this one or the next."""
        self._joining.add(thread_id)

    def trace(self, run_id: str) -> ModelTrace:
        """Return the models of a run that is executed here now; none for any other."""
        run = self._runs.get(run_id)
        return NO_MODELS if run is None else run.trace()

    @contextmanager
    def running(
        self, run_id: str, thread_id: str, kind: RunKind, verbosity: Verbosity = Verbosity.OFF
    ) -> Generator[Run]:
        """Register a run for the time of the block, however that ends. Log records name run and thread."""
        run = Run(run_id, thread_id, kind, verbosity, self._listener, self._keep_trace, joining=self._joining)
        self._runs[run_id] = run
        try:
            with self._bind(run=run_id, thread=thread_id):
                self._listener.turn_event(thread_id, run_id, RunStarted(kind, verbosity))
                yield run
        finally:
            del self._runs[run_id]
            self._listener.turn_event(thread_id, run_id, RunEnded(run.result))
            run.models = None  # they lead back to the run: freed now, not by the collector

    async def report_faults(self, run: Run, *, said: bool) -> None:
        """Tell the owner once of what only they can mend, until the model answers again. `said`: the run's
        own message told them. Of what its provider refused, they are told as well."""
        await self._report_lessons(run)
        if run.models is None or not run.models.faults:
            return
        for model, fault in run.models.models.unreported(run.models.faults).items():
            if not said:
                await self._tell_owner(texts.model_fault(model, fault))

    async def _report_lessons(self, run: Run) -> None:
        """Tell the owner once what the provider of the run's model refused, with the setting to avoid it."""
        if run.models is None or run.selected is None:
            return
        model = run.selected.model
        lessons = run.models.models.unreported_lessons(model)
        if told := texts.model_learned(model, lessons):
            await self._tell_owner(told, f"learned:{model}:{','.join(sorted(lessons))}")


class FailingTools:
    """Tells the owner once of each tool that is left out, also if the hub was killed before it could."""

    def __init__(self, failures: ToolFailures, tell_owner: TellOwner) -> None:
        self._failures = failures
        self._tell_owner = tell_owner
        self._told: set[str] = set()

    async def look(self) -> None:
        """Tell of the tools that are left out since the last look. Raises StoreUnavailable."""
        for failing in await self._failures.failing_tools():
            once = f"tool:{failing.tool}:{failing.left_out_at}"
            if failing.left_out_at is None or once in self._told:
                continue
            await self._tell_owner(texts.tool_left_out(failing.tool, failing.failures, failing.error), once)
            self._told.add(once)


class RunSignals:
    """Signals that wake an engine."""

    def __init__(self) -> None:
        self._something = asyncio.Event()

    def wake(self) -> None:
        """Signal that there may be something to do. Never blocks."""
        self._something.set()

    async def something(self) -> None:
        """Wait until there is something to do."""
        await self._something.wait()
        self._something.clear()


class RunEngine(Protocol):
    """An engine that carries runs out."""

    async def resume(self, run: "UnfinishedRun") -> None:
        """Start an interrupted run again, or end it if it is not to go on."""
        ...

    async def join(self, run: "UnfinishedRun", timeout_s: float) -> None:
        """Wait until a resumed run no longer runs, at most `timeout_s`."""
        ...

    async def set_aside(self, run: "UnfinishedRun") -> None:
        """End a run that crashed the hub repeatedly."""
        ...

    def unfinished(self) -> Sequence[str]:
        """Return the ids of the runs that are running or about to run."""
        ...

    async def run(self) -> None:
        """Run until cancelled."""
        ...


E = TypeVar("E", bound=RunEngine)


class LazyEngine(Generic[E]):
    """Implementation of core.runs.recovery.RunsOfKind by an engine that is built when it is needed."""

    def __init__(self, build: Callable[[RunSignals], E]) -> None:
        self._build = build
        self._signals = RunSignals()
        self._engine: E | None = None

    async def asks_about(self, running: "RunningCall") -> bool:
        """Return False: the outcome is recorded as unknown when the run is resumed or ends."""
        del running
        return False

    async def resume(self, run: "UnfinishedRun") -> None:
        await self._loaded().resume(run)
        self._signals.wake()

    async def join(self, run: "UnfinishedRun", timeout_s: float) -> None:
        await self._loaded().join(run, timeout_s)

    async def set_aside(self, run: "UnfinishedRun") -> None:
        await self._loaded().set_aside(run)
        self._signals.wake()

    def unfinished(self) -> Sequence[str]:
        """Return the ids of the runs that are running or about to run."""
        return () if self._engine is None else self._engine.unfinished()

    def _loaded(self) -> E:
        if self._engine is None:
            self._engine = self._build(self._signals)
        return self._engine
