"""Unsolicited notices to people, such as a routine's result or the end of a job.

A notice is sent like every message, through the outbox and the senders. None of it is held in
memory.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from core.consent.cards import open_card
from core.consent.rules import DIRECT, HERE
from core.errors import NobodyToTell
from core.gates import Gate
from core.ids import Ids
from core.lazy import dataclass
from core.messages import Address, Block, Message
from core.off_loop import off_loop
from core.people.access import Access
from core.ports import Directory, OutboxListener
from core.safety.leaks import LeakDetector
from core.store.facets import NoticeAddress, Reach
from core.store.facets import Notices as NoticePort
from core.store.port import Store
from core.store.rows import Draft, ThreadRow
from core.store.units import committed
from core.users import Identity, Via


@dataclass(frozen=True, slots=True)
class ToPerson:
    """A private conversation with a person, on one channel or on any of theirs, most recently active
    first."""

    user_id: str
    channel: str | None = None


@dataclass(frozen=True, slots=True)
class ToThread:
    """A thread's own address. If that accepts nothing, a private conversation with its owner."""

    thread_id: str


@dataclass(frozen=True, slots=True)
class ToAddress:
    """An address of a channel, in the channel's own format: a group, a topic, a thread below a
    message."""

    channel: str
    address: Address


@dataclass(frozen=True, slots=True)
class InOrder:
    """The first of several recipients that accepts the notice."""

    recipients: tuple["Recipient", ...]


Recipient = ToPerson | ToThread | ToAddress | InOrder


class Notices:
    """A sender of notices.

    `in_threads`: channels whose people see only messages in their threads (a console): there, notices have a
    conversation of their own. They come last, since a person must look there to see them."""

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
        """Send a notice once for each `key` (name the subject: `routine:<run id>`). Return False if it was
        sent before.

        Returns once it is stored. From then on it is delivered even if the hub is killed. An address
        that refuses it for good passes it on to the next. Raises NobodyToTell, StoreUnavailable.
        """
        addresses = await self.addresses(to)
        if not addresses:
            raise NobodyToTell(
                "no address to send the notice to: link an account of the person on a configured channel"
                " (hubbub users link), or name another channel"
            )
        chars = sum(len(block.text) for block in message.blocks)
        blocks = await off_loop(chars, lambda: tuple(map(self._clean, message.blocks)))
        unit = self._store.notices.add_notice(key, replace(message, blocks=blocks), addresses)
        return bool(await committed(unit, self._listener.outbox_ready))

    def _clean(self, block: Block) -> Block:
        return replace(block, text=self._leaks.redacted(block.text))

    async def addresses(self, to: Recipient) -> Sequence[NoticeAddress]:
        """Return the recipient's addresses, in order. Raises StoreUnavailable."""
        match to:
            case InOrder(recipients):
                found: dict[tuple[str, Address], NoticeAddress] = {}
                for one in recipients:
                    for target in await self.addresses(one):
                        found.setdefault((target.channel, target.address), target)
                return list(found.values())
            case ToPerson(user_id, channel):
                return await self._of_person(user_id, channel)
            case ToThread(thread_id):
                return await self._of_thread(thread_id)
            case ToAddress(channel, address):
                return [NoticeAddress(channel, address)] if self._directory.speaks(channel) else []

    async def _of_thread(self, thread_id: str) -> Sequence[NoticeAddress]:
        thread = await self._store.threads.thread(thread_id)
        if thread is None:
            return []
        here = [NoticeAddress(thread.channel, thread.address, thread.id)]
        here = here if self._directory.speaks(thread.channel) else []
        taken = (thread.channel, thread.address)
        others = await self._of_person(thread.owner_id, None)
        return [*here, *(target for target in others if (target.channel, target.address) != taken)]

    async def _of_person(self, user_id: str, channel: str | None) -> Sequence[NoticeAddress]:
        reach = await self._store.notices.reach(user_id)
        latest: dict[str, int] = {}
        for thread in reach.threads:
            latest.setdefault(thread.channel, thread.last_active_at)
        accounts = [*filter(self._access.holds, reach.identities), *self._configured(user_id, reach)]
        # Addresses where they spoke before come first; a console comes last.
        accounts.sort(
            key=lambda one: (
                one.channel in self._in_threads,
                -latest.get(one.channel, 0),
                one.direct_address is None,
            )
        )
        addresses = [self._address(one, reach) for one in accounts if channel in {None, one.channel}]
        return [target for target in addresses if target is not None]

    def _configured(self, user_id: str, reach: Reach) -> Sequence[Identity]:
        """Return the owner's configured accounts that never wrote."""
        owner = self._access.owner
        if user_id != owner.user_id:
            return []
        known = {(one.channel, one.platform_user_id) for one in reach.identities}
        named = sorted((self._access.owner_identities | self._access.proven) - known)
        return [Identity(channel, account, owner, Via.CONFIG) for channel, account in named]

    def _address(self, account: Identity, reach: Reach) -> NoticeAddress | None:
        there = self._directory.direct(account.channel, account.platform_user_id)
        if there is None:
            return None
        address = Address(account.direct_address) if account.direct_address is not None else there
        thread = next(
            (one for one in reach.threads if (one.channel, one.address) == (account.channel, address)), None
        )
        if account.channel in self._in_threads:
            return NoticeAddress(account.channel, address, notices_of=account.user.user_id)
        return NoticeAddress(account.channel, address, None if thread is None else thread.id)


# Cards for people who are not in the conversation.


class ApproverCopies:
    """Cards for people outside the conversation. They are sent only to accounts that are allowed now
    and could answer."""

    def __init__(self, store: NoticePort, access: Access, directory: Directory, ids: Ids) -> None:
        self._store = store
        self._access = access
        self._directory = directory
        self._ids = ids

    async def cards(self, gate: Gate, asked_in: str, thread: ThreadRow, *, editable: bool) -> Sequence[Draft]:
        """Return a gate's cards in addition to the one in its thread. `asked_in`: see core.consent.rules."""
        if asked_in == HERE:
            return ()
        if asked_in == DIRECT:
            people = gate.rule.approvers or (self._access.owner.user_id,)
            return await self.direct(gate, people, thread, editable=editable)
        channel, _, address = asked_in.partition(":")
        return self._drafts(gate, [(channel, Address(address))], thread, editable=editable)

    async def direct(
        self, gate: Gate, people: Iterable[str], thread: ThreadRow, *, editable: bool = False
    ) -> Sequence[Draft]:
        """Return a card for each account of these people, except the requester, who sees the card already."""
        addresses: list[tuple[str, Address]] = []
        for person in people:
            if person != gate.requester_id:
                addresses += await self._addresses(person)
        return self._drafts(gate, addresses, thread, editable=editable)

    async def _addresses(self, user_id: str) -> Sequence[tuple[str, Address]]:
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
        self, gate: Gate, addresses: Sequence[tuple[str, Address]], thread: ThreadRow, *, editable: bool
    ) -> Sequence[Draft]:
        card = open_card(gate, editable=editable)
        return [
            Draft(channel, address, card, self._ids.row_id(), gate_id=gate.id)
            for channel, address in dict.fromkeys(addresses)
            if (channel, address) != (thread.channel, thread.address)
        ]
