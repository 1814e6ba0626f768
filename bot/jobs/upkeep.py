"""The upkeep of containers: what each uses is recorded, accepted changes are made in their projects, and
leftovers are removed."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.config.load import Loaded
from bot.jobs.docker_engine import ContainerState, DockerEngine, DockerRefused, DockerUnreachable
from bot.jobs.job_socket import MAX_LOGGED, EgressBroker
from bot.tools import places_of
from core.clock import SECOND_US, Clock
from core.errors import StoreError, StoreUnavailable
from core.job import JobState
from core.ports import OutboxListener
from core.safety.paths import PathGuard, guard_of
from core.sandbox.disk import remove_tree, used_bytes, used_in_memory
from core.sandbox.hub_client import LOST, LOST_S
from core.sandbox.policy import HUB_LABEL, JOB_LABEL, ContainerPlaces, ContainerSettings
from core.sandbox.project import ChangesRefused, changes_from_json, take_over
from core.store.container_port import (
    AcceptedChanges,
    ContainerChanges,
    ContainerRecords,
    ContainerUse,
    EgressUse,
    UseSample,
)
from core.tool import Workspace
from core.tools.execution import ToolPause
from core.transcript import Said, ToolCalled, ToolResult

logger = logging.getLogger(__name__)

TIDY_EVERY_S = 300.0
AGAIN_AFTER_S = 1.0
MAX_SAMPLES = 120
"""Of a container. Once it has this many, every other one goes, and from then on half as many are taken."""
SAMPLE_EVERY_S = 2.0
KILLED, TERMINATED = 128 + signal.SIGKILL, 128 + signal.SIGTERM
STOPPED = (
    "It was stopped by itself, by hand, or by a Docker daemon that restarted without live-restore. Start the"
    " job again."
)
WORKED_ON = frozenset({JobState.PENDING, JobState.IN_PROGRESS, JobState.STUCK, JobState.COMPLETED})


def settings_of(loaded: Loaded, workspace: Workspace) -> ContainerSettings:
    """Return the configured limits of containers."""
    sandbox = loaded.config.sandbox
    return ContainerSettings(
        sandbox.enabled,
        sandbox.image,
        sandbox.memory_mb,
        sandbox.disk_mb,
        places_of(loaded),
        guard_of(workspace),
        sandbox.egress,
        sandbox.images,
    )


def reason_of_end(state: ContainerState, memory_mb: int, said: str) -> str:
    """Return why a job failed whose container ended in that state. `said`: the end of its output.

    Docker says that a container was out of memory also when only a command in it was: the worker's own end is
    known by its exit code. Under cgroup v2 it misses that of a container's first process; that is
    Docker's own small init, not the worker."""
    if state.exit_code == KILLED and state.out_of_memory:
        return f"Out of memory: the container used up its {memory_mb:,} MB."
    if state.exit_code == LOST:
        return f"The container reached no hub for {LOST_S / 60:.0f} minutes, and ended. Start the job again."
    hint = STOPPED if state.exit_code in {KILLED, TERMINATED} else ""
    return f"The container ended with exit code {state.exit_code}. {hint} {said}".strip()


def unknown_in(journal: Sequence[Said]) -> str:
    """Return the sentence about a call that was running when its container ended; empty without one."""
    ended = {one.call_id for one in journal if isinstance(one, ToolResult)}
    open_calls = [one for one in journal if isinstance(one, ToolCalled) and one.call_id not in ended]
    return f"How far {open_calls[0].tool} came is unknown." if open_calls else ""


async def taken_bytes(engine: DockerEngine, container_id: str, files: Path) -> int:
    """Return what a container takes of its disk: its files there, and those in memory. Where the latter can't
    be seen, they take all that they may. Raises DockerUnreachable."""
    on_disk, in_memory_bytes = await asyncio.to_thread(used_bytes, files), 0
    for _ in range(2):  # it may end between the questions
        state = await engine.state(container_id)
        if state is None or not state.running:
            return on_disk
        found = await asyncio.to_thread(used_in_memory, state.pid, container_id)
        if found is not None:
            return on_disk + found
        in_memory_bytes = state.in_memory_bytes
    return on_disk + in_memory_bytes


def used_of(stats: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return microseconds of processors and bytes of memory, without the cache of files, in what Docker says
    under cgroup v1 or v2; None once the container has ended."""
    memory: Mapping[str, Any] = stats.get("memory_stats") or {}
    details: Mapping[str, int] = memory.get("stats") or {}
    if not memory.get("usage"):
        return None
    # v1 has both, and there `inactive_file` leaves out the groups below.
    cached = details.get("total_inactive_file", details.get("inactive_file", 0))
    cpu_us = int(stats["cpu_stats"]["cpu_usage"]["total_usage"]) // 1_000
    return cpu_us, max(0, int(memory["usage"]) - cached)


class ContainerRecord:
    """The record of one job's container: its use over time and its connections, both bounded.

    It is saved with each sample: a hub that is killed loses what came after the last one."""

    def __init__(
        self,
        records: ContainerRecords,
        job_id: str,
        use: ContainerUse,
        clock: Clock,
        egress: EgressBroker | None,
    ) -> None:
        """Keep the parts. `use`: the limits."""
        self._records = records
        self._job_id = job_id
        self._use = use
        self._clock = clock
        self._egress = egress
        self._before: tuple[EgressUse, ...] = ()
        self._every_s = SAMPLE_EVERY_S
        self._due_s = 0.0
        self._sampling: asyncio.Task[None] | None = None

    @contextlib.asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Continue the record of an earlier hub, and save it once the job is done."""
        before = await self._records.use_of(self._job_id)
        if before is not None:
            self._use = replace(self._use, samples=before.samples)
            self._before = before.connections
            self._thin_out()
        await self._save()
        try:
            yield
        finally:
            if self._sampling is not None:
                self._sampling.cancel()
        with contextlib.suppress(StoreError):
            await self._save()

    def look(self, engine: DockerEngine, container_id: str, disk_bytes: int) -> None:
        """Begin to take a sample if it is time for one. A slow daemon delays nothing else."""
        now_s = self._clock.monotonic_s()
        if now_s >= self._due_s and (self._sampling is None or self._sampling.done()):
            self._due_s = now_s + self._every_s
            self._sampling = asyncio.create_task(
                self._sample(engine, container_id, disk_bytes), name="use of a container"
            )

    async def _sample(self, engine: DockerEngine, container_id: str, disk_bytes: int) -> None:
        with contextlib.suppress(DockerRefused, DockerUnreachable, StoreError):
            self.take(await engine.stats(container_id), disk_bytes)
            await self._save()

    def take(self, stats: Mapping[str, Any], disk_bytes: int) -> None:
        """Add a sample. `stats`: as Docker says them."""
        used = used_of(stats)
        if used is None:
            return  # it has ended
        sample = UseSample(self._clock.now(), *used, disk_bytes)
        self._use = replace(self._use, samples=(*self._use.samples, sample))
        self._thin_out()

    def _thin_out(self) -> None:
        samples = self._use.samples
        if len(samples) >= MAX_SAMPLES:
            samples = samples[::2]
            self._use = replace(self._use, samples=samples)
        if len(samples) > 1:
            apart_s = (samples[-1].at - samples[0].at) / SECOND_US / (len(samples) - 1)
            while self._every_s * 1.5 < apart_s:
                self._every_s *= 2

    async def _save(self) -> None:
        connections = {(one.target, one.refused): one for one in self._before}
        for key, one in (self._egress.log if self._egress is not None else {}).items():
            earlier = connections.pop(key, EgressUse(*key, 0, 0))
            counted = one.connections + earlier.connections, one.moved_bytes + earlier.moved_bytes
            connections[key] = EgressUse(*key, *counted)
        newest = tuple(connections.values())[-MAX_LOGGED:]
        await self._records.record_use(self._job_id, replace(self._use, connections=newest))


class PausedContainers:
    """The kill switch for jobs in containers: while tools are paused their containers are, too."""

    def __init__(
        self, engine: DockerEngine, pause: ToolPause, labels: Mapping[str, str], clock: Clock
    ) -> None:
        """Keep the parts. `labels`: of this hub's containers."""
        self._engine = engine
        self._pause = pause
        self._labels = labels
        self._clock = clock

    @contextlib.asynccontextmanager
    async def with_tools(self, job_id: str, limit: asyncio.Timeout) -> AsyncIterator[None]:
        """Pause a job's container whenever tools are paused within the context, and its time limit with it.
        One that an earlier hub left paused is unpaused if tools may run."""
        task = asyncio.create_task(self._follow(job_id, limit), name=f"pauses of job {job_id}")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @contextlib.asynccontextmanager
    async def started(self, job_id: str) -> AsyncIterator[None]:
        """Start a container within the context: not while tools are paused, and if they are paused before its
        end, the container is, too, before the pause is answered."""
        await self._pause.lifted()
        with self._pause.stops() as stop:
            yield
            if stop.done():
                await self._each(job_id, self._engine.pause)

    async def _follow(self, job_id: str, limit: asyncio.Timeout) -> None:
        loop = asyncio.get_running_loop()
        while True:
            with self._pause.stops() as stop:
                if not stop.done():
                    await self._each(job_id, self._engine.unpause)
                await stop
                await self._each(job_id, self._engine.pause)
            until_s, now_s = limit.when(), loop.time()
            limit.reschedule(None)
            await self._pause.lifted()
            limit.reschedule(None if until_s is None else until_s + loop.time() - now_s)

    async def _each(self, job_id: str, change: Callable[[str], Awaitable[None]]) -> None:
        """Change the job's container, once Docker can be reached; it refuses a change made already."""
        while True:
            try:
                for container_id in await self._engine.labelled({**self._labels, JOB_LABEL: job_id}):
                    with contextlib.suppress(DockerRefused):
                        await change(container_id)
            except DockerUnreachable:
                await self._clock.sleep(AGAIN_AFTER_S)
            else:
                return


class ContainerUpkeep:
    """The upkeep of containers. `guard`: of the workspace. `news`: set when jobs have changed."""

    def __init__(
        self,
        engine: DockerEngine,
        places: ContainerPlaces,
        guard: PathGuard,
        changes: ContainerChanges,
        listener: OutboxListener,
        clock: Clock,
    ) -> None:
        self._engine = engine
        self._places = places
        self._guard = guard
        self._changes = changes
        self._listener = listener
        self._clock = clock
        self.news = asyncio.Event()

    async def run(self) -> None:
        """Make accepted changes and remove leftovers, until cancelled."""
        tidied_s = -TIDY_EVERY_S
        while True:
            self.news.clear()
            try:
                for accepted in await self._changes.accepted_changes():
                    await self._make(accepted)
                if self._clock.monotonic_s() - tidied_s >= TIDY_EVERY_S:
                    tidied_s = self._clock.monotonic_s()
                    await self._tidy()
            except StoreUnavailable as error:
                logger.warning("container.look_failed error=%s", error)
            # Not wait_for, which in Python 3.11 loses a cancellation that comes with the news.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TIDY_EVERY_S):
                    await self.news.wait()

    async def _make(self, accepted: AcceptedChanges) -> None:
        """Make the changes that a person accepted in their project, all of them or none."""
        place, problem = self._places.of(accepted.number), None
        try:
            changes = changes_from_json(accepted.changes)
            if changes.digest != accepted.digest:
                raise ChangesRefused("the changes are not those that were accepted")
            project = self._places.workspace / accepted.project
            await asyncio.to_thread(take_over, changes, place / "project", project, self._guard)
        except (ChangesRefused, OSError) as error:
            problem = f"The changes were not made: {error}"
        settled = await self._changes.settle_changes(accepted.job_id, problem)
        self._listener.outbox_ready(tuple(settled))
        logger.info("container.changes_settled job=%s made=%s", accepted.job_id, problem is None)
        if problem is None:
            await asyncio.to_thread(remove_tree, place)

    async def _tidy(self) -> None:
        """Remove containers and copies of jobs that have ended. A job that works is never touched."""
        root = self._places.root
        try:
            found = await self._engine.labelled({HUB_LABEL: self._places.hub})
            places = sorted(root.iterdir()) if root.is_dir() else []
            # Read after them: what a job has begun to make meanwhile is not among them.
            states = await self._changes.container_states()
            working = {job_id for job_id, state in states.values() if state in WORKED_ON}
            for container_id, labels in found.items():
                if labels.get(JOB_LABEL) not in working:
                    logger.info("container.orphan_removed container=%s", container_id[:12])
                    await self._engine.remove(container_id)
            for place in places:
                if not place.name.isdecimal() or int(place.name) not in states:
                    await asyncio.to_thread(remove_tree, place)
        except (DockerUnreachable, DockerRefused) as error:
            logger.info("container.not_tidied error=%s", error)
