"""How much of the model those may use whom nobody knows."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from core.clock import SECOND_US, Clock
from core.errors import AllowanceUsedUp
from core.store.base import Store
from core.store.units import patiently
from core.users import Principal, Role


class GuestAllowance:
    """Model calls of guests: `most` a day for each (0: any number), days being those of `timezone`.

    Counted before the call is made, so that a hub that is killed over and over gives away no more of them.
    """

    def __init__(self, store: Store, clock: Clock, timezone: str, most: int) -> None:
        self._store = store
        self._clock = clock
        self._zone = ZoneInfo(timezone)
        self._most = most

    async def take(self, principal: Principal) -> None:
        """Count one call for this person. Raises AllowanceUsedUp."""
        if principal.role is not Role.GUEST or not self._most:
            return
        now = datetime.fromtimestamp(self._clock.now() / SECOND_US, UTC)
        day = now.astimezone(self._zone).date().isoformat()
        count = self._store.count_model_call
        if not await patiently(lambda: count(principal.user_id, day, self._most), self._clock):
            raise AllowanceUsedUp(f"{self._most} model calls were made for this guest today")
