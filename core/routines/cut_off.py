"""Runs that a dead hub left: each goes on after its last kept step, or has ended."""

import logging
from collections.abc import Awaitable, Callable

from core.routine_run import RunStatus
from core.routines import texts
from core.routines.lightweight import Performed
from core.store.base import Store
from core.store.routines import RoutineRunRow, StartedRun
from core.store.rows import CallState
from core.tool import ProcessInfo

logger = logging.getLogger(__name__)

MOST_ATTEMPTS = 3
"""A run at which the hub ended so often is not started again, whatever its policy says."""

EndProcess = Callable[[ProcessInfo, str], Awaitable[bool]]
"""Ends what is left of a call's child (the second argument is the call id); returns when it is gone."""


class CutOffRuns:
    """Looks after them at the start. `finish` records a run's end."""

    def __init__(
        self,
        store: Store,
        end_process: EndProcess,
        finish: Callable[[StartedRun, Performed], Awaitable[None]],
    ) -> None:
        self._store = store
        self._end_process = end_process
        self._finish = finish

    async def settle(self) -> None:
        """All of them, before anything else runs."""
        for left in await self._store.lapsed_runs(None):
            await self._end_children(left.run)
            await self._settle(left)

    async def _end_children(self, run: RoutineRunRow) -> None:
        """A surviving child must not act any more once its call is said to be over."""
        for call in (await self._store.run_steps(run.id)).calls:
            if (
                call.state is CallState.RUNNING
                and call.process is not None
                and await self._end_process(call.process, call.call_id)
            ):
                logger.warning("ended what was left of call %s", call.call_id)

    async def _settle(self, left: StartedRun) -> None:
        run, name = left.run, left.routine.text.name
        spent = run.spent
        if run.attempts >= MOST_ATTEMPTS:
            performed = Performed(RunStatus.FAILED, texts.crashed_repeatedly(run.attempts), None, spent)
        elif left.routine.text.reruns and await self._store.requeue_run(run.id):
            logger.info("run %s of routine %s was cut off and goes on", run.id, name)
            return
        else:
            performed = Performed(RunStatus.INTERRUPTED, texts.interrupted(), None, spent)
        logger.warning("run %s of routine %s was cut off: %s", run.id, name, performed.status)
        await self._finish(left, performed)
