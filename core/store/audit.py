"""A part of Store: the audit's chain."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # few starts of a hub look at records
    from core.store.audit_rows import AuditRow


class Audit(Protocol):
    """See Store for what holds of every method. Records are written by the units they tell of."""

    async def link_audit(self, limit: int) -> tuple[str | None, bool]:
        """Chain the oldest records that are not yet, at most so many; the chain's head after that (None:
        there is no chain), and whether there are more."""
        ...

    async def record_policy(self, detail: dict[str, Any]) -> bool:
        """Record what the operator laid down, unless it is what was recorded last; whether it was news."""
        ...

    async def prune_audit(self, before: int, limit: int) -> int:
        """Drop the oldest chained records from before that time, at most so many, and leave a checkpoint from
        which the rest is verified; how many."""
        ...

    async def audit_of(self, subjects: Sequence[str]) -> "Sequence[AuditRow]":
        """Records about these subjects, in order."""
        ...
