"""Runs of routines that go beyond one question: with tools called in a scope fixed when the run began, or as
full jobs. See core.runs.unattended.

A full job's run is linked to its job in the transaction that stores the job, and from then on no hub has it
in hand: it is running until the job is over. Its end is read from the job then, also after a restart.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from core.clock import Clock
from core.consent.rules import Autonomous, ScopeGrant
from core.errors import ToolDenied
from core.gates import ConsentSettings
from core.job import JobRow, JobState
from core.jobs.service import UNREACHABLE_TEXT, ContainerProbe, JobDispatcher, Readiness, RoutineWork
from core.lazy import dataclass
from core.messages import quoted
from core.routine import Definition, FullJob, Lightweight, Reminder, RunStatus
from core.routine_json import input_from_json
from core.routines import notices
from core.routines.definitions import definition_of, job_order, not_permitted, read_text
from core.routines.run import NOTHING, STATE, Asked, Performed, Told, read_reply, system_text, user_text
from core.runs.metering import DAY_COST_USED_UP, DAY_TOKENS_USED_UP, SpendingLimit
from core.runs.registry import Run
from core.runs.unattended import UnattendedRun, UnattendedServices, UnattendedStart, remarks_of
from core.runs.unseen_models import Outlook, UnseenRun, missing_grants, scope_of_job
from core.runs.workspace_texts import Skill, narrowed
from core.store.routine_rows import JobOfRun, RunSteps, StartedRun
from core.store.unattended_port import RoutineRuns
from core.store.units import patiently
from core.tools.pipeline import CallPipeline
from core.transcript import UserSaid
from core.users import Principal, TimeZones

# The scope of a run, fixed when it began.


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a run. `tools`: all its tools; `grants`: see core.routine.Lightweight; `rounds`: of
    calls. `only`: the tools that the run's skills leave it; None: all."""

    tools: tuple[str, ...]
    grants: tuple[str, ...]
    rounds: int
    only: frozenset[str] | None = None

    def under(self, skills: Sequence[Skill], unattended: Collection[str]) -> "Scope":
        """Return the scope without tools that the least trusted of the active skills may not use.

        `unattended`: the tools that need no approval."""
        only = narrowed(skills, unattended) if skills else None
        if only is None:
            return self
        return replace(self, only=only if self.only is None else only & self.only)

    @property
    def mode(self) -> Autonomous:
        """The mode its calls are judged in."""
        pairs = (grant.partition(" ") for grant in self.grants)
        grants = tuple(ScopeGrant(tool, pattern) for tool, _, pattern in pairs)
        return Autonomous((frozenset(self.tools),), grants, only=self.only)


def scope_of(action: Lightweight, unattended: Iterable[str]) -> Scope:
    """Return what a routine's action gives its runs. `unattended`: the tools it has without naming them."""
    tools = tuple(dict.fromkeys([*unattended, *action.allowed_tools]))
    return Scope(tools, action.grants, action.max_tool_rounds)


NO_TOOLS = Scope((), (), rounds=0)


def outlook_of(
    definition: Definition, pipeline: CallPipeline, owner: Principal, standing: ConsentSettings
) -> Outlook:
    """Return what runs of a routine would be refused now; the skills that its prompt activates may leave it
    less. `standing`: the owner's."""
    match definition.action:
        case Lightweight() as action:
            mode = (scope_of(action, pipeline.unattended(owner)) if action.use_tools else NO_TOOLS).mode
        case FullJob() as action:
            mode = scope_of_job(pipeline, owner, action.allowed_tools, action.grants)
        case Reminder():
            mode = NO_TOOLS.mode
    mode = replace(mode, left_out=standing.left_out)
    return Outlook(pipeline, owner, replace(standing, own=None), mode)


def scope_to_json(scope: Scope) -> str:
    """Return the scope as stored."""
    only = {} if scope.only is None else {"only": sorted(scope.only)}
    return json.dumps({"tools": scope.tools, "grants": scope.grants, "rounds": scope.rounds, **only})


def scope_from_json(text: str) -> Scope:
    """Read the output of `scope_to_json`."""
    kept = cast("Mapping[str, list[str]]", json.loads(text))
    only = frozenset(kept["only"]) if "only" in kept else None
    return Scope(tuple(kept["tools"]), tuple(kept["grants"]), int(cast("int", kept["rounds"])), only)


class _RoutineRun(UnattendedRun):
    """One start of a routine's run. `day`: what its routine may still use today."""

    def __init__(
        self, services: UnattendedServices, start: UnattendedStart, asked: Asked, day: SpendingLimit
    ) -> None:
        super().__init__(services, start)
        self._asked = asked
        self._day = day

    def _reserve(self, tokens: int) -> int:
        return self._day.reserve(tokens)

    def _prompt(self, with_tools: bool) -> str:
        return system_text(self._asked, with_tools=with_tools)


class ToolRuns:
    """Implementation of core.routines.run.ScopedTools."""

    def __init__(self, services: UnattendedServices) -> None:
        self._services = services

    async def begin(
        self, asked: Asked, started: StartedRun, owner: Principal, run: Run, models: UnseenRun
    ) -> UnattendedRun:
        """Return the run's conversation, at its beginning or at the interruption. Raises StoreError."""
        services, run_id = self._services, started.run.id
        needed = bool(asked.action.use_tools or asked.skills)
        unattended = services.pipeline.unattended(owner) if needed else frozenset[str]()
        steps = await services.store.journal.run_steps(run_id)
        if steps.scope is None:
            tools = asked.action.use_tools
            scope = scope_of(asked.action, unattended) if tools else NO_TOOLS
            scope = scope.under(asked.skills, unattended)
            question = UserSaid(user_text(asked))
            await patiently(
                lambda: services.store.journal.open_run_journal(run_id, scope_to_json(scope), question),
                services.clock,
            )
            steps = replace(steps, scope=scope_to_json(scope), said=(question,))
        standing = await services.store.journal.run_standing(run_id, owner.user_id, started.routine.thread_id)
        # Skills may have changed since an interruption.
        scope = scope_from_json(steps.scope or "").under(asked.skills, unattended)
        start = UnattendedStart(
            run,
            models,
            thread_of(started),
            owner,
            standing,
            steps,
            scope.mode,
            scope.rounds,
            definition_of(started.routine).guardrails.timeout_s,
            asked.action.max_tokens,
        )
        day = SpendingLimit(
            models.models.meter,
            started.left.tokens,
            started.left.micro_usd,
            over_tokens=DAY_TOKENS_USED_UP,
            over_money=DAY_COST_USED_UP,
        )
        return _RoutineRun(services, start, asked, day)

    async def missing_grants(self, started: StartedRun, owner: Principal, steps: RunSteps) -> tuple[str, ...]:
        """Return the grants whose absence denied calls."""
        if steps.scope is None:
            return ()
        services, mode = self._services, scope_from_json(steps.scope).mode
        standing = await services.store.journal.run_standing(
            started.run.id, owner.user_id, started.routine.thread_id
        )
        return missing_grants(services.pipeline, steps, owner, thread_of(started), standing, mode)


def thread_of(started: StartedRun) -> str:
    """Return the thread whose grants hold for a run, or a name for it."""
    return started.routine.thread_id or f"routine:{started.routine.id}"


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FullJobServices:
    """The services of full jobs. `dispatcher`: returns the maker of new jobs; None: there are none."""

    runs: RoutineRuns
    dispatcher: Callable[[], JobDispatcher | None]
    probe: ContainerProbe
    owner_of: Callable[[str], Awaitable[Principal | None]]
    timezones: TimeZones
    clock: Clock


class FullJobs:
    """Dispatches the jobs of runs, and reads the ends of runs from their jobs."""

    def __init__(self, services: FullJobServices) -> None:
        self._services = services

    async def dispatch(self, started: StartedRun, action: FullJob) -> JobRow:
        """Dispatch the job of a run; repeated, return the job it has. Raises HubError with the reason if
        there can be none, and StoreError."""
        services = self._services
        if await services.probe.readiness() is Readiness.UNREACHABLE:
            raise ToolDenied(UNREACHABLE_TEXT)
        owner = await services.owner_of(started.routine.owner_id)
        if owner is None:
            raise ToolDenied("the routine's owner is no longer a user of this hub")
        dispatcher = services.dispatcher()
        definition = read_text(started.routine.text.definition)
        if dispatcher is None:
            raise ToolDenied(notices.NO_JOBS)
        # The person who made it may have lost the right to.
        if problems := [*not_permitted(definition, owner, priced=True, jobs=dispatcher)]:
            raise ToolDenied(f"the owner no longer has permission for it: {problems[0].message}")
        new = dispatcher.for_routine(owner, await self._work(started, action, owner))
        job = await patiently(lambda: services.runs.dispatch_job(started.run.id, new), services.clock)
        logger.info("run.dispatched run=%s routine=%r job=%s", started.run.id, definition.name, job.id)
        return job

    async def _work(self, started: StartedRun, action: FullJob, owner: Principal) -> RoutineWork:
        name = started.routine.text.name
        prompt = (
            f"{action.description}\n\n"
            f"This is the work of the routine {quoted(name)}, which is set up already: "
            "do the work itself, and create no routines or jobs for it. If there is nothing to report, end "
            f"with exactly {NOTHING}."
        )
        if action.sandbox is None:
            prompt += (
                f" To remember something for the next run, end with a line {STATE} and "
                "put the text to remember below it; it is not sent."
            )
        asked = Asked(
            name=name,
            owner=owner.name,
            action=Lightweight(prompt),
            fired_by=input_from_json(started.run.input),
            files={},
            unreadable={},
            state=started.routine.state,
            now=self._services.clock.now(),
            timezone=await self._services.timezones.of(owner.user_id),
        )
        return RoutineWork(
            run_id=started.run.id,
            title=action.title,
            order=job_order(action, f"{action.description}\n\n(Job of the routine “{name}”)"),
            question=user_text(asked),
            iterations=action.max_iterations,
            left=started.left,
        )


def performed_by(ended: JobOfRun) -> Performed:
    """Return the end of a run whose job is over. Calls that its job was refused are remarks, as of any
    run."""
    job, remarks = ended.job, remarks_of(ended.steps)
    if job.state in {JobState.FAILED, JobState.CANCELLED}:
        why = job.reason.rstrip(".")
        text = "\n\n".join(filter(None, (f"{why}.", job.result or "")))
        spent = job.reason in {DAY_COST_USED_UP, DAY_TOKENS_USED_UP}
        return Performed(
            RunStatus.FAILED,
            text,
            None,
            out_of_budget=spent,
            remarks=remarks,
            missing_grants=job.missing_grants,
        )
    told = read_reply(job.result or "")
    if job.digest is not None:  # changes of a project wait for its owner, whatever the job said last
        told = Told(RunStatus.ATTENTION, (job.result or "").removeprefix(NOTHING).lstrip(), None)
    if told is None:
        return Performed(RunStatus.OK, "", None, remarks=remarks, missing_grants=job.missing_grants)
    return Performed(
        told.status,
        told.text,
        told.document,
        remarks=remarks,
        missing_grants=job.missing_grants,
        changes=job.digest is not None,
    )
