"""A hub's lease while it runs: renewed in time, and the work of hubs taken over whose lease has lapsed."""

import logging
from collections.abc import Callable, Sequence

from core.ports import OutboxRow
from core.runs.recovery import RunRecovery
from core.store.lease import Leases

logger = logging.getLogger(__name__)


class LeaseKeeper:
    """Implementation of a hub's side of leases.

    `sending`: called with previews that an ended hub left, once its messages are to be read from the store.
    """

    def __init__(
        self,
        leases: Leases,
        recovery: RunRecovery,
        sending: Callable[[Sequence[OutboxRow]], None],
    ) -> None:
        self._leases = leases
        self._recovery = recovery
        self._sending = sending

    async def renew(self) -> None:
        """Renew the lease. Raises LeaseLost."""
        await self._leases.renew_lease()

    async def look(self) -> None:
        """Take over what hubs with lapsed leases had in hand. Raises StoreUnavailable."""
        if await self._leases.has_lapsed():
            logger.warning("lease.taking_over")
            recovered = await self._recovery.recover()
            self._sending(recovered.previews)
            await self._recovery.start_suspects(recovered)
