"""Runs without a person: the replies of their models, and the calls that were refused for want of a grant.

Nothing is shown while a reply is written. Credentials are also removed from what the model reads, because
files and trigger data may contain some.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from core.consent.card_texts import grants_offered
from core.consent.cards import as_seen
from core.consent.rules import Autonomous, Deny, Mode, ScopeGrant
from core.errors import ToolNotFound
from core.events import NOTHING_SPENT, FailuresSpent
from core.gates import ConsentSettings
from core.lazy import dataclass
from core.messages import Block, Code, Plain
from core.model.base import ModelReply, ModelRequest
from core.off_loop import off_loop
from core.runs.attempts import Keep, Report, RunModels, unkept
from core.runs.model_list import Candidate, ModelList
from core.runs.services import ReplyHook
from core.safety.leaks import LeakDetector
from core.store.routine_rows import RunSteps
from core.store.rows import CallRow, CallState
from core.tool import Effect
from core.tools.pipeline import CallPipeline
from core.tools.registry import Ready, Refused
from core.transcript import ResultStatus, ToolResult, UserSaid
from core.usage import Payer, Reservation
from core.users import Principal, Role


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


def missing_grants(
    pipeline: CallPipeline,
    steps: RunSteps,
    owner: Principal,
    thread_id: str,
    standing: ConsentSettings,
    mode: Mode,
) -> tuple[str, ...]:
    """Return the grants whose absence denied calls of a run, each a tool's name, a space and a pattern, if
    its owner may grant them. The calls are judged again, so that a crash loses none."""
    if owner.role is not Role.OWNER:
        return ()
    denied = {
        said.call_id
        for said in steps.said
        if isinstance(said, ToolResult) and said.status is ResultStatus.DENIED
    }
    missing: dict[str, None] = {}
    for call in steps.calls:
        if call.call_id in denied:
            prepared = pipeline.prepare(call, owner, thread_id, standing, mode)
            if isinstance(prepared, Refused):
                missing |= dict.fromkeys(f"{call.tool} {pattern}" for pattern in prepared.grants)
    return tuple(missing)


def missing_blocks(missing: Sequence[str], heading: str, too_long: str) -> tuple[Block, ...]:
    """Return the part of a notice that shows missing grants, each in full. `too_long`: said if some don't
    fit."""
    offered = grants_offered(missing)
    shown = (Plain(heading), *(Code(as_seen(grant)) for grant in offered)) if offered else ()
    return (*shown, Plain(too_long)) if len(offered) < len(missing) else shown


# What a run would be refused, before it runs.


class Outcome(StrEnum):
    """The expected outcome of calls. SOME: it depends on their arguments."""

    RUNS = "runs"
    SOME = "some"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Expected:
    """The forecast for a tool, a grant, or a call. `about`: as it was given; `grants`: each a tool's name, a
    space and a pattern; together they would allow exactly this call."""

    about: str
    outcome: Outcome
    why: str = ""
    grants: tuple[str, ...] = ()


RATED = "calls that always need a person's approval are refused unless a grant covers exactly them"
GRANTED_ONLY = "only the calls that its grants cover run"
NO_EFFECT = "the grant has no effect: no unattended run can use {tool}"


def scope_of_job(
    pipeline: CallPipeline, owner: Principal, tools: Sequence[str], grants: Sequence[str] = ()
) -> Autonomous:
    """Return the mode of a job that is given those tools and grants by name."""
    scope = frozenset([*pipeline.unattended(owner), *tools])
    pairs = (grant.partition(" ") for grant in grants)
    own = tuple(ScopeGrant(tool, pattern) for tool, _, pattern in pairs)
    return Autonomous((scope,), own, worker=pipeline.workable(owner))


class Outlook:
    """The forecast for an unattended run of a person. Nothing runs."""

    def __init__(
        self, pipeline: CallPipeline, owner: Principal, standing: ConsentSettings, mode: Autonomous
    ) -> None:
        self._pipeline = pipeline
        self._owner = owner
        self._standing = standing
        self._mode = mode

    def of_tool(self, name: str) -> Expected:
        """Judge a tool of the run's scope."""
        try:
            decision = self._pipeline.judged(name, self._owner, self._standing, self._mode)
            rated = self._pipeline.rates(name)
        except ToolNotFound as error:
            return Expected(name, Outcome.REFUSED, str(error))
        if not isinstance(decision, Deny):
            return Expected(name, Outcome.SOME, RATED) if rated else Expected(name, Outcome.RUNS)
        if name in self._pipeline.workable(self._owner) and any(
            grant.tool == name for grant in self._mode.grants
        ):
            return Expected(name, Outcome.SOME, GRANTED_ONLY)
        return Expected(name, Outcome.REFUSED, decision.text)

    def of_grant(self, grant: str) -> Expected:
        """Judge a grant of the run."""
        tool = grant.partition(" ")[0]
        if tool in self._pipeline.workable(self._owner):
            return Expected(grant, Outcome.RUNS)
        return Expected(grant, Outcome.REFUSED, NO_EFFECT.format(tool=tool))

    def of_call(self, written: str) -> Expected:
        """Judge a call: a tool's name, a space, and its arguments as JSON. A tool with one required argument
        may be given that alone: `shell make test`."""
        tool, _, given = written.partition(" ")
        arguments = given
        if not given.lstrip().startswith("{"):
            try:
                names = self._pipeline.required(tool)
            except ToolNotFound as error:
                return Expected(written, Outcome.REFUSED, str(error))
            if len(names) != 1:
                return Expected(written, Outcome.REFUSED, f"write the arguments of {tool} as JSON")
            arguments = json.dumps({names[0]: given})
        call = CallRow("", "", 0, tool, arguments, CallState.INTENT, Effect.NONE)
        prepared = self._pipeline.prepare(call, self._owner, "", self._standing, self._mode)
        match prepared:
            case Ready():
                return Expected(written, Outcome.RUNS)
            case Refused(result, _, grants):
                needed = tuple(f"{tool} {pattern}" for pattern in grants)
                return Expected(written, Outcome.REFUSED, result.text, needed)
            case _:
                return Expected(written, Outcome.REFUSED, "it needs a person, and no one attends the run")
