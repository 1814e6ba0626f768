"""A supervisor that keeps one channel receiving and tracks its state."""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from channels.channel import Channel
from core.clock import SECOND_US, Clock
from core.errors import AuthRejected, HubError, RateLimited
from core.ports import Inbox

logger = logging.getLogger(__name__)

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0

AGAIN = "; not retried: set its secret in the vault, or run `hubbub config reload`"


class Phase(StrEnum):
    """The state of a channel."""

    STARTING = "starting"
    RUNNING = "running"
    BACKING_OFF = "backing off"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ChannelState:
    """The phase of a channel, with times in microseconds UTC.

    `since`: the start of the phase.
    `reason`: its cause, or while running a remaining problem.
    `until`: the end of the pause while backing off.
    `failures`: consecutive failures since the channel last ran for a while."""

    phase: Phase
    since: int
    reason: str | None = None
    until: int | None = None
    failures: int = 0


class Supervisor:
    """A runner that restarts one channel after pauses of 1 s to 60 s with jitter, until its token is
    rejected."""

    def __init__(
        self,
        channel: Channel,
        clock: Clock,
        entered: Callable[[], None] = lambda: None,
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._entered = entered
        self._failures = 0
        self.state = ChannelState(Phase.STARTING, clock.now())

    async def run(self, inbox: Inbox) -> None:
        """Run the channel until cancelled (state `stopped`) or until its token is rejected (`failed`)."""
        try:
            while True:
                self._enter(Phase.STARTING)
                began_s = self._clock.monotonic_s()
                try:
                    reason, least_s = await self._receive(inbox)
                except AuthRejected as error:
                    self.fail(str(error))
                    return
                _heed_cancellation()
                lasted_s = self._clock.monotonic_s() - began_s
                self._failures = 1 if lasted_s > LONGEST_PAUSE_S else self._failures + 1
                await self._pause(self._failures, reason, least_s)
        finally:
            if self.state.phase is not Phase.FAILED:
                self._enter(Phase.STOPPED)

    def fail(self, reason: str) -> None:
        """Record that the platform rejects the token. Callers that learn of it report it here; only a person
        can help."""
        self._enter(Phase.FAILED, reason)

    async def _receive(self, inbox: Inbox) -> tuple[str, float]:
        """Run the channel once. Returns why it ended and how long the platform asks us to wait."""
        try:
            await self._channel.run(inbox, self._connected)
        except AuthRejected:
            raise
        except RateLimited as error:
            return str(error), error.retry_after_s
        except HubError as error:
            return str(error), 0
        except Exception:  # one adapter's defect must not stop the others
            logger.exception("channel.crashed channel=%s", self._channel.name)
            return "unexpected error; see the log", 0
        return "it stopped without an error", 0

    async def _pause(self, failures: int, reason: str, least_s: float) -> None:
        longest_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(failures - 1, 16))
        pause_s = max(FIRST_PAUSE_S, least_s, longest_s * (1 - 0.3 * random.random()))
        self._enter(Phase.BACKING_OFF, reason, until=self._clock.now() + int(pause_s * SECOND_US))
        await self._clock.sleep(pause_s)

    def _connected(self, remark: str | None = None) -> None:
        if self.state.phase is not Phase.RUNNING:
            self._enter(Phase.RUNNING, remark)

    def _enter(self, phase: Phase, reason: str | None = None, until: int | None = None) -> None:
        self.state = ChannelState(phase, self._clock.now(), reason, until, self._failures)
        level = logging.INFO if reason is None or phase is Phase.STOPPED else logging.WARNING
        told = f" reason={reason}" if reason else ""
        advice = AGAIN if phase is Phase.FAILED else ""
        now = phase.name.lower()
        logger.log(
            level, "channel.phase_changed channel=%s phase=%s%s%s", self._channel.name, now, told, advice
        )
        self._entered()


def _heed_cancellation() -> None:
    """Raise CancelledError if this task was cancelled. A task group that fails during cancellation raises
    only the failure."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
