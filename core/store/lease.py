"""The lease of a hub on its database. Each start of a hub takes one, with a number no other ever gets: its
fence.

What a hub has in hand bears its fence. As long as the hub renews its lease, nobody else takes any of that;
once the lease has lapsed another hub may end it, and from then on the first one's writes are refused.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

LEASE_S = 30.0
"""The life of a lease that is not renewed."""
RENEWALS = 3
"""Renewals within a lease's life."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """The terms on which a hub takes its lease.

    `host`: where its processes are found.
    `alone`: no other hub can be running, since this one holds the data directory: all other leases end.
    """

    host: str
    lasts_us: int
    alone: bool


class Lease:
    """The lease that a store's writes are made under. `fence` is 0 while there is none: an offline command
    has nothing in hand.

    `sure_until`: until then (microseconds UTC) the lease needs no look before an effect.
    `lost`: set once another hub has ended the lease.
    """

    def __init__(self) -> None:
        self.fence = 0
        self.lasts_us = 0
        self.sure_until = 0
        self.lost = asyncio.Event()

    def taken(self, fence: int, terms: LeaseTerms, now: int) -> None:
        """Write under this lease from now on."""
        self.fence, self.lasts_us = fence, terms.lasts_us
        self.renewed(now)

    def renewed(self, now: int) -> None:
        """Count on the lease for the time that is left after two renewals were missed."""
        self.sure_until = now + self.lasts_us - self.lasts_us // RENEWALS


class Leases(Protocol):
    """The units for a hub's lease."""

    async def take_lease(self, terms: LeaseTerms) -> None:
        """Take a lease. Every later write of this store is made under it, and refused with LeaseLost once
        another hub has ended it."""
        ...

    async def renew_lease(self) -> None:
        """Have the lease last for its full time from now. Raises LeaseLost."""
        ...

    async def has_lapsed(self) -> bool:
        """Return whether a lease of another hub has lapsed, so that `recover` would take over its work."""
        ...

    async def lease_lost(self) -> None:
        """Wait until this store's lease is lost."""
        ...
