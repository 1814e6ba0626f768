"""The models of one run: each reply is tried with them in order, within one budget for the whole run."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from itertools import count

from core import texts
from core.errors import (
    ContextOverflow,
    ModelError,
    ModelFault,
    ModelMisconfigured,
    ModelRateLimited,
    ModelRejected,
    ModelReplyInvalid,
    ModelUnavailable,
)
from core.events import NOTHING_SPENT, CandidateFailed, FailuresSpent, ModelSelected, TextDelta
from core.lazy import dataclass
from core.model.base import ModelReply, ModelRequest, StopReason
from core.runs.context import request_tokens
from core.runs.metering import RunMeter
from core.runs.model_list import (
    JITTER,
    LIMITED_KEY_REST_S,
    LONGEST_COOLDOWN_S,
    REJECTED_KEY_REST_S,
    Candidate,
    ModelList,
    Permit,
)
from core.runs.reply_stream import ReplyStream, Tell
from core.safety.leaks import LeakDetector

logger = logging.getLogger(__name__)

MAX_FAILED_ATTEMPTS = 8
MAX_FAILED_S = 180.0
"""The limits on what one run spends on failures: attempts, and seconds in them and in waits."""
MAX_TRIES = 4
"""The number of times in a row that one model is called for a reply."""
MAX_AFTER_TEXT = 2
"""The number of further attempts at a reply of which people have seen text."""
FIRST_WAIT_S = 1.0
PATIENCE_S = 5.0
"""The longest wait for a model while another one could be called."""
LONGEST_WAIT_S = 60.0
"""The longest wait for the only model. If its provider asks for more, the reply fails."""

Build = Callable[[Candidate], ModelRequest]
"""Returns the request for a model of the list."""
Report = Callable[[ModelSelected | CandidateFailed], None]
Keep = Callable[[], Awaitable[None]]
"""Stores the use of a run, before it continues. Raises StaleTurn if it doesn't run any more."""
Step = Callable[[], Awaitable[bool]]
"""Makes room after the context overflowed. Returns False if it can't."""
RESET = "reset"


@dataclass(frozen=True, slots=True)
class RoomSteps:
    """The steps that make room in an overflowing context, in their order. Each is taken at most once in a
    run. None, False: not available."""

    compact: Step | None = None
    larger_window: bool = True
    reset: Step | None = None


NO_STEPS = RoomSteps(larger_window=False)
LARGER_WINDOW = RoomSteps()


@dataclass(slots=True)
class RetryBudget:
    """The attempts and seconds that a run may still spend on failures, over all its replies."""

    attempts: int = MAX_FAILED_ATTEMPTS
    seconds: float = MAX_FAILED_S

    def spend(self, seconds: float) -> None:
        """Take a failed attempt off."""
        self.attempts -= 1
        self.seconds -= seconds

    def allows(self, wait_s: float) -> bool:
        """Return whether there is enough left for another attempt after that wait, which is taken off."""
        if self.attempts <= 0 or self.seconds < wait_s:
            return False
        self.seconds -= wait_s
        return True


async def unkept() -> None:
    """Store nothing: this run is not in the journal."""


class RunModels:
    """The models of a run, and what may happen only once in it.

    `report`: receives selected models and failures.
    `meter`: the metering point of its calls.
    `earlier`: what earlier starts of the run spent. `keep`: called after each failure.
    `first`: the name of the model that is tried before the others."""

    def __init__(
        self,
        models: ModelList,
        leaks: LeakDetector,
        report: Report,
        meter: RunMeter,
        earlier: FailuresSpent = NOTHING_SPENT,
        keep: Keep = unkept,
        first: str | None = None,
    ) -> None:
        self.models = models
        self.keep = keep
        self.budget = RetryBudget(MAX_FAILED_ATTEMPTS - earlier.attempts, MAX_FAILED_S - earlier.seconds)
        self.faults = {model: ModelFault(fault) for model, fault in earlier.faults}
        """The faults met that only the operator can mend, by model."""
        self._leaks = leaks
        self.report = report
        self.meter = meter
        self._first = first
        self._selected: Candidate | None = None
        self._given_up = set(earlier.given_up)
        self._above_tokens = earlier.above_tokens
        self._numbers = count()
        self._room_made = list(earlier.room_made)
        self.overflowed_tokens = 0
        """The estimated tokens of the conversation in the newest request that did not fit."""

    def of_subtask(self) -> "RunModels":
        """Return the models of a subtask of the run, which spends what the run may spend."""
        models = copy(self)
        models.meter = self.meter.of_subtask()
        models._room_made = list(self._room_made)
        return models

    @property
    def was_reset(self) -> bool:
        """Return whether the conversation was reset in this run, which then asks no model any more."""
        return RESET in self._room_made

    @property
    def spent(self) -> FailuresSpent:
        """Return what the run has spent so far, over all its starts."""
        return FailuresSpent(
            MAX_FAILED_ATTEMPTS - self.budget.attempts,
            MAX_FAILED_S - self.budget.seconds,
            tuple(self._room_made),
            self._above_tokens,
            tuple(sorted(self._given_up)),
            tuple((model, fault.value) for model, fault in self.faults.items()),
        )

    async def reply(
        self,
        build: Build,
        tell: Tell | None,
        *,
        repeats_empty: bool = False,
        steps: RoomSteps = LARGER_WINDOW,
    ) -> ModelReply:
        """Return a whole reply, its text told as it comes. Both are without reasoning, tool syntax and
        credentials.

        `build`: called for each attempt. `tell`: None if people see only whole replies.
        `repeats_empty`: an empty reply is reported and requested once more; the second is returned even if
        it is empty. `steps`: taken after an overflow. Raises the error of the last model, or one that sums
        all up."""
        if self.was_reset:
            raise ContextOverflow("the conversation was reset in this run")
        attempts = _Attempts(self, build, tell, may_repeat=repeats_empty)
        while True:
            try:
                return await attempts.run()
            except ContextOverflow:
                if not await self._make_room(steps):
                    raise

    async def _make_room(self, steps: RoomSteps) -> bool:
        """Take the next step that makes room."""
        larger_window = self._larger_window if steps.larger_window else None
        in_order = {"compact": steps.compact, "larger_window": larger_window, RESET: steps.reset}
        for name, step in in_order.items():
            if step is None or name in self._room_made:
                continue
            self._room_made.append(name)
            if await step():
                await self.keep()
                return True
        return False

    async def _larger_window(self) -> bool:
        """Use only models with a larger window than the one that overflowed, for the rest of the run."""
        overflowed_tokens = self._selected.context_tokens if self._selected is not None else 0
        if not self.models.in_order(overflowed_tokens):
            return False
        self._above_tokens = overflowed_tokens
        return True

    def candidates(self) -> Sequence[Candidate]:
        """Return the models for the next reply, in order. After a restart there may be none with a larger
        window any more; then the others are tried."""
        fitting = self.models.in_order(self._above_tokens, self._given_up, self._first)
        return fitting or self.models.in_order(0, self._given_up, self._first)

    async def call(
        self, candidate: Candidate, key: int, build: Build, tell: Tell | None, attempt: int
    ) -> ModelReply:
        """Call a model once. Raises ContextOverflow also if the reply says that the context was full."""
        request = build(candidate)
        if candidate is not self._selected:
            self._selected = candidate
            thinking = request.thinking or candidate.thinking
            self.report(ModelSelected(candidate.provider, candidate.name, thinking.value))
        stream = ReplyStream(self._leaks, self._numbers, tell)
        try:
            reply = await stream.whole(self.meter.reply(candidate, key, request, attempt), request)
        except ContextOverflow:
            self._did_not_fit(candidate, request)
            raise
        if request.conversation_tokens and not request.images:
            candidate.ratio.counted(request_tokens(request), reply.usage.input_tokens)
        if reply.stop is StopReason.OVERFLOW:
            self._did_not_fit(candidate, request)
            raise ContextOverflow(
                f"model {candidate.name}: its context window was full before the reply ended"
            )
        return reply

    def _did_not_fit(self, candidate: Candidate, request: ModelRequest) -> None:
        if not self.overflowed_tokens:  # once a run: what follows is made shorter for other reasons too
            room_tokens = candidate.context_tokens - request.max_output_tokens
            candidate.ratio.overflowed(request_tokens(request), room_tokens)
        self.overflowed_tokens = request.conversation_tokens or request_tokens(request)

    def failed(self, error: ModelError, failure: CandidateFailed) -> None:
        """Report a failed attempt. A model that can't answer this run's requests is not called again."""
        logger.warning(
            "model.failed model=%s number=%d of=%d retry_in_s=%s error=%s",
            failure.model,
            failure.attempt,
            failure.total,
            "none" if failure.retry_in_s is None else f"{failure.retry_in_s:.1f}",
            error,
        )
        if isinstance(error, ModelMisconfigured):
            self.faults[failure.model] = error.fault
        if isinstance(error, ModelMisconfigured | ModelRejected) and failure.retry_in_s is None:
            self._given_up.add(failure.model)
        self.report(failure)


class _Attempts:
    """The attempts at one reply."""

    def __init__(self, run: RunModels, build: Build, tell: Tell | None, *, may_repeat: bool) -> None:
        self._run = run
        self._build = build
        self._tell = tell
        self._clock = run.models.clock
        self._candidates: Sequence[Candidate] = ()
        self._place = self._tries = 0
        self._failures: dict[str, ModelError] = {}
        self._may_repeat = may_repeat
        self._text_seen = False
        self._after_text = self._made = 0

    async def run(self) -> ModelReply:
        """Return the reply. Raises ContextOverflow at once; this may then be called again."""
        self._candidates, self._place, self._tries = self._run.candidates(), 0, 0
        self._failures.clear()
        while self._place < len(self._candidates):
            candidate = self._candidates[self._place]
            permit = candidate.health.begin()
            if permit is None:
                what = f"model {candidate.name}: not called, because its last calls failed"
                self._failures[candidate.name] = ModelUnavailable(what)
                self._next()
                continue
            try:
                reply = await self._call(candidate, permit)
            except ModelError as error:
                self._tries += 1
                wait_s = self._wait_s(candidate, error)
                is_last = isinstance(error, ContextOverflow) or self._exhausted(wait_s)
                self._failed(candidate, error, None if is_last else wait_s)
                if isinstance(error, ContextOverflow):
                    raise
            else:
                if self._repeats(candidate, reply):
                    continue
                return reply
            await self._run.keep()
            if is_last:
                break
            if wait_s is None:
                self._next()
            elif wait_s > 0:
                await self._clock.sleep(wait_s)
        raise _summed_up(list(self._failures.values()))

    def _repeats(self, candidate: Candidate, reply: ModelReply) -> bool:
        """Report an empty reply. Return whether to request it once more."""
        if reply.stop is not StopReason.END or reply.calls or reply.text.strip():
            return False
        repeats, self._may_repeat = self._may_repeat, False
        logger.warning("model.empty_reply model=%s again=%s", candidate.name, str(repeats).lower())
        tools = self._build(candidate).tools
        reason = texts.EMPTY_WITH_TOOLS if tools else texts.EMPTY_TEXT
        self._run.report(self._failure(candidate, reason, 0.0 if repeats else None))
        return repeats

    def _next(self) -> None:
        self._place += 1
        self._tries = 0

    async def _call(self, candidate: Candidate, permit: Permit) -> ModelReply:
        """Call a model, and record how it did however the call ends."""
        key = candidate.key
        self._made += 1
        try:
            told = None if self._tell is None else self._tell_people
            reply = await self._run.call(candidate, key, self._build, told, self._made)
        except ModelError as error:
            self._run.budget.spend(self._clock.monotonic_s() - permit.began_s)
            match error:
                case ModelUnavailable(retry_after_s=wished_s):
                    candidate.health.failed(permit, wished_s)
                    if isinstance(error, ModelRateLimited):
                        candidate.rest_key(key, wished_s or LIMITED_KEY_REST_S)
                case ModelReplyInvalid():
                    candidate.health.failed(permit)
                case _:
                    candidate.health.answered(permit)
                    _set_aside(candidate, key, error)
            raise
        except BaseException:
            candidate.health.left(permit)
            raise
        candidate.health.answered(permit)
        candidate.reported_fault = None
        return reply

    def _tell_people(self, delta: TextDelta) -> None:
        self._text_seen = True
        if self._tell is not None:
            self._tell(delta)

    def _exhausted(self, wait_s: float | None) -> bool:
        """Return whether there is no further attempt, at this model or another."""
        if self._text_seen:
            self._after_text += 1
        return self._after_text > MAX_AFTER_TEXT or not self._run.budget.allows(wait_s or 0.0)

    def _failed(self, candidate: Candidate, error: ModelError, retry_in_s: float | None) -> None:
        self._failures[candidate.name] = error
        reason = texts.failure_reason(error)
        self._run.failed(error, self._failure(candidate, reason, retry_in_s))

    def _failure(self, candidate: Candidate, reason: str, retry_in_s: float | None) -> CandidateFailed:
        place, total = self._place + 1, len(self._candidates)
        return CandidateFailed(candidate.provider, candidate.name, reason, place, total, retry_in_s)

    def _wait_s(self, candidate: Candidate, error: ModelError) -> float | None:
        """Return the wait before the same model is called again; None if another one is called instead."""
        if candidate.awake and _is_about_key(error):
            return 0.0
        if not isinstance(error, ModelUnavailable | ModelReplyInvalid):
            return None
        backoff_s = FIRST_WAIT_S * 2 ** (self._tries - 1) * self._run.models.uniform(1 - JITTER, 1 + JITTER)
        wished_s = error.retry_after_s if isinstance(error, ModelUnavailable) else None
        wait_s = max(backoff_s, wished_s or 0.0)
        if self._tries >= MAX_TRIES or wait_s > LONGEST_WAIT_S:
            return None
        others = self._place + 1 < len(self._candidates)
        spent = candidate.health.cooled or (self._text_seen and self._tries >= MAX_AFTER_TEXT)
        return None if others and (spent or wait_s > PATIENCE_S) else wait_s


def _is_about_key(error: ModelError) -> bool:
    """Return whether another key of the same model may help."""
    if isinstance(error, ModelMisconfigured):
        return error.fault in (ModelFault.KEY, ModelFault.CREDITS)
    return isinstance(error, ModelRateLimited)


def _set_aside(candidate: Candidate, key: int, error: ModelError) -> None:
    """Spare later runs a call that can't succeed before somebody acts."""
    if _is_about_key(error):
        candidate.rest_key(key, REJECTED_KEY_REST_S)
    elif isinstance(error, ModelMisconfigured):
        candidate.health.cool(LONGEST_COOLDOWN_S)


def _summed_up(failures: Sequence[ModelError]) -> ModelError:
    """Return one error for all models.

    It is retryable if any failure was; otherwise it is of the first failure's kind."""
    if len(failures) == 1:
        return failures[0]
    what = f"all {len(failures)} models failed: {'; '.join(str(failure) for failure in failures)}"
    transient = [failure for failure in failures if isinstance(failure, ModelUnavailable)]
    if transient:
        waits_s = [failure.retry_after_s for failure in transient if failure.retry_after_s is not None]
        return ModelUnavailable(what, min(waits_s) if len(waits_s) == len(transient) else None)
    first = next((one for one in failures if isinstance(one, ModelReplyInvalid)), failures[0])
    return (
        ModelMisconfigured(what, first.fault) if isinstance(first, ModelMisconfigured) else type(first)(what)
    )
