"""Model lists of scripted models and what a run of them reports, shared by the tests of runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.clock import SystemClock
from core.events import NOTHING_SPENT, CandidateFailed, FailuresSpent, ModelSelected, TextDelta
from core.ids import RandomIds
from core.model.base import ModelReply, ModelRequest, Price, ReplyDelta, StopReason
from core.runs.attempts import RoomSteps, RunModels, Step
from core.runs.metering import Metering, NoLedger
from core.runs.model_list import Candidate, ConfiguredModel, ModelList
from core.safety.leaks import LeakDetector
from core.transcript import Origin
from core.usage import CallEnd, CallKind, Payer, Reservation, Usage
from tests.core.model.support import ScriptedModel, TestClock, asking

Pieces = Sequence[ReplyDelta | ModelReply | Exception]


def reply(text: str = "Hello", stop: StopReason = StopReason.END, name: str = "t") -> ModelReply:
    return ModelReply(text, (), Usage(10, 5), Origin("test", name), stop)


def fine(text: str = "Hello there.") -> Pieces:
    """A call that works; its text comes in two pieces, the first of which is shown at once."""
    return [ReplyDelta(text[: len(text) // 2] + " "), ReplyDelta(text[len(text) // 2 :]), reply(text)]


class Rows(NoLedger):
    """A ledger that notes what is written, and refuses what is beyond the `most` micro-USD of one call."""

    def __init__(self) -> None:
        self.reserved: list[Reservation] = []
        self.ends: list[CallEnd] = []
        self.most: int | None = None

    async def reserve_call(
        self, payer: Payer, wanted: Reservation, ends: Sequence[CallEnd] = (), *, approved: bool = False
    ) -> str | None:
        del payer
        self.ends += ends
        if self.most is not None and wanted.micro_usd > self.most and not approved:
            return "It is used up."
        self.reserved.append(wanted)
        return None

    async def settle_calls(self, ends: Sequence[CallEnd]) -> None:
        self.ends += ends


def unrecorded() -> Metering:
    """The metering of tests that are about something else."""
    return Metering(NoLedger(), SystemClock(), RandomIds())


@dataclass
class Bench:
    """One hub's models; `run` begins a run on them."""

    models: list[ScriptedModel]
    windows: dict[str, int] = field(default_factory=dict[str, int])
    keys: int = 1
    price: Price | None = None
    share: float = 0.5
    clock: TestClock = field(default_factory=TestClock)
    rows: "Rows" = field(default_factory=lambda: Rows())

    def __post_init__(self) -> None:
        self.list = ModelList(
            [
                ConfiguredModel(
                    one.name, "test", self.windows.get(one.name, 1000), (one,) * self.keys, self.price
                )
                for one in self.models
            ],
            self.clock,
            Metering(self.rows, self.clock, RandomIds()),
            uniform=lambda low, high: low + (high - low) * self.share,
        )

    def run(
        self,
        *,
        compact: Step | None = None,
        reset: Step | None = None,
        earlier: FailuresSpent = NOTHING_SPENT,
    ) -> "BenchRun":
        return BenchRun(self, compact, reset, earlier)


class BenchRun:
    """One run, and everything it told."""

    def __init__(
        self, bench: Bench, compact: Step | None, reset: Step | None, earlier: FailuresSpent
    ) -> None:
        self._rows = bench.rows
        self.kept: list[FailuresSpent] = []
        self.events: list[ModelSelected | CandidateFailed] = []
        self.meter = bench.list.metering.run(Payer(CallKind.CHAT, "run", "ada"))
        self.deltas: list[TextDelta] = []
        self.windows: list[int] = []
        self.models = RunModels(
            bench.list,
            LeakDetector(),
            self.events.append,
            self.meter,
            earlier,
            self._keep,
        )
        self.steps = RoomSteps(compact, reset=reset)

    @property
    def usages(self) -> list[Usage | None]:
        """What each call used, in order; None where no answer counted it."""
        return [end.usage for end in (*self._rows.ends, *self.meter.ends)]

    async def _keep(self) -> None:
        self.kept.append(self.models.spent)

    async def reply(self) -> ModelReply:
        return await self.models.reply(self._build, self.deltas.append, steps=self.steps)

    def _build(self, candidate: Candidate) -> ModelRequest:
        self.windows.append(candidate.context_tokens)
        return asking("Hi")

    @property
    def seen(self) -> dict[int, str]:
        """The text that was shown of each attempt."""
        shown: dict[int, str] = {}
        for delta in self.deltas:
            assert delta.offset == len(shown.get(delta.attempt, ""))
            shown[delta.attempt] = shown.get(delta.attempt, "") + delta.text
        return shown

    @property
    def failed(self) -> list[tuple[str, int, int, float | None]]:
        return [
            (event.model, event.attempt, event.total, event.retry_in_s)
            for event in self.events
            if isinstance(event, CandidateFailed)
        ]

    @property
    def selected(self) -> list[str]:
        return [event.model for event in self.events if isinstance(event, ModelSelected)]


def scripted(name: str, *calls: Pieces | Exception) -> ScriptedModel:
    """A model that plays each list of pieces, or raises each error, once."""
    return ScriptedModel(name, [[call] if isinstance(call, Exception) else call for call in calls])
