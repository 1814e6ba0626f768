"""The store's side of notices: where a person can be told something, and telling it once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from core.messages import Address, Message
from core.ports import OutboxRow
from core.store.rows import ThreadRow
from core.users import Identity

REACH_THREADS = 200
"""So many of a person's threads are looked at, the latest active first."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A person's accounts, and their threads, the latest active first."""

    identities: tuple[Identity, ...]
    threads: tuple[ThreadRow, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a notice can be shown. `thread_id`: the thread in which it is seen there, too."""

    channel: str
    address: Address
    thread_id: str | None = None


class NoticeUnits(Protocol):
    """One method = one transaction, as in Store."""

    async def reach(self, user_id: str) -> Reach:
        """Where a person can be told something."""
        ...

    async def add_notice(self, key: str, message: Message, places: Sequence[Place]) -> tuple[OutboxRow, ...]:
        """Queue a message for the first of the places, of which there is at least one; a key that was used
        before changes nothing. What a place refuses for good goes to the next, in the transaction that
        records the refusal (see Outbox.fail_outbox)."""
        ...
