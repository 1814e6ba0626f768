"""The worker of jobs: it carries each one out, until its last words or a limit.

A message that came too late for the last words keeps the job at work.

A job may begin with a plan, which is one reply of the model. Each of its steps is journalled and judged as
any call; the next one is known by the calls in the journal. A person's message ends the plan. After the last
step one question decides whether the job is done; if it isn't, the usual rounds go on.
"""

import asyncio
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import replace

from core.clock import SECOND_US
from core.consent.rules import Autonomous
from core.errors import HubError, ModelError, StaleTurn, StoreError
from core.events import NO_MODELS, ModelTrace
from core.job import MAX_ITERATIONS, MAX_PLAN_STEPS, JobPlan, JobState, PlanState
from core.jobs.job_run import (
    FINISH,
    MAX_OUTPUT_TOKENS,
    JobRun,
    JobTerms,
    UnusablePlan,
    granted_to,
    read_plan,
)
from core.jobs.notices import ended
from core.lazy import dataclass
from core.messages import File, quoted
from core.model.base import CallRequest, ModelReply, ModelRequest, ToolSpec
from core.ports import OutboxListener
from core.routine import QuietHours
from core.runs.metering import DAY_COST_USED_UP, DAY_TOKENS_USED_UP, RunMeter, SpendingLimit
from core.runs.registry import Run
from core.runs.unattended import UnattendedServices, UnattendedStart, partial_result
from core.runs.unseen_models import UnseenModels, UnseenRun, missing_grants
from core.safety.fencing import FENCE_RULE
from core.store.routine_rows import StartedJob
from core.store.unattended_port import JobEnd
from core.store.units import committed, patiently
from core.transcript import AssistantSaid, Note, Origin, ToolCalled, in_call_order
from core.usage import MICRO_USD, NOTHING_USED, CallKind, Payer
from core.users import TimeZones, timezone_in_force, told_at

TEMPERATURE = 0.3
PLAN_TOKENS = 2048
ORIGIN = Origin("hub", "plan")
"""The origin of what the hub says in the model's place."""
WORDS_ONLY = "No usable plan, working without one: {reason}"
UNFINISHED = "Plan completed but job needs more work, continuing…"

ASK_PLAN = """Answer with a plan for this job as one JSON object and nothing else:
{"goal": "what the job is to achieve", "actions": [{"tool": "NAME", "parameters": {}, "reasoning": "why"}], \
"confidence": 0.8}
The actions run in order, each exactly as written; no result is seen in between. Use only the listed tools. \
confidence is between 0 and 1. If the job needs no tools, or later calls depend on earlier results, list \
only the actions that are certain, or none."""
ASK_COMPLETION = (
    "Every step of the plan was made. If the whole job is done, call finish with the result. If not, list "
    "only what is left to do, in words."
)


class PlannedRun(JobRun):
    """One start of a job that has a plan, or may begin with one."""

    def __init__(
        self,
        services: UnattendedServices,
        start: UnattendedStart,
        terms: JobTerms,
        *,
        plans: bool,
    ) -> None:
        """Keep the parts. `plans`: a job that has no plan is asked for one."""
        super().__init__(services, start, terms)
        job = terms.job
        self._plan = job.plan if job.plan_state is PlanState.RUNNING else None
        begun = any(isinstance(one, AssistantSaid) for one in start.steps.said)
        self._asks = plans and job.plan_state is None and not begun

    async def join_input(self) -> bool:
        joined = await super().join_input()
        if joined:  # the same transaction has ended it
            self._plan = self._models.models.meter.plan_step = None
        return joined

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        planned = await self._planned() if with_tools else None
        return planned or await super().call_model(with_tools=with_tools)

    async def _planned(self) -> ModelReply | None:
        """Return the next step of the plan as a reply, or the last words after it; None without a plan."""
        if self._asks:
            self._asks = False
            await self._judge_anew()
            await self._make_plan()
            await self.join_input()
        if self._plan is None:
            return None
        made = sum(isinstance(one, ToolCalled) for one in self._said)
        if made >= len(self._plan.steps):
            return await self._completion()
        await self._judge_anew()
        meter = self._models.models.meter
        meter.hold(self._calls.take_reserved())  # given back with the step
        meter.plan_step = str(made + 1)
        step = self._plan.steps[made]
        call = CallRequest("", step.tool, step.arguments, step.reasoning)
        return ModelReply("", (call,), NOTHING_USED, ORIGIN)

    # --- the plan --------------------------------------------------------------------------------------

    async def _make_plan(self) -> None:
        pipeline, owner = self._services.pipeline, self._start.owner
        tools = pipeline.offered(owner, self._standing.disabled, self._mode)
        try:
            reply = await self._ask(
                "plan",
                ModelRequest(
                    system=self._planner(tools),
                    conversation=(*in_call_order(self._said), Note(ASK_PLAN)),
                    max_output_tokens=PLAN_TOKENS,
                    temperature=TEMPERATURE,
                ),
            )
            if reply.truncated:
                raise UnusablePlan("it is too long")
            plan = read_plan(reply.text)
            self._require_runnable(plan, {tool.name for tool in tools})
        except ModelError:
            await self._end_plan(WORDS_ONLY.format(reason="the model did not answer"))
        except UnusablePlan as error:
            await self._end_plan(WORDS_ONLY.format(reason=error))
        else:
            said, jobs, models = (
                AssistantSaid(_shown(plan), ORIGIN),
                self._services.store.jobs,
                self._run.trace(),
            )
            await patiently(
                lambda: jobs.begin_plan(self._start.run_id, plan, said, models), self._services.clock
            )
            self._run.kept(models)
            self._said.append(said)
            self._plan = plan

    def _require_runnable(self, plan: JobPlan, offered: set[str]) -> None:
        for step in plan.steps:
            if step.tool not in offered:
                raise UnusablePlan(f"{quoted(step.tool[:64])} is not available to this job")
        # The rounds after the last step are for the question whether the job is done.
        most = min(MAX_PLAN_STEPS, self._start.rounds - 1)
        if not plan.steps:
            raise UnusablePlan("it has no steps")
        if len(plan.steps) > most:
            raise UnusablePlan(f"it has {len(plan.steps)} steps, and at most {most} are allowed")

    async def _completion(self) -> ModelReply | None:
        """Ask whether the job is done after its plan. Return its last words; None if work is left."""
        reply = await self._ask(
            "check",
            ModelRequest(
                system=self._prompt(True),
                conversation=(*in_call_order(self._said), Note(ASK_COMPLETION)),
                tools=(FINISH,),
                max_output_tokens=MAX_OUTPUT_TOKENS,
            ),
        )
        self._offered = False
        if {call.tool for call in reply.calls} == {FINISH.name}:
            return self._ending(reply)
        if not reply.calls and not reply.truncated and says_complete(reply.text):
            return reply
        left = reply.text.strip() or "see what the results show."
        await self._end_plan(UNFINISHED, Note(f"Remaining work: {left}"))
        return None

    async def _ask(self, step: str, request: ModelRequest) -> ModelReply:
        meter = self._models.models.meter
        meter.hold(self._calls.take_reserved())
        meter.plan_step = step
        try:
            return await self._models.reply(request, self._reserve)
        finally:
            meter.plan_step = None

    async def _end_plan(self, status: str, note: Note | None = None) -> None:
        self._plan = self._models.models.meter.plan_step = None
        jobs, models = self._services.store.jobs, self._run.trace()
        await patiently(lambda: jobs.end_plan(self._start.run_id, status, models, note), self._services.clock)
        self._run.kept(models)
        if note is not None:
            self._said.append(note)

    def _planner(self, tools: Sequence[ToolSpec]) -> str:
        owner = quoted(self._start.owner.name)
        listed = "\n".join(
            f"- {tool.name}: {tool.description} Parameters: {json.dumps(dict(tool.parameters))}"
            for tool in tools
        )
        alone = (
            f"You are planning a job for {owner}, which you will carry out by yourself, in the background. "
            "There is no one to answer questions or to approve anything."
        )
        return f"{alone} {FENCE_RULE}\n\nTools:\n{listed}"


def _shown(plan: JobPlan) -> str:
    steps = [f"{number}. {step.tool}: {step.reasoning}" for number, step in enumerate(plan.steps, start=1)]
    return "\n".join([f"Plan: {plan.goal}", f"Confidence: {plan.confidence:.0%}", *steps])


_UNDONE = re.compile(
    r"\b(?:not|isn.t|aren.t|never|un|hasn.t|haven.t)(?: (?:yet|been|be|fully|all|entirely))*[ -]?"
    r"(?:complete|completed|done|finished)\b"
    r"|\bincomplete\b|\bnot yet\b|\bonce\b|\bwhen\b|\bstill\b|\bremain(?:s|ing)?\b|\bexcept\b",
)
_DONE = re.compile(
    r"\b(?:job|task|work|everything|all(?: the)? (?:steps|tasks)) (?:is|are|was|were|has been|have been)"
    r"(?: now| all| fully)? (?:complete|completed|done|finished)\b"
    r"|\b(?:i have|i.ve|have) (?:successfully |now )?(?:completed|finished)\b"
    r"|\bsuccessfully completed\b|\ball done\b",
)


def says_complete(text: str) -> bool:
    """Return whether a reply clearly says that the whole job is done. Any doubt in it counts as no."""
    said = " ".join(text.lower().split())
    return _DONE.search(said) is not None and _UNDONE.search(said) is None


logger = logging.getLogger(__name__)

TIMED_OUT = "Execution timeout"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a job's work: the states it goes through, with reasons, its words and its files."""

    path: tuple[tuple[JobState, str], ...]
    result: str
    answer: AssistantSaid | None = None
    files: tuple[File, ...] = ()


CANCELLED = Outcome(((JobState.CANCELLED, ""),), "")
"""The outcome of a job that was cancelled already: only its journal is closed."""


class JobWorker:
    """Carries out jobs that were started, each to its one recorded end."""

    def __init__(
        self,
        services: UnattendedServices,
        models: UnseenModels,
        timezones: TimeZones,
        listener: OutboxListener,
        quiet_hours: QuietHours | None,
        *,
        plans: bool = False,
        reviews_doubts: bool = False,
    ) -> None:
        """Keep the parts. `plans`: a new job begins with a plan.
        `reviews_doubts`: a result that is in doubt is submitted."""
        self._services = services
        self._models = models
        self._timezones = timezones
        self._listener = listener
        self._plans = plans
        self._reviews_doubts = reviews_doubts
        self._quiet_hours = quiet_hours

    async def work(self, started: StartedJob, run: Run) -> bool:
        """Work on a job until its end is recorded. Return True if it completed. Raises StaleTurn if it was
        stopped, and StoreError."""
        job = started.job
        run.earlier = started.models
        payer = Payer(CallKind.JOB, job.id, job.owner_id, routine_id=job.routine_id)
        models = self._models.begin(run.report, payer, started.models.spent, run.keep, started.reserved)
        run.models = models.models
        if run.pulse is not None:
            run.models.meter.alive = run.pulse.beat
        scope = self._scope_of(started)
        terms = JobTerms(
            job, left_of(started, models.models.meter), scope, await self._timezones.of(job.owner_id)
        )
        doing = PlannedRun(self._services, _start_of(started, run, models, scope), terms, plans=self._plans)

        async def end(outcome: Outcome) -> bool:
            missing = await self._missing_grants(started)
            return await self._end(job.id, outcome, run.trace(), missing)

        left_s = max(0.0, job.budget.timeout_s - started.spent_us / SECOND_US)
        try:
            async with asyncio.timeout(left_s):
                reply = await doing.reply()
                while not await end(await self._completed(reply, doing, review=job.review)):
                    doing.heard(reply)
                    reply = await doing.reply()
        except TimeoutError:
            path = ((JobState.STUCK, TIMED_OUT), (JobState.FAILED, TIMED_OUT))
            await end(Outcome(path, doing.partial()))
        except (StaleTurn, StoreError):
            raise
        except HubError as error:
            reason = f"The model did not answer: {error}" if isinstance(error, ModelError) else str(error)
            await end(Outcome(((JobState.FAILED, reason),), doing.partial()))
        except Exception:
            logger.exception("job.unexpected_error job=%s", job.id)
            reason = f"Something went wrong in the hub. The operator can find it in the log under {job.id}."
            await end(Outcome(((JobState.FAILED, reason),), doing.partial()))
        else:
            return True
        return False

    async def close(self, started: StartedJob, run: Run, left_running: str | None) -> None:
        """Close the journal of a job that was cancelled. `left_running`: a tool that could not be ended."""
        if left_running is not None:
            logger.warning("job.left_running job=%s tool=%s", started.job.id, left_running)
        await self._end(started.job.id, CANCELLED, run.trace())

    async def repair(self, started: StartedJob, run: Run, reason: str, most: int) -> StartedJob | None:
        """Take a stuck job up again after its last recorded step, at most `most` times; then it has failed
        with what it has by now. Return None if it has ended."""
        job_id, store, clock = started.job.id, self._services.store, self._services.clock
        steps = await patiently(lambda: store.journal.run_steps(job_id), clock)
        path = ((JobState.STUCK, reason), (JobState.FAILED, f"{reason}, after {most} repairs"))
        missing = await self._missing_grants(started)
        end = self.held(
            JobEnd(path, ended, run.trace(), result=partial_result(steps.said), missing_grants=missing)
        )
        repaired = await patiently(lambda: store.jobs.repair_job(job_id, end, most), clock)
        self._listener.outbox_ready(repaired.outbox)
        return repaired.again

    async def set_aside(self, job_id: str, reason: str) -> None:
        """Record that a job is not started again."""
        await self._end(job_id, Outcome(((JobState.FAILED, reason),), ""), NO_MODELS)

    async def _completed(self, reply: ModelReply, doing: JobRun, *, review: bool) -> Outcome:
        files, refused = await doing.artifacts()
        text = "\n\n".join([reply.text.strip() or "Done.", *refused])
        path = [(JobState.COMPLETED, "Completed")]
        if review or (self._reviews_doubts and doing.in_doubt):
            path.append((JobState.SUBMITTED, "Waits for its owner"))
        return Outcome(tuple(path), text, AssistantSaid(text, reply.origin), files)

    async def _missing_grants(self, started: StartedJob) -> tuple[str, ...]:
        """Return the grants that refused calls of a job lacked, by what it has now."""
        job, services = started.job, self._services
        journal, clock = services.store.journal, services.clock
        steps = await patiently(lambda: journal.run_steps(job.id), clock)
        standing = await patiently(lambda: journal.run_standing(job.id, job.owner_id, job.thread_id), clock)
        mode = self._scope_of(replace(started, standing=standing))
        return missing_grants(services.pipeline, steps, started.owner, started.consent_thread, standing, mode)

    def _scope_of(self, started: StartedJob) -> Autonomous:
        scope, workable = frozenset(started.job.scope), self._services.pipeline.workable(started.owner)
        return Autonomous((scope,), granted_to(started.standing), worker=workable)

    async def _end(
        self, job_id: str, outcome: Outcome, models: ModelTrace, missing: tuple[str, ...] = ()
    ) -> bool:
        """Record the end; return False if a message of a person keeps the job at work."""
        end = self.held(
            JobEnd(
                outcome.path,
                ended,
                models,
                outcome.answer,
                outcome.result or None,
                hears=outcome.answer is not None,
                files=outcome.files,
                missing_grants=missing,
            )
        )
        store, clock = self._services.store, self._services.clock
        recorded = await committed(
            patiently(lambda: store.jobs.end_job(job_id, end), clock),
            lambda done: self._listener.outbox_ready(done.outbox),
        )
        return not recorded.heard

    def held(self, end: JobEnd) -> JobEnd:
        """Return the end of a job, which is told once quiet hours are over."""
        return end if self._quiet_hours is None else replace(end, told_at=self._told_at)

    def _told_at(self, chosen: str | None) -> int:
        """Return when an end that is recorded now is told to an owner who chose that time zone."""
        zone = timezone_in_force(chosen, self._timezones.default)
        return told_at(self._quiet_hours, self._services.clock.now(), zone)


def _start_of(started: StartedJob, run: Run, models: UnseenRun, scope: Autonomous) -> UnattendedStart:
    job = started.job
    return UnattendedStart(
        run,
        models,
        started.consent_thread,
        started.owner,
        started.standing,
        started.steps,
        scope,
        min(job.budget.iterations, MAX_ITERATIONS),
        job.budget.timeout_s,
        MAX_OUTPUT_TOKENS,
        started.spent_us,
    )


def left_of(started: StartedJob, meter: RunMeter) -> tuple[SpendingLimit, ...]:
    """Return the rest of a job's own budget, and of its routine's for the day."""
    budget = started.job.budget

    def limit(tokens: int | None, micro_usd: int | None, over_tokens: str, over_money: str) -> SpendingLimit:
        return SpendingLimit(
            meter,
            None if tokens is None else tokens - started.used_tokens,
            None if micro_usd is None else micro_usd - started.used_micro_usd,
            over_tokens=over_tokens,
            over_money=over_money,
        )

    own = limit(
        budget.tokens,
        budget.micro_usd,
        f"Token budget of {budget.tokens} exceeded",
        f"Cost budget of ${(budget.micro_usd or 0) / MICRO_USD:,.2f} exceeded",
    )
    return own, limit(budget.day_tokens, budget.day_micro_usd, DAY_TOKENS_USED_UP, DAY_COST_USED_UP)
