"""The runs that this hub executes now, by id: the thread of each, what its models have done, and which tools
runs without a person go without."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from core import texts
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
    TurnListener,
    Verbosity,
)
from core.runs.attempts import RunModels
from core.runs.pulse import Pulse
from core.store.facets import ToolFailures

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
