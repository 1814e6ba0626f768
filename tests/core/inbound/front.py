"""A hub's front door for tests: its rules over a real store, people who write to it, a clock that waits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.approvals import LoopLimits, NoPolicy
from core.consent.rules import EffectivePolicy, Policy
from core.inbound.credentials import CredentialCapture, InboundCredentials
from core.inbound.judge import EventJudge
from core.inbound.rules import InboundRules, SessionManager
from core.messages import (
    Address,
    Attachment,
    ChoiceAnswer,
    InboundMessage,
    Message,
    MessageRef,
    Sender,
    WhileBusy,
)
from core.people.access import Access, ChannelAccess
from core.people.pairing import ClaimRules, PairingService
from core.ports import OutboxRow
from core.store.accept import Accepted
from core.store.sql.store import SqlStore
from core.store.sqlite.store import open_store
from core.users import Principal, Role
from tests.contracts.store.bench import CountingIds, StoppedClock, text_of
from tests.databases import lay_database

CHANNEL = "chat"
OWNER = Principal("owner", Role.OWNER, "Olivia")
OWNER_ACCOUNT = "o"


LAWS = EffectivePolicy(
    Policy(whitelist=frozenset({"time", "json"}), dangerous_tools=frozenset({"shell", "http"})),
    LoopLimits(),
    NoPolicy(),
    {"shell": 60},
    lambda: ("time", "json", "echo", "shell", "http"),
)


@dataclass
class Sent:
    """The values handed to the channels."""

    rows: list[OutboxRow] = field(default_factory=list)

    def outbox_ready(self, rows: Sequence[OutboxRow]) -> None:
        self.rows += rows

    def may_send_now(self, channel: str, address: Address) -> bool:
        return False

    def prerender(self, channel: str, message: Message) -> None:
        pass


class Front:
    """Everything that decides who comes in; nothing behind it runs."""

    def __init__(
        self,
        store: SqlStore,
        clock: StoppedClock,
        ids: CountingIds,
        access: Access,
        models: Mapping[str, str] | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.ids = ids
        self.sent = Sent()
        self._rules = InboundRules(
            access,
            SessionManager(ids),
            ids,
            max_waiting=10_000,
            effective_policy=LAWS,
            configured=models or {},
        )
        self.desk = PairingService(store.people, ClaimRules(access, ids), self.sent)
        self._events = 0
        self._last: InboundMessage | ChoiceAnswer | None = None
        self.confiding: CredentialCapture | None = None
        self.masking: InboundCredentials | None = None

    @classmethod
    async def open(
        cls,
        directory: Path,
        *,
        rules: ChannelAccess | None = None,
        owners: Sequence[str] = (OWNER_ACCOUNT,),
        sender_per_minute: int = 0,
        models: Mapping[str, str] | None = None,
    ) -> "Front":
        """A new database; accounts called `owners` are the owner's."""
        clock, ids = StoppedClock(), CountingIds()
        store = await open_store(lay_database(directory / "hub.db"), clock, ids)
        await store.people.ensure_user(OWNER.user_id, OWNER.role, OWNER.name)
        access = Access(
            OWNER,
            frozenset((CHANNEL, name) for name in owners),
            {CHANNEL: rules or ChannelAccess()},
            sender_per_minute,
        )
        return cls(store, clock, ids, access, models)

    async def says(
        self,
        person: str,
        text: str = "hello",
        *,
        direct: bool = True,
        order: int | None = None,
        reply_to: MessageRef | None = None,
        attachments: tuple[Attachment, ...] = (),
        ref: MessageRef | None = None,
        edits: str | None = None,
        album: str | None = None,
        not_understood: str | None = None,
        place: str | None = None,
        while_busy: WhileBusy | None = None,
    ) -> Accepted:
        """A person writes; `order`: the message's place in the conversation, if it comes out of order;
        `place`: another private conversation than their usual one."""
        self._events += 1
        event = InboundMessage(
            key=f"{CHANNEL}:{self._events}",
            order_key=f"{self._events if order is None else order:09}",
            channel=CHANNEL,
            address=Address(place or (person if direct else "group")),
            scope=place or (person if direct else "group"),
            sender=Sender(person, person.title()),
            text=text,
            sent_at=self.clock.now(),
            direct=direct,
            reply_to=reply_to,
            attachments=attachments,
            ref=ref,
            edits=edits,
            album=album,
            not_understood=not_understood,
            while_busy=while_busy,
        )
        return await self._accept(event)

    async def presses(self, person: str, gate_id: str, choice: int, form: str | None = None) -> Accepted:
        """A person presses a button of a card, or hands words in with it."""
        self._events += 1
        event = ChoiceAnswer(
            key=f"{CHANNEL}:{self._events}",
            channel=CHANNEL,
            address=Address(person),
            sender=Sender(person, person.title()),
            gate_id=gate_id,
            choice=choice,
            sent_at=self.clock.now(),
            form=form,
        )
        return await self._accept(await self.store.inbound.spoken(event) or event)

    async def _accept(self, event: InboundMessage | ChoiceAnswer) -> Accepted:
        self._last = event
        capture = self.confiding
        if self.masking is not None:  # as the hub does
            taken = await self.masking.take_out(event)
            given = event if taken is None else taken.event
            assert isinstance(given, InboundMessage | ChoiceAnswer)
            event, capture = given, self.masking.capture(taken)
        judge = EventJudge(self._rules, event, self.clock.now(), capture=capture)
        accepted = await self.store.inbound.accept_event(event, judge, send_now=False)
        self.sent.rows += accepted.outbox
        return accepted

    async def again(self) -> Accepted:
        """The platform delivers the newest event once more."""
        assert self._last is not None
        return await self._accept(self._last)

    @property
    def said(self) -> int:
        """The number in the newest event's key."""
        return self._events

    async def user_of(self, person: str) -> str | None:
        """The user an account belongs to by the store."""
        for known in await self.store.people.people():
            if any(account.platform_user_id == person for account in known.accounts):
                return known.user.user_id
        return None

    async def code_for(self, person: str) -> str:
        """A stranger writes and gets a code."""
        await self.says(person)
        requests = await self.store.people.pairing_requests()
        return next(one.code for one in requests if one.sender.platform_user_id == person)

    async def link_code(self, person: str) -> str:
        """A known person asks for a code for another account."""
        accepted = await self.says(person, "/link")
        assert accepted.outcome == "command: /link"
        return text_of(accepted.outbox[0].message).split("/link ")[1].split("\n")[0]

    def heard(self, address: str) -> list[str]:
        """Return what was said to an address."""
        return [text_of(row.message) for row in self.sent.rows if row.address == address]
