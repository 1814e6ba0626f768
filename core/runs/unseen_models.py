"""Replies for runs without a person: routines, summaries.

Nothing is shown while a reply is written. Credentials are also removed from what the model reads, because
files and trigger data may contain some.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from core.events import NOTHING_SPENT, FailuresSpent
from core.model.base import ModelReply, ModelRequest
from core.off_loop import off_loop
from core.runs.attempts import Keep, Report, RunModels, unkept
from core.runs.model_list import Candidate, ModelList
from core.runs.services import ReplyHook
from core.safety.leaks import LeakDetector
from core.transcript import UserSaid
from core.usage import Payer, Reservation


class UnseenModels:
    """The models for runs without a person."""

    def __init__(self, models: ModelList, leaks: LeakDetector, hook: ReplyHook | None = None) -> None:
        self._models = models
        self._leaks = leaks
        self._hook = hook

    def begin(
        self,
        report: Report,
        payer: Payer,
        earlier: FailuresSpent = NOTHING_SPENT,
        keep: Keep = unkept,
        held: Reservation | None = None,
    ) -> "UnseenRun":
        """Return the models of one run; see RunModels and Metering."""
        meter = self._models.metering.run(payer, held)
        models = RunModels(self._models, self._leaks, report, meter, earlier, keep)
        return UnseenRun(models, self._leaks, self._hook, self._models.temperature)


class UnseenRun:
    """The models of one run without a person."""

    def __init__(
        self, models: RunModels, leaks: LeakDetector, hook: ReplyHook | None, temperature: float | None
    ) -> None:
        self.models = models
        self._temperature = temperature
        self._leaks = leaks
        self._hook = hook

    def of_subtask(self, held: Reservation | None) -> "UnseenRun":
        """Return the models of a subtask of the run. `held`: the reservation of its first call, if any."""
        models = self.models.of_subtask()
        models.meter.hold(held)
        return UnseenRun(models, self._leaks, self._hook, self._temperature)

    async def reply(
        self, request: ModelRequest, reserve: Callable[[int], int] = lambda tokens: tokens
    ) -> ModelReply:
        """Return a whole reply, without credentials and as hooks change it. Raises ModelError.

        A temperature of the request's own holds instead of the configured one.
        `reserve`: called before each attempt with the tokens a reply may take; returns how many it may,
        or raises."""
        chars = len(request.system) + sum(len(one.text) for one in _said(request))
        clean = await off_loop(chars, lambda: self._without_credentials(request))

        def build(candidate: Candidate) -> ModelRequest:
            del candidate
            most = reserve(clean.max_output_tokens)
            own = request.temperature
            return replace(
                clean, max_output_tokens=most, temperature=self._temperature if own is None else own
            )

        reply = await self.models.reply(build, None)
        if self._hook is None or not reply.text.strip():
            return reply
        return replace(reply, text=await self._hook.transformed(reply.text, None, None))

    def _without_credentials(self, request: ModelRequest) -> ModelRequest:
        said = tuple(
            replace(one, text=self._leaks.redacted(one.text)) if isinstance(one, UserSaid) else one
            for one in request.conversation
        )
        return replace(request, system=self._leaks.redacted(request.system), conversation=said)


def _said(request: ModelRequest) -> Iterator[UserSaid]:
    return (one for one in request.conversation if isinstance(one, UserSaid))
