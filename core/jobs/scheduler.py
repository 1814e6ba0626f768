"""The scheduler of jobs: it starts waiting ones while there are slots, and brings each to its end.

What waits is in the store, so that a look that is late or made twice loses and repeats nothing.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.clock import Clock
from core.errors import StaleTurn, StoreUnavailable
from core.events import RunKind, RunResult
from core.job import JobLimits, RepairTerms
from core.jobs.notices import in_words
from core.off_loop import LeftRunning
from core.runs.registry import Pulse, Run, RunRegistry, RunSignals
from core.store.routine_rows import StartedJob
from core.store.rows import UnfinishedRun

logger = logging.getLogger(__name__)

REPAIR_EVERY_S = 30.0
"""The interval between two looks at what the jobs are waiting for."""
AGAIN_S = 5.0
"""The wait after a look that failed because the store could not be written."""


class Claims(Protocol):
    """The store's units by which jobs of a kind come into this hub's hand; see `Jobs`."""

    async def begin_jobs(self, limits: JobLimits) -> Sequence[StartedJob]: ...

    async def resume_job(self, job_id: str) -> StartedJob | None: ...

    async def stopped_jobs(self, job_ids: Sequence[str]) -> Sequence[str]: ...


class Worker(Protocol):
    """What carries such jobs out; see core.jobs.worker.JobWorker."""

    async def work(self, started: StartedJob, run: Run) -> bool: ...

    async def close(self, started: StartedJob, run: Run, left_running: str | None) -> None: ...

    async def repair(self, started: StartedJob, run: Run, reason: str, most: int) -> StartedJob | None: ...

    async def set_aside(self, job_id: str, reason: str) -> None: ...


class ClaimedWork(Claims, Worker, Protocol):
    """Both in one."""


@dataclass(slots=True)
class _InHand:
    """A job that runs, or is about to. `stuck`: why its work is stopped to be taken up again."""

    ended: asyncio.Event
    task: asyncio.Task[None] | None = None
    stopping: bool = False
    pulse: Pulse | None = None
    stuck: str | None = None


class JobScheduler:
    """Implementation of core.jobs.service.Engine."""

    def __init__(
        self,
        jobs: Claims,
        worker: Worker,
        registry: RunRegistry,
        signals: RunSignals,
        clock: Clock,
        limits: JobLimits,
        repair: RepairTerms,
    ) -> None:
        self._jobs = jobs
        self._worker = worker
        self._registry = registry
        self._signals = signals
        self._clock = clock
        self._limits = limits
        self._repair = repair
        self._resumed: list[StartedJob] = []
        self._in_hand: dict[str, _InHand] = {}

    async def run(self) -> None:
        """Start and stop jobs until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look_after(), name="repair of jobs")
            while True:
                try:
                    await self._look(group)
                except StoreUnavailable as error:
                    logger.warning("job.look_failed error=%s", error)
                    await self._clock.sleep(AGAIN_S)
                    continue
                await self._signals.something()

    async def _look(self, group: asyncio.TaskGroup) -> None:
        """End the cancelled jobs, and start those whose turn it is. Raises StoreUnavailable."""
        for job_id in await self._jobs.stopped_jobs(tuple(self._in_hand)):
            self._stop(job_id)
        begun = await self._jobs.begin_jobs(self._limits)
        resumed, self._resumed = self._resumed, []
        for started in (*resumed, *begun):
            job_id = started.job.id
            held = self._in_hand.setdefault(job_id, _InHand(asyncio.Event()))
            held.task = group.create_task(self._carry_out(started, held), name=f"job {job_id}")

    def _stop(self, job_id: str) -> None:
        held = self._in_hand.get(job_id)
        if held is not None and held.task is not None and not held.stopping:
            held.stopping = True
            held.task.cancel()

    # --- jobs that a hub left --------------------------------------------------------------------------

    async def resume(self, run: UnfinishedRun) -> None:
        started = await self._jobs.resume_job(run.run_id)
        if started is not None:
            logger.info("job.resumed job=%s", run.run_id)
            self._in_hand[run.run_id] = _InHand(asyncio.Event())
            self._resumed.append(started)

    async def join(self, run: UnfinishedRun, timeout_s: float) -> None:
        held = self._in_hand.get(run.run_id)
        if held is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await held.ended.wait()

    async def set_aside(self, run: UnfinishedRun) -> None:
        logger.error("job.set_aside job=%s crashes=%d", run.run_id, run.crashes)
        reason = f"The hub crashed {run.crashes} times during this job, so it will not be started again."
        await self._worker.set_aside(run.run_id, reason)

    def unfinished(self) -> Sequence[str]:
        return tuple(self._in_hand)

    # --- jobs that are stuck ---------------------------------------------------------------------------

    async def _look_after(self) -> None:
        """Stop the work of jobs that show no life, until cancelled."""
        while True:
            await self._clock.sleep(REPAIR_EVERY_S)
            for job_id, held in tuple(self._in_hand.items()):
                reason = None if held.pulse is None else _stuck(held.pulse, self._repair)
                if reason is None or held.task is None or held.stopping or held.stuck is not None:
                    continue
                logger.warning("job.stuck job=%s reason=%r", job_id, reason)
                held.stuck = reason
                held.task.cancel()

    # --- running ---------------------------------------------------------------------------------------

    async def _carry_out(self, started: StartedJob, held: _InHand) -> None:
        job_id = started.job.id
        try:
            with self._registry.running(job_id, started.consent_thread, RunKind.JOB) as run:
                run.pulse = held.pulse = Pulse(self._clock)
                again = await self._work(started, held, run)
        except Exception:
            # The task's boundary: if even recording the end fails, the job is found when the lease ends.
            logger.exception("job.crashed job=%s", job_id)
        else:
            if again is not None:
                held.task = held.pulse = held.stuck = None
                self._resumed.append(again)
                return
            self._in_hand.pop(job_id, None)
            held.ended.set()
        finally:
            self._signals.wake()

    async def _work(self, started: StartedJob, held: _InHand, run: Run) -> StartedJob | None:
        """Work on a job. Return it if it is to be taken up again."""
        try:
            well = await self._worker.work(started, run)
        except StaleTurn:
            held.stopping = True  # it is ending already
            await self._worker.close(started, run, None)
            return None
        except asyncio.CancelledError as error:
            if not held.stopping and held.stuck is None:
                raise
            _forget_cancellation()
            left_running = error.tool if isinstance(error, LeftRunning) else None
            if held.stopping or held.stuck is None:
                await self._worker.close(started, run, left_running)
                return None
            if left_running is not None:
                logger.warning("job.left_running job=%s tool=%s", started.job.id, left_running)
            return await self._worker.repair(started, run, held.stuck, self._repair.most)
        run.result = RunResult.SUCCESS if well else RunResult.FINAL
        await self._registry.report_faults(run, said=False)
        logger.info("job.finished job=%s completed=%s", started.job.id, well)
        return None


def _stuck(pulse: Pulse, terms: RepairTerms) -> str | None:
    """Return why a job is stuck; None if it is not."""
    silence = pulse.silence()
    if silence is None:
        return None
    may_take_s = terms.model_silence_s if silence.tool is None else silence.limit_s
    limit_s = may_take_s + terms.after_s
    if silence.seconds < limit_s:
        return None
    awaited = "its model" if silence.tool is None else silence.tool
    return f"No sign of life from {awaited} for {in_words(int(limit_s))}"


def _forget_cancellation() -> None:
    """Clear the task's cancellations. They were meant for the job's work, which is over."""
    task = asyncio.current_task()
    while task is not None and task.uncancel():
        pass
