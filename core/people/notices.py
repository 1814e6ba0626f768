"""Telling people something of the hub's own accord: what a routine found, how a job ended.

A notice goes out as every message does, through the outbox and the senders; nothing of it is held in memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from core.consent.cards import open_card
from core.consent.rules import DIRECT, HERE
from core.errors import NobodyToTell
from core.gates import Gate
from core.ids import Ids
from core.messages import Address, Block, Message
from core.off_loop import off_loop
from core.people.access import Access
from core.ports import Directory, OutboxListener
from core.safety.leaks import LeakDetector
from core.store.facets import NoticeUnits, Place, Reach
from core.store.port import Store
from core.store.rows import Draft, ThreadRow
from core.store.units import committed
from core.users import Identity, Via


@dataclass(frozen=True, slots=True)
class ToPerson:
    """In private, on one channel or on any of theirs: first where they were active last."""

    user_id: str
    channel: str | None = None


@dataclass(frozen=True, slots=True)
class ToThread:
    """Where the thread's answers go; where that takes nothing, to its owner in private."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class ToAddress:
    """A place of a channel, in the channel's own words: a group, a topic, a thread below a message."""

    channel: str
    address: Address


@dataclass(frozen=True, slots=True)
class InOrder:
    """The first of them that takes it."""

    recipients: tuple["Recipient", ...]


Recipient = ToPerson | ToThread | ToAddress | InOrder


class Notices:
    """`in_threads`: channels whose people see only what is in a thread of theirs (a console): they come last,
    as only who looks there sees it."""

    def __init__(
        self,
        store: Store,
        directory: Directory,
        listener: OutboxListener,
        access: Access,
        *,
        in_threads: Sequence[str] = (),
        leaks: LeakDetector | None = None,
    ) -> None:
        self._leaks = leaks or LeakDetector()
        self._store = store
        self._directory = directory
        self._listener = listener
        self._access = access
        self._in_threads = frozenset(in_threads)

    async def send(self, key: str, to: Recipient, message: Message) -> bool:
        """Tell it, once for each `key` (name what it is about: `routine:<run id>`); False: told before.

        Returns when it is kept: from then on it goes out, however often the hub is killed. A place that
        refuses it for good hands it on to the next. Raises NobodyToTell, StoreUnavailable.
        """
        places = await self.places(to)
        if not places:
            raise NobodyToTell(
                "there is no place to say it: give the person an account on a channel that is configured"
                " (hubbub users link), or name another channel"
            )
        chars = sum(len(block.text) for block in message.blocks)
        blocks = await off_loop(chars, lambda: tuple(map(self._clean, message.blocks)))
        unit = self._store.add_notice(key, replace(message, blocks=blocks), places)
        return bool(await committed(unit, self._listener.outbox_ready))

    def _clean(self, block: Block) -> Block:
        return replace(block, text=self._leaks.redacted(block.text))

    async def places(self, to: Recipient) -> Sequence[Place]:
        """Where it can be said, in order. Raises StoreUnavailable."""
        match to:
            case InOrder(recipients):
                found = [place for one in recipients for place in await self.places(one)]
                return list({(place.channel, place.address): place for place in reversed(found)}.values())[
                    ::-1
                ]
            case ToPerson(user_id, channel):
                return await self._of_person(user_id, channel)
            case ToThread(thread_id):
                return await self._of_thread(thread_id)
            case ToAddress(channel, address):
                return [Place(channel, address)] if self._directory.speaks(channel) else []

    async def _of_thread(self, thread_id: str) -> Sequence[Place]:
        thread = await self._store.thread(thread_id)
        if thread is None:
            return []
        here = [Place(thread.channel, thread.address, thread.id)]
        here = here if self._directory.speaks(thread.channel) else []
        taken = (thread.channel, thread.address)
        others = await self._of_person(thread.owner_id, None)
        return [*here, *(place for place in others if (place.channel, place.address) != taken)]

    async def _of_person(self, user_id: str, channel: str | None) -> Sequence[Place]:
        reach = await self._store.reach(user_id)
        latest: dict[str, int] = {}
        for thread in reach.threads:
            latest.setdefault(thread.channel, thread.last_active_at)
        accounts = [*filter(self._access.holds, reach.identities), *self._configured(user_id, reach)]
        # Where they spoke before comes before where they only could; a console comes last.
        accounts.sort(
            key=lambda one: (
                one.channel in self._in_threads,
                -latest.get(one.channel, 0),
                one.direct_address is None,
            )
        )
        places = [self._place(one, reach) for one in accounts if channel in {None, one.channel}]
        return [place for place in places if place is not None]

    def _configured(self, user_id: str, reach: Reach) -> Sequence[Identity]:
        """The owner's accounts that the configuration names and that never wrote."""
        owner = self._access.owner
        if user_id != owner.user_id:
            return []
        known = {(one.channel, one.platform_user_id) for one in reach.identities}
        named = sorted((self._access.owner_identities | self._access.proven) - known)
        return [Identity(channel, account, owner, Via.CONFIG) for channel, account in named]

    def _place(self, account: Identity, reach: Reach) -> Place | None:
        there = self._directory.direct(account.channel, account.platform_user_id)
        if there is None:
            return None
        address = Address(account.direct_address) if account.direct_address is not None else there
        thread = next(
            (one for one in reach.threads if (one.channel, one.address) == (account.channel, address)), None
        )
        if thread is None and account.channel in self._in_threads:
            return None
        return Place(account.channel, address, None if thread is None else thread.id)


# Asking people who are not in the conversation: copies of a card for other places.


class ApproverCopies:
    """Makes copies. Nobody is sent one who could not answer it: only accounts that are let in now."""

    def __init__(self, store: NoticeUnits, access: Access, directory: Directory, ids: Ids) -> None:
        self._store = store
        self._access = access
        self._directory = directory
        self._ids = ids

    async def cards(self, gate: Gate, place: str, thread: ThreadRow, *, editable: bool) -> Sequence[Draft]:
        """A prompt's copies beside the one in its thread; `place`: see core.consent.rules."""
        if place == HERE:
            return ()
        if place == DIRECT:
            people = gate.rule.approvers or (self._access.owner.user_id,)
            return await self.direct(gate, people, thread, editable=editable)
        channel, _, address = place.partition(":")
        return self._drafts(gate, [(channel, Address(address))], thread, editable=editable)

    async def direct(
        self, gate: Gate, people: Iterable[str], thread: ThreadRow, *, editable: bool = False
    ) -> Sequence[Draft]:
        """A copy for each account of these people, but not of the requester, who has it before them."""
        places: list[tuple[str, Address]] = []
        for person in people:
            if person != gate.requester_id:
                places += await self._places(person)
        return self._drafts(gate, places, thread, editable=editable)

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
        self, gate: Gate, places: Sequence[tuple[str, Address]], thread: ThreadRow, *, editable: bool
    ) -> Sequence[Draft]:
        card = open_card(gate, editable=editable)
        return [
            Draft(channel, address, card, self._ids.row_id(), gate_id=gate.id)
            for channel, address in dict.fromkeys(places)
            if (channel, address) != (thread.channel, thread.address)
        ]
