"""People's messages, asked about between the moment they are taken and the moment a turn takes them.

A message is kept and acknowledged as ever, and then waits in the store until hooks have spoken; over a
restart, too. Credentials were taken out of it before, and commands are no input, so that no hook is shown
any. Words that answer a question are asked about when the turn that asked goes on, see points.AnswerHooks.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from core.clock import Clock
from core.conversation.judging import ALBUM_WAIT_US
from core.errors import StoreUnavailable
from core.hooks.chain import Chain, Passed, Rejected
from core.hooks.values import HookEvent, Point
from core.messages import plain
from core.ports import OutboxListener
from core.store.base import Store
from core.store.hooking import HeldInput

MOST_AT_ONCE = 32
AGAIN_S = 5.0
REFUSED = "I did not take your message: {reason}"

logger = logging.getLogger(__name__)


class Starts(Protocol):
    """See core.gathering.AlbumGathering.expect."""

    def expect(self, thread_id: str, due_us: int) -> None:
        """Start what waits in the thread then."""
        ...


class InboundHooks:
    """Asks about what waits, and lets it go on."""

    def __init__(
        self, chain: Chain, store: Store, starts: Starts, listener: OutboxListener, clock: Clock
    ) -> None:
        self._chain = chain
        self._store = store
        self._starts = starts
        self._listener = listener
        self._clock = clock
        self._some = asyncio.Event()

    def wake(self) -> None:
        """A message waits. Never blocks and never fails."""
        self._some.set()

    async def run(self) -> None:
        """Until cancelled; begins with what waited when the hub ended."""
        while True:
            self._some.clear()
            try:
                held = await self._store.held_inputs(MOST_AT_ONCE)
                well = await self._all(held)
            except StoreUnavailable:  # said by the store already; what waits goes on waiting
                well = False
                held = ()
            if not well:
                await self._clock.sleep(AGAIN_S)
            elif not held:
                await self._some.wait()

    async def _all(self, held: Sequence[HeldInput]) -> bool:
        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(self._asked(one), name=f"hooks about message {one.id}") for one in held
            ]
        return all(task.result() for task in asked)

    async def _asked(self, held: HeldInput) -> bool:
        try:
            await self._ask(held)
        except StoreUnavailable:
            return False
        except Exception:  # a defect met by one message: the others go on
            logger.exception("hooks could not be asked about message %d", held.id)
            return False
        return True

    async def _ask(self, held: HeldInput) -> None:
        event = HookEvent(
            Point.BEFORE_INBOUND,
            text=held.text,
            user_id=held.user_id,
            thread_id=held.thread_id,
            channel=held.channel,
        )
        match await self._chain.judge(event):
            case Passed(told):
                due_us = await self._store.release_input(held, told.text, album_wait_us=ALBUM_WAIT_US)
                if due_us is not None:
                    self._starts.expect(held.thread_id, due_us)
            case Rejected(hook, reason):
                logger.info("message %d goes no further: hook %s", held.id, hook)
                outcome = f"refused: by the hook {hook}"
                told_row = await self._store.refuse_input(held, outcome, plain(REFUSED.format(reason=reason)))
                self._listener.outbox_ready(told_row)
