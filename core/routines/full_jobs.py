"""Full jobs: runs of routines whose work a job does.

The run is linked to its job in the transaction that stores the job, and from then on no hub has it in hand:
it is running until the job is over. Its end is read from the job then, also after a restart.
"""

import logging
from collections.abc import Awaitable, Callable

from core.clock import Clock
from core.errors import ToolDenied
from core.job import WORKER, JobRow, JobState
from core.jobs.dispatch import UNREACHABLE_TEXT, ContainerProbe, JobDispatcher, Readiness, RoutineWork
from core.lazy_dataclass import dataclass
from core.names import quoted
from core.routine import FullJob, Lightweight, RunStatus
from core.routine_json import input_from_json
from core.routines import notices
from core.routines.definitions import not_permitted, read_text
from core.routines.run import NOTHING, STATE, Asked, Performed, Told, read_reply, user_text
from core.runs.metering import DAY_COST_USED_UP, DAY_TOKENS_USED_UP
from core.runs.unattended import remarks_of
from core.store.routine_port import RoutineRuns
from core.store.routine_rows import JobOfRun, StartedRun
from core.store.units import patiently
from core.timezones import TimeZones
from core.users import Principal

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
            task=f"{action.description}\n\n(Job of the routine “{name}”)",
            question=user_text(asked),
            iterations=action.max_iterations,
            tools=action.allowed_tools,
            left=started.left,
            project=action.sandbox,
            mode=action.mode or WORKER,
            image=action.image,
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
