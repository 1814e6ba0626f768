"""Who people are, as units of the store."""

from collections.abc import Callable, Sequence

from core.messages import Sender
from core.store.pairing import ClaimView, Decision, PairingRequest, Settled
from core.store.sqlite import pairing, people
from core.store.sqlite.onlooking import Onlooking
from core.users import Person, Principal, Role


class PeopleUnits(Onlooking):
    """Implements core.store.people.People; every method is described there."""

    async def ensure_user(self, user_id: str, role: Role, name: str) -> Principal:
        """See People."""
        return await self._writer.run(lambda tx: people.ensure_user(tx, user_id, role, name))

    async def user(self, user_id: str) -> Principal | None:
        """See People."""
        return await self._queries.user(user_id)

    async def people(self) -> Sequence[Person]:
        """See People."""
        return await self._queries.people()

    async def pairing_requests(self) -> Sequence[PairingRequest]:
        """See People."""
        return await self._queries.pairing_requests()

    async def settle_pairing(
        self, channel: str | None, guesser: str, judge: Callable[[ClaimView], Decision]
    ) -> Settled:
        """See People."""
        return await self._writer.run(lambda tx: pairing.settle(tx, channel, guesser, judge))

    async def revoke_account(self, channel: str, platform_user_id: str, *, by: str | None = None) -> bool:
        """See People."""
        return await self._writer.run(lambda tx: people.revoke_account(tx, channel, platform_user_id, by))

    async def link_account(
        self, user_id: str, channel: str, platform_user_id: str, name: str, *, by: str | None = None
    ) -> Principal | None:
        """See People."""
        sender = Sender(platform_user_id, name)
        return await self._writer.run(lambda tx: people.link_account(tx, user_id, channel, sender, by))
