"""Asking people who are not in the conversation: copies of a card for other places."""

from collections.abc import Iterable, Sequence

from core.consent.cards import open_card
from core.consent.rules import DIRECT, HERE
from core.conversation.access import Access
from core.ids import Ids
from core.messages import Address
from core.ports import Directory
from core.prompts import Prompt
from core.store.notices import NoticeUnits
from core.store.rows import Draft, ThreadRow


class Elsewhere:
    """Makes copies. Nobody is sent one who could not answer it: only accounts that are let in now."""

    def __init__(self, store: NoticeUnits, access: Access, directory: Directory, ids: Ids) -> None:
        self._store = store
        self._access = access
        self._directory = directory
        self._ids = ids

    async def cards(
        self, prompt: Prompt, place: str, thread: ThreadRow, *, editable: bool
    ) -> Sequence[Draft]:
        """A prompt's copies beside the one in its thread; `place`: see core.consent.rules."""
        if place == HERE:
            return ()
        if place == DIRECT:
            people = prompt.rule.approvers or (self._access.owner.user_id,)
            return await self.direct(prompt, people, thread, editable=editable)
        channel, _, address = place.partition(":")
        return self._drafts(prompt, [(channel, Address(address))], thread, editable=editable)

    async def direct(
        self, prompt: Prompt, people: Iterable[str], thread: ThreadRow, *, editable: bool = False
    ) -> Sequence[Draft]:
        """A copy for each account of these people, but not of the requester, who has it before them."""
        places: list[tuple[str, Address]] = []
        for person in people:
            if person != prompt.requester_id:
                places += await self._places(person)
        return self._drafts(prompt, places, thread, editable=editable)

    async def _places(self, user_id: str) -> Sequence[tuple[str, Address]]:
        reach = await self._store.reach(user_id)
        known = {(one.channel, one.platform_user_id): one.direct_address for one in reach.identities}
        accounts = [
            (one.channel, one.platform_user_id) for one in reach.identities if self._access.holds(one)
        ]
        if user_id == self._access.owner.user_id:
            accounts += sorted(self._access.owner_identities)
        found: list[tuple[str, Address]] = []
        for channel, person in accounts:
            there = self._directory.direct(channel, person)
            if channel in self._access.channels and there is not None:
                found.append((channel, Address(known.get((channel, person)) or there)))
        return found

    def _drafts(
        self, prompt: Prompt, places: Sequence[tuple[str, Address]], thread: ThreadRow, *, editable: bool
    ) -> Sequence[Draft]:
        card = open_card(prompt, editable=editable)
        return [
            Draft(channel, address, card, self._ids.row_id(), prompt_id=prompt.id)
            for channel, address in dict.fromkeys(places)
            if (channel, address) != (thread.channel, thread.address)
        ]
