"""A part of Store: who people are, with which accounts, and who asks to be let in."""

from collections.abc import Callable, Sequence
from typing import Protocol

from core.store.pairing import ClaimView, Decision, PairingRequest, Settled
from core.users import Person, Principal, Role


class People(Protocol):
    """See Store for what holds of every method. `by`: a user's id, for the audit."""

    async def ensure_user(self, user_id: str, role: Role, name: str) -> Principal:
        """The user as it is now; made if missing. The role given is written."""
        ...

    async def user(self, user_id: str) -> Principal | None:
        """A user by id."""
        ...

    async def people(self) -> Sequence[Person]:
        """All users with their accounts, in order of name."""
        ...

    async def pairing_requests(self) -> Sequence[PairingRequest]:
        """Requests to be let in whose codes are good, oldest first."""
        ...

    async def settle_pairing(
        self, channel: str | None, guesser: str, judge: Callable[[ClaimView], Decision]
    ) -> Settled:
        """Have a request decided, in one transaction with what it is decided on: of several decisions at once
        one wins and the others see it. `channel`: None for requests of any; `guesser`: under which name a
        wrong code is counted."""
        ...

    async def revoke_account(self, channel: str, platform_user_id: str, *, by: str | None = None) -> bool:
        """A paired or linked account is let in no more, from its next event on; False if it is neither.
        `by`: a user's id, for the audit."""
        ...

    async def link_account(
        self, user_id: str, channel: str, platform_user_id: str, name: str, *, by: str | None = None
    ) -> Principal | None:
        """Bind an account to a user as if paired, whomever it was bound to; None if there is no such user.
        `by`: a user's id, for the audit."""
        ...
