"""The store's side of what lasts beyond a conversation: secrets, what people want remembered, and whether
tools may run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """Something a person asked the hub to remember. `path`: of a document, which can be changed."""

    id: str
    text: str
    created_at: int
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A text that a person keeps under a path, such as `projects/garden`."""

    path: str
    size_chars: int
    changed_at: int


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """A secret as it is kept: `sealed` can be opened with the key that `key_id` names, and only as `name`."""

    name: str
    key_id: str
    sealed: bytes
    changed_at: int


class Kept(Protocol):
    """One method = one transaction, as in Store."""

    async def halt_tools(self, by: str, *, halted: bool) -> bool:
        """Record that no tool may run, or that they may again; False if it was so already. `by`: a user's
        id."""
        ...

    async def tools_halted(self) -> bool:
        """Whether no tool may run."""
        ...

    async def count_model_call(self, user_id: str, day: str, most: int) -> bool:
        """Count a call of a model for a person, before it is made; False, and nothing is counted, where
        `most` were made for them on that day. `day`: any name that differs from that of the day before."""
        ...

    # --- secrets ---------------------------------------------------------------------------------------
    async def secrets(self, *, own: bool = False) -> Sequence[SealedSecret]:
        """All secrets as they are kept, in order of name; `own`: those that the hub keeps for itself, too."""
        ...

    async def keep_secrets(self, sealed: Sequence[SealedSecret], *, by: str | None = None) -> None:
        """Keep secrets, each in the place of what had its name. `by`: a user's id, for the audit."""
        ...

    async def drop_secret(self, name: str, *, by: str | None = None) -> bool:
        """Forget a secret; False if there is none of that name. `by`: as above."""
        ...

    # --- what tools keep -------------------------------------------------------------------------------
    async def write_memory(self, user_id: str, key: str, text: str) -> None:
        """Keep a note; the same `key` (an idempotency key) is kept once."""
        ...

    async def write_document(
        self, user_id: str, key: str, path: str, text: str, *, append: bool, most: int
    ) -> Document | None:
        """Keep a text under a path, in the place of what was there or behind it; with the `key` of the last
        write nothing changes. None where that person has `most` of them and this would be one more."""
        ...

    async def document(self, user_id: str, path: str) -> MemoryNote | None:
        """What a person keeps under a path."""
        ...

    async def documents(self, user_id: str, folder: str, limit: int) -> Sequence[Document]:
        """What a person keeps at or below a path (empty: everywhere), in order of path."""
        ...

    async def search_memory(self, user_id: str, query: str, limit: int) -> Sequence[MemoryNote]:
        """Notes and documents containing all words of the query, newest first; an empty query finds all."""
        ...
