"""The manager of jobs in containers: it makes, starts, watches, collects and removes one container for each.

A container outlives the hub: the next one finds it by its labels and answers it. Leftovers are removed.
Nothing of such a job ever runs on the host.
"""

import asyncio
import contextlib
import logging
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from bot.jobs.docker_engine import (
    ContainerState,
    DockerEngine,
    DockerRefused,
    DockerUnreachable,
    PolicyViolated,
)
from bot.jobs.job_socket import EgressBroker, EgressTerms, serving
from bot.jobs.upkeep import (
    KILLED,
    ContainerRecord,
    ContainerUpkeep,
    PausedContainers,
    reason_of_end,
    taken_bytes,
    unknown_in,
)
from bot.jobs.worker_image import command_of, require_image
from core.clock import SECOND_US, Clock
from core.errors import HubError, ModelError, StaleTurn, StoreError
from core.events import NO_MODELS, ModelTrace
from core.job import JobLimits, JobState, RepairTerms
from core.jobs.notices import ended
from core.jobs.scheduler import JobScheduler
from core.jobs.service import JobOutcomes
from core.jobs.worker import JobWorker, left_of
from core.lazy import dataclass
from core.ports import OutboxListener
from core.runs.registry import Run, RunRegistry, RunSignals
from core.runs.unattended import partial_result
from core.runs.unseen_models import UnseenModels
from core.sandbox.disk import DiskLimit, quota_problem, remove_tree, used_bytes
from core.sandbox.orchestrator import JobSession, SessionServices, hash_of
from core.sandbox.policy import (
    HUB_LABEL,
    JOB_LABEL,
    MB,
    ContainerPolicy,
    ContainerSettings,
    ContainerUser,
    RootRefused,
    container_user,
)
from core.sandbox.project import (
    ChangesRefused,
    changes_between,
    copy_project,
    diff_of,
    result_of,
    summary_of,
)
from core.store.container_port import (
    ContainerEnd,
    ContainerJobs,
    ContainerUse,
    StartedContainer,
    StoredChanges,
)
from core.store.routine_rows import StartedJob, task_of
from core.store.unattended_port import JobEnd, JobEnded, Jobs
from core.store.units import committed, patiently
from core.tools.execution import ToolPause
from core.usage import CallKind, Payer
from core.users import TimeZones

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
DAEMON_GONE_S = 60.0
"""How long a job waits for a Docker daemon that went away."""
STARTS = 3
"""How often a container is made for a job whose worker has not asked for anything yet."""
LOG_LINES = 10
LATE_NEWS = 4
TIMED_OUT = "Execution timeout"
TURNED_OFF = "Jobs in containers are turned off; set [sandbox] enabled = true, or start it without --sandbox."
NO_SPACE = (
    "The disk of the hub has less than twice [sandbox] disk_mb free, so no container is started. Make room."
)


class ContainerFailed(HubError):
    """Error for a job whose container can't be made, or did not last; the text says why."""


@dataclass(frozen=True, slots=True)
class _Work:
    """One job at work. `user`: who owns the copy, if that is not the hub's own."""

    job: StartedContainer
    session: JobSession
    policy: ContainerPolicy
    place: Path
    owner: ContainerUser | None
    record: ContainerRecord

    @property
    def copy(self) -> Path:
        return self.place / "project"

    @property
    def base(self) -> Path:
        return self.place / "base"

    @property
    def sockets(self) -> Path:
        return self.place / "socket"


class ContainerJobManager:
    """Implements what core.jobs.scheduler asks of the jobs in containers: their claims and their work."""

    def __init__(
        self,
        engine: DockerEngine,
        settings: ContainerSettings,
        containers: ContainerJobs,
        jobs: Jobs,
        services: SessionServices,
        models: UnseenModels,
        timezones: TimeZones,
        ends: JobWorker,
        listener: OutboxListener,
        egress: EgressTerms | None,
        outcomes: JobOutcomes,
        pause: ToolPause,
    ) -> None:
        """Keep the parts. `ends`: knows when people hear of the end of a job."""
        self._outcomes = outcomes
        self._egress = egress
        self.engine = engine
        self._settings = settings
        self._containers = containers
        self._jobs = jobs
        self._services = services
        self._clock: Clock = services.clock
        self._models = models
        self._timezones = timezones
        self._ends = ends
        self._listener = listener
        self.upkeep = ContainerUpkeep(
            engine, settings.places, settings.guard, containers, listener, services.clock
        )
        self._labels = {HUB_LABEL: settings.places.hub}
        self._paused = PausedContainers(engine, pause, self._labels, services.clock)
        by_quota = quota_problem(settings.places.root) is None
        self._disk = DiskLimit(settings.disk_mb * MB, by_quota)

    # --- claims ----------------------------------------------------------------------------------------

    async def begin_jobs(self, limits: JobLimits) -> Sequence[StartedJob]:
        """Start pending jobs in containers while there are slots."""
        self.upkeep.news.set()  # it is called whenever jobs have changed
        if not self._settings.enabled:
            limits = JobLimits(1, 1)  # each fails, and says why
        return await self._containers.begin_container_jobs(limits)

    async def resume_job(self, job_id: str) -> StartedJob | None:
        """Go on with a job whose container an earlier hub left."""
        adopted = await self._containers.adopt_container_job(job_id)
        if adopted is None:
            await self._removed(job_id)
        return adopted

    async def stopped_jobs(self, job_ids: Sequence[str]) -> Sequence[str]:
        """Return those of the jobs that were asked to stop."""
        return await self._jobs.stopped_jobs(job_ids)

    # --- the work on one job ---------------------------------------------------------------------------

    async def work(self, started: StartedJob, run: Run) -> bool:
        """Carry a job out in its container until its end is recorded. Return True if it completed.

        Cancelled, it leaves the container as it is: the hub ends, or `close` follows. Raises StaleTurn,
        StoreError."""
        assert isinstance(started, StartedContainer)  # noqa: S101 - it claims no others
        job = started.job
        self._outcomes.begun(job.id, task_of(started))
        run.earlier = started.models
        payer = Payer(CallKind.JOB, job.id, job.owner_id, routine_id=job.routine_id)
        models = self._models.begin(run.report, payer, started.models.spent, run.keep, started.reserved)
        run.models = models.models
        zone = await self._timezones.of(job.owner_id)
        left = left_of(started, models.models.meter)
        session = JobSession(self._services, started, run, models, left, zone, self._settings.egress)
        terms = self._egress
        egress = None if terms is None else EgressBroker(job.id, terms, self._outcomes.reached)
        left_s = max(0.0, job.budget.timeout_s - started.spent_us / SECOND_US)
        failed = JobState.FAILED
        try:
            work = self._work_of(started, session, egress)
            await session.recall()
            async with serving(session, work.sockets, work.owner, egress), work.record.kept():
                try:
                    async with asyncio.timeout(left_s) as limit, self._paused.with_tools(job.id, limit):
                        await self._watched(work)
                finally:
                    session.close()
            await self._removed(job.id)
            if session.failure is not None:
                raise session.failure
        except TimeoutError:
            await self._failed(job.id, ((JobState.STUCK, TIMED_OUT), (failed, TIMED_OUT)), session, run)
        except (StaleTurn, StoreError):
            raise
        except (HubError, DockerUnreachable, DockerRefused, PolicyViolated, RootRefused, OSError) as error:
            reason = f"The model did not answer: {error}" if isinstance(error, ModelError) else str(error)
            logger.warning("container.failed job=%s error=%s", job.id, reason)
            await self._failed(job.id, ((failed, reason),), session, run)
        except Exception:
            logger.exception("container.unexpected_error job=%s", job.id)
            reason = f"Something went wrong in the hub. The operator can find it in the log under {job.id}."
            await self._failed(job.id, ((failed, reason),), session, run)
        else:
            await self._completed(work, run)
            return True
        return False

    async def close(self, started: StartedJob, run: Run, left_running: str | None) -> None:
        """End a job that was cancelled: its container first, then its journal."""
        del left_running
        await self._removed(started.job.id)
        await self._end(started.job.id, ((JobState.CANCELLED, ""),), "", run.trace())
        await self._forgotten(started)

    async def repair(self, started: StartedJob, run: Run, reason: str, most: int) -> StartedJob | None:
        """End a stuck job: what its container did cannot be taken up again by another."""
        del most
        await self._removed(started.job.id)
        path = ((JobState.STUCK, reason), (JobState.FAILED, reason))
        await self._end(started.job.id, path, partial_result(started.steps.said), run.trace())
        return None

    async def set_aside(self, job_id: str, reason: str) -> None:
        """End a job that crashed the hub repeatedly."""
        await self._removed(job_id)
        await self._end(job_id, ((JobState.FAILED, reason),), "", NO_MODELS)

    def _work_of(self, job: StartedContainer, session: JobSession, egress: EgressBroker | None) -> _Work:
        hub_uid, hub_gid = os.geteuid(), os.getegid()
        user = container_user(hub_uid, hub_gid, job.row.number)
        place = self._settings.places.of(job.row.number)
        policy = ContainerPolicy(
            job.row.image or self._settings.image,
            user,
            self._settings.memory_mb,
            place / "project",
            place / "socket",
            egress=self._settings.egress,
        )
        limits = (policy.image, policy.memory_mb, self._settings.disk_mb, policy.cpus, policy.pids)
        use = ContainerUse(*limits, tuple(policy.egress))
        record = ContainerRecord(self._containers, job.job.id, use, self._clock, egress)
        return _Work(job, session, policy, place, None if hub_uid else user, record)

    async def _watched(self, work: _Work) -> None:
        """Return once the worker said that its work is done, or the job failed. Raises ContainerFailed,
        ProjectRefused, DockerRefused, DockerUnreachable, PolicyViolated."""
        over = work.session.over
        container_id = None if over.is_set() else await self._ready(work)
        starts, gone_s, now_s = 1, 0.0, asyncio.get_running_loop().time
        look_at_s = now_s()
        while not over.is_set() and container_id is not None:
            look_at_s = max(look_at_s + LOOK_EVERY_S, now_s())  # however long a look takes
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(look_at_s):
                    await over.wait()
            if over.is_set():
                return
            try:
                state = await self.engine.state(container_id)
                await self._require_room(work, container_id)
            except DockerUnreachable:
                gone_s += LOOK_EVERY_S
                if gone_s > DAEMON_GONE_S:
                    raise
                continue
            gone_s = 0.0
            if (state is not None and state.running) or over.is_set():
                continue
            if work.session.begun or starts >= STARTS:
                why = await self._why(container_id, state)
                raise ContainerFailed(f"{why} {unknown_in(work.session.journal)}".strip())
            starts += 1
            container_id = await self._made(work)

    async def _require_room(self, work: _Work, container_id: str) -> None:
        used = await taken_bytes(self.engine, container_id, work.copy)
        work.record.look(self.engine, container_id, used)
        if used > self._disk.limit_bytes:
            with contextlib.suppress(DockerRefused):
                await self.engine.pause(container_id)
            raise ContainerFailed(f"disk limit: the container wrote more than {self._settings.disk_mb:,} MB")

    async def _why(self, container_id: str, state: ContainerState | None) -> str:
        """Return why a container ended before its job was done."""
        for _ in range(LATE_NEWS):  # Docker may hear of the end before it hears of its cause
            if state is None or state.exit_code != KILLED or state.out_of_memory:
                break
            await self._clock.sleep(LOOK_EVERY_S / 2)
            state = await self.engine.state(container_id)
        if state is None:
            return "The container was removed by someone else."
        said = await self.engine.last_output(container_id, LOG_LINES)
        clean = self._services.leaks.redacted(said)[-1_000:]
        return reason_of_end(state, self._settings.memory_mb, clean)

    # --- making containers -----------------------------------------------------------------------------

    async def _ready(self, work: _Work) -> str:
        """Return the container of a job: the one that an earlier hub left, or a new one."""
        found = await self._of_job(work.job.job.id)
        if work.session.begun:
            if not found:
                raise ContainerFailed("The container is gone; it was removed while no hub watched it.")
            logger.info("container.adopted job=%s container=%s", work.job.job.id, found[0][:12])
            return found[0]
        if len(found) == 1 and work.job.row.token_hash is not None:
            state = await self.engine.state(found[0])
            if state is not None and state.running:
                return found[0]
        return await self._made(work)

    async def _made(self, work: _Work) -> str:
        """Make a container that nothing of an earlier one is left of, and start it."""
        job_id, settings, image = work.job.job.id, self._settings, work.policy.image
        if not settings.enabled:
            raise ContainerFailed(TURNED_OFF)
        if image not in (settings.image, *settings.images):
            raise ContainerFailed(f"The image {image} is no longer one of [sandbox] images.")
        await self._removed(job_id)
        await self.engine.probe()
        await require_image(self.engine, image, work.job.row.mode)
        free = os.statvfs(settings.places.data_dir)
        if free.f_bavail * free.f_frsize < 2 * settings.disk_mb * MB:
            raise ContainerFailed(NO_SPACE)
        source = settings.places.workspace / work.job.row.project
        await asyncio.to_thread(
            copy_project, source, work.copy, work.base, self._disk, settings.guard, work.owner
        )
        left_bytes = self._disk.limit_bytes - await asyncio.to_thread(used_bytes, work.copy)
        policy, labels = work.policy.within(left_bytes), {**self._labels, JOB_LABEL: job_id}
        async with self._paused.started(job_id):
            container_id = await self.engine.create(policy, command_of(work.job.row.mode), labels)
            token = secrets.token_hex(32)
            await patiently(lambda: self._containers.arm_container(job_id, hash_of(token)), self._clock)
            work.session.armed(hash_of(token))
            await self.engine.start(container_id, f"{token}\n".encode())
        logger.info("container.started job=%s container=%s", job_id, container_id[:12])
        return container_id

    async def _of_job(self, job_id: str) -> list[str]:
        return list(await self.engine.labelled({**self._labels, JOB_LABEL: job_id}))

    async def _removed(self, job_id: str) -> None:
        """Remove a job's container. One at a daemon that is away is removed once it is back."""
        try:
            for container_id in await self._of_job(job_id):
                await self.engine.remove(container_id)
        except (DockerUnreachable, DockerRefused) as error:
            logger.warning("container.not_removed job=%s error=%s", job_id, error)

    # --- ends ------------------------------------------------------------------------------------------

    async def _completed(self, work: _Work, run: Run) -> None:
        """Collect what the container changed, and end the job with it."""
        job, session = work.job.job, work.session
        path = [(JobState.COMPLETED, "Completed")]
        try:
            changes = await asyncio.to_thread(changes_between, work.base, work.copy)
            shown = await asyncio.to_thread(diff_of, changes, work.base, work.copy)
            diff = await asyncio.to_thread(self._services.leaks.redacted, shown)
        except (ChangesRefused, OSError) as error:
            reason = f"The changes could not be collected: {error}"
            await self._failed(job.id, ((JobState.FAILED, reason),), session, run)
            return
        if changes.files:
            path.append((JobState.SUBMITTED, "Its changes wait for its owner"))
        result = self._services.leaks.redacted(result_of(session.last_words, changes, diff, job.short_id))
        listed = "\n".join(summary_of(changes))
        kept = StoredChanges(changes.to_json(), changes.digest, diff, listed) if changes.files else None
        await self._end(job.id, tuple(path), result, run.trace(), kept)
        if not changes.files:
            await self._forgotten(work.job)

    async def _failed(
        self, job_id: str, path: tuple[tuple[JobState, str], ...], session: JobSession, run: Run
    ) -> None:
        await self._removed(job_id)
        await self._end(job_id, path, partial_result(session.journal), run.trace())

    async def _end(
        self,
        job_id: str,
        path: tuple[tuple[JobState, str], ...],
        result: str,
        models: ModelTrace,
        changes: StoredChanges | None = None,
    ) -> None:
        end = ContainerEnd(self._ends.held(JobEnd(path, ended, models, result=result or None)), changes)

        def stored(done: JobEnded) -> None:
            self._outcomes.ended(job_id, end)
            self._listener.outbox_ready(done.outbox)

        await committed(
            patiently(lambda: self._containers.end_container_job(job_id, end), self._clock), stored
        )

    async def _forgotten(self, job: StartedJob) -> None:
        assert isinstance(job, StartedContainer)  # noqa: S101 - it claims no others
        await asyncio.to_thread(remove_tree, self._settings.places.of(job.row.number))


class ContainerEngine(JobScheduler):
    """The engine of jobs in containers."""

    def __init__(
        self,
        manager: ContainerJobManager,
        registry: RunRegistry,
        signals: RunSignals,
        clock: Clock,
        limits: JobLimits,
        repair: RepairTerms,
    ) -> None:
        super().__init__(manager, manager, registry, signals, clock, limits, repair)
        self._manager = manager

    async def run(self) -> None:
        """Carry out jobs, accepted changes, and the removal of leftovers, until cancelled."""
        async with self._manager.engine, asyncio.TaskGroup() as group:
            group.create_task(self._manager.upkeep.run(), name="changes and leftovers of containers")
            group.create_task(super().run(), name="jobs in containers")
