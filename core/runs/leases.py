"""A hub's lease while it runs: renewed in time, the work of hubs taken over whose lease has lapsed, and the
hub's own work that nobody was told of."""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

from core.errors import StaleTurn
from core.ids import Ids
from core.ports import OutboxRow
from core.runs.actors import ThreadActors
from core.runs.recovery import Recovered, RunRecovery
from core.store.lease import Leases
from core.store.port import TurnRecovery

logger = logging.getLogger(__name__)


class LeaseKeeper:
    """Implementation of a hub's side of leases.

    `sending`: called with previews that an ended hub left, once its messages are to be read from the store.
    `routines`: settles the routine runs that no hub has in hand.
    `lost`: finds the work of this hub that nobody was told of.
    """

    def __init__(
        self,
        leases: Leases,
        recovery: RunRecovery,
        sending: Callable[[Sequence[OutboxRow]], None],
        routines: Callable[[], Awaitable[None]],
        lost: "LostWakes",
    ) -> None:
        self._leases = leases
        self._recovery = recovery
        self._sending = sending
        self._routines = routines
        self._lost = lost

    async def renew(self) -> None:
        """Renew the lease. Raises LeaseLost."""
        await self._leases.renew_lease()

    async def look(self) -> None:
        """Take over what hubs with lapsed leases had in hand, and do what was left lying here. Raises
        StoreUnavailable."""
        recovered = await self._take_over() if await self._leases.has_lapsed() else None
        await self._lost.look()
        if recovered is not None:
            await self._recovery.start_suspects(recovered)

    async def _take_over(self) -> Recovered:
        logger.warning("lease.taking_over")
        recovered = await self._recovery.recover()
        self._sending(recovered.previews)
        await self._routines()
        return recovered


class LostWakes:
    """A search for work of this hub that its store has and that nobody here does, since its wake was lost.

    `looks`: of everything else that wakes move, each finds what was missed.
    """

    def __init__(
        self,
        recovery: TurnRecovery,
        actors: ThreadActors,
        ids: Ids,
        looks: Sequence[Callable[[], Awaitable[None]]],
    ) -> None:
        self._recovery = recovery
        self._actors = actors
        self._ids = ids
        self._looks = looks
        self._adrift: set[str] = set()

    async def look(self) -> None:
        """Do what was left lying. Raises StoreUnavailable."""
        left = await self._recovery.left_lying(self._actors.unfinished())
        for turn_id in left.stopped:
            self._actors.stop(turn_id)
        await self._start_adrift({*left.turns}.difference(self._actors.unfinished()))
        for thread_id in left.threads:
            started = await self._recovery.start_waiting(thread_id, self._ids.row_id())
            if started is not None:
                self._actors.start(started)
        for look in self._looks:
            await look()

    async def _start_adrift(self, found: set[str]) -> None:
        """Start turns that were found twice in a row: the wake of one found once may be on its way."""
        adrift, self._adrift = found & self._adrift, found - self._adrift
        for turn_id in sorted(adrift):
            logger.warning("turn.left_lying turn=%s", turn_id)
            with contextlib.suppress(StaleTurn):  # it ended, or waits, in the meantime
                self._actors.start(await self._recovery.resume_turn(turn_id))
