"""The upkeep of containers: accepted changes are made in their projects, and leftovers are removed."""

import asyncio
import contextlib
import logging

from bot.jobs.docker_engine import DockerEngine, DockerRefused, DockerUnreachable
from core.clock import Clock
from core.errors import StoreUnavailable
from core.job import JobState
from core.ports import OutboxListener
from core.safety.paths import PathGuard
from core.sandbox.policy import HUB_LABEL, JOB_LABEL, ContainerPlaces
from core.sandbox.project import ChangesRefused, changes_from_json, remove_tree, take_over
from core.store.container_port import AcceptedChanges, ContainerJobs

logger = logging.getLogger(__name__)

TIDY_EVERY_S = 300.0
WORKED_ON = frozenset({JobState.PENDING, JobState.IN_PROGRESS, JobState.STUCK, JobState.COMPLETED})


class ContainerUpkeep:
    """The upkeep of containers. `guard`: of the workspace. `news`: set when jobs have changed."""

    def __init__(
        self,
        engine: DockerEngine,
        places: ContainerPlaces,
        guard: PathGuard,
        containers: ContainerJobs,
        listener: OutboxListener,
        clock: Clock,
    ) -> None:
        self._engine = engine
        self._places = places
        self._guard = guard
        self._containers = containers
        self._listener = listener
        self._clock = clock
        self.news = asyncio.Event()

    async def run(self) -> None:
        """Make accepted changes and remove leftovers, until cancelled."""
        tidied_s = -TIDY_EVERY_S
        while True:
            self.news.clear()
            try:
                for accepted in await self._containers.accepted_changes():
                    await self._make(accepted)
                if self._clock.monotonic_s() - tidied_s >= TIDY_EVERY_S:
                    tidied_s = self._clock.monotonic_s()
                    await self._tidy()
            except StoreUnavailable as error:
                logger.warning("container.look_failed error=%s", error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.news.wait(), TIDY_EVERY_S)

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
        settled = await self._containers.settle_changes(accepted.job_id, problem)
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
            states = await self._containers.container_states()
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
