"""Keys to the API, as the store knows them: hashes, and whom each belongs to."""

from enum import StrEnum
from typing import Protocol

from core.users import Principal


class KeyKind(StrEnum):
    """A browser's session, or a token for programs."""

    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - the kind of a key, not a key


class Keys(Protocol):
    """The store as far as it knows who holds a key. `hash`: of the key, which itself is kept nowhere."""

    async def keep_key(self, hash_: str, kind: KeyKind, user_id: str, expires_at: int | None) -> None:
        """Let whoever holds the key be this user until then (microseconds UTC; None: for good)."""
        ...

    async def key_holder(self, hash_: str, kind: KeyKind) -> Principal | None:
        """Whose key this is, as they are now; None if it is nobody's or past its time."""
        ...

    async def drop_key(self, hash_: str) -> None:
        """Let the key be nobody's."""
        ...

    async def drop_keys_of(self, user_id: str, kind: KeyKind) -> int:
        """Let all keys of a kind that a user has be nobody's; how many there were."""
        ...
