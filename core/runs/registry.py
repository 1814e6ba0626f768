"""The runs that this hub executes now, by id: the thread of each, and what its models have done."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from core import texts
from core.events import (
    NO_MODELS,
    CandidateFailed,
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

MAX_FAILURES_KEPT = 20

TellOwner = Callable[[str], Awaitable[None]]
"""Sends a notice to the hub's owner. Raises nothing."""
KeepTrace = Callable[[str, ModelTrace], Awaitable[None]]
"""Stores the models of the run with that id. Raises StaleTurn if it doesn't run any more."""
Bind = Callable[..., AbstractContextManager[object]]
"""Puts the given fields on every log record made inside."""


@dataclass(slots=True)
class Run:
    """One run while it is executed.

    `keep_trace`: stores its models. `earlier`: those of its earlier starts.
    `selected`: the model that its calls go to; `result`: known once it ends.
    `models`: kept here, because a run that the database interrupted begins again with the same."""

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
    models: RunModels | None = None

    def trace(self) -> ModelTrace:
        """Return the models of this run over all its starts, for the store."""
        selected = self.earlier.selected if self.selected is None else self.selected.model
        failures = (*self.earlier.failures, *self.failures)[-MAX_FAILURES_KEPT:]
        return ModelTrace(
            selected, failures, self.earlier.spent if self.models is None else self.models.spent
        )

    async def keep(self) -> None:
        """Store the models of this run. Raises StaleTurn if it doesn't run any more."""
        await self.keep_trace(self.run_id, self.trace())

    def report(self, event: ModelSelected | CandidateFailed) -> None:
        """Publish an event of the run, and remember it."""
        match event:
            case ModelSelected():
                self.selected = event
            case CandidateFailed():
                self.failures = [*self.failures, event][-MAX_FAILURES_KEPT:]
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

    def __len__(self) -> int:
        return len(self._runs)

    def trace(self, run_id: str) -> ModelTrace:
        """Return the models of a run that is executed here now; none for any other."""
        run = self._runs.get(run_id)
        return NO_MODELS if run is None else run.trace()

    @contextmanager
    def running(
        self, run_id: str, thread_id: str, kind: RunKind, verbosity: Verbosity = Verbosity.OFF
    ) -> Generator[Run]:
        """Register a run for the time of the block, however that ends. Log records name run and thread."""
        run = Run(run_id, thread_id, kind, verbosity, self._listener, self._keep_trace)
        self._runs[run_id] = run
        try:
            with self._bind(run=run_id, thread=thread_id):
                self._listener.turn_event(thread_id, run_id, RunStarted(kind, verbosity))
                yield run
        finally:
            del self._runs[run_id]
            self._listener.turn_event(thread_id, run_id, RunEnded(run.result))

    async def report_faults(self, run: Run, *, said: bool) -> None:
        """Tell the owner once of what only they can mend, until the model answers again. `said`: the run's
        own message told them."""
        if run.models is None or not run.models.faults:
            return
        for model, fault in run.models.models.unreported(run.models.faults).items():
            if not said:
                await self._tell_owner(texts.model_fault(model, fault))
