"""A part of Store: the audit's chain."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One record as it is kept. `link`: None until it is chained; `detail`: JSON."""

    id: int
    at: int
    kind: str
    actor: str | None
    subject: str
    thread_id: str | None
    detail: str
    key_id: str
    seal: bytes
    link: str | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The last record that was dropped: the chain goes on from its link."""

    last_id: int
    link: str
    at: int
    key_id: str
    seal: bytes


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

    async def audit_of(self, subjects: Sequence[str]) -> Sequence[AuditRow]:
        """Records about these subjects, in order."""
        ...
