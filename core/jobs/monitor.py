"""The monitor of jobs: it keeps the message that shows each one up to date.

The newest state is what counts: a change that was not sent yet is replaced by the next. Senders send these
changes seldom, and after everything else (see `OutboxRow.paced`).

It also sends the messages about ends once the quiet hours that held them back are over.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from core.clock import Clock
from core.errors import StoreUnavailable
from core.jobs import notices
from core.store.units import committed

if TYPE_CHECKING:
    from core.ports import OutboxListener
    from core.store.feed import Changes
    from core.store.job_port import JobMonitors
    from core.timers import Timers

logger = logging.getLogger(__name__)

CHANGE_EVERY_S = 3.0
"""The minimum time between two changes of one job's message."""
NOTICES = "jobs.notices"
"""The timer of messages that quiet hours hold back."""


class JobMonitor:
    """Implements core.store.feed.ChangeListener."""

    def __init__(
        self, monitors: "JobMonitors", listener: "OutboxListener", clock: Clock, timers: "Timers"
    ) -> None:
        self._monitors = monitors
        self._listener = listener
        self._clock = clock
        self._timers = timers
        self._watched: set[str] = set()
        self._changed: set[str] = set()
        self._met = False
        self._news = asyncio.Event()
        self._news.set()

    def changed(self, changes: "Changes") -> None:
        # A job's id is also that of the thread with its journal.
        self._watched |= changes.jobs
        self._changed |= changes.jobs | (changes.threads & self._watched)
        if self._changed:
            self._news.set()

    async def run(self) -> None:
        """Show the jobs until cancelled, first those that an earlier hub left out of date."""
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                try:
                    await self._show()
                    await self._tell_held()
                except StoreUnavailable as error:
                    logger.warning("job.show_failed error=%s", error)
                    self._news.set()
                await self._clock.sleep(CHANGE_EVERY_S)
        finally:
            self._timers.cancel(NOTICES)

    async def _tell_held(self) -> None:
        """Send the messages whose quiet hours are over, and come back for the next one."""
        now, due_at = self._clock.now(), await self._monitors.next_job_notice()
        if due_at is not None and due_at <= now:
            await committed(self._monitors.send_job_notices(now), self._listener.outbox_ready)
            due_at = await self._monitors.next_job_notice()
        if due_at is not None:
            self._timers.at(NOTICES, due_at, self._wake)

    async def _wake(self) -> None:
        self._news.set()

    async def _show(self) -> None:
        if not self._met:
            self._watched.update(left := await self._monitors.jobs_to_show())
            self._changed.update(left)
            self._met = True
        changed, self._changed = self._changed, set()
        try:
            shown = await self._monitors.show_jobs(tuple(changed), notices.progress)
        except StoreUnavailable:
            self._changed |= changed
            raise
        self._watched -= shown.over - self._changed
        if shown.later:
            self._changed |= shown.later
            self._news.set()
        self._listener.outbox_ready(shown.outbox)
