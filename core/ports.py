"""The ports between the channels and the core, each owned by its user."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from core.messages import Address, EditForm, InboundEvent, Message, MessageRef


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What became of an inbound event. `outcome` is its recorded reason (P11), `answer` a short word to the
    person where the platform shows one beside a press; `duplicate`: it had been accepted before; `thread_id`:
    where it belongs, if anywhere; `plain`: what was pressed says so itself from now on, so that a platform
    whose answers stay there need not say it again; `form`: what they are to
    fill in."""

    outcome: str
    answer: str | None = None
    duplicate: bool = False
    thread_id: str | None = None
    plain: bool = False
    form: EditForm | None = None

    @property
    def answers(self) -> bool:
        """Whether an answer to a prompt counts."""
        return self.outcome.startswith("answer: ")


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest message that came from an address."""

    address: Address
    order_key: str


class Inbox(Protocol):
    """Given to every channel."""

    async def accept(self, event: InboundEvent) -> Acceptance:
        """Take responsibility for one authenticated event; returns once it is durable.

        Only after return may the channel acknowledge it to its platform. A repeated `event.key` changes
        nothing. Raises InboxUnavailable: do not acknowledge; expect redelivery.
        """
        ...

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        """The newest message of each address a channel has lately heard from, so that it can ask its platform
        for what came after. Raises InboxUnavailable."""
        ...


class SendState(StrEnum):
    """A message on its way out (P7).

    `STREAMING`: the preview of a turn that runs; `REPLACED`: a preview whose turn came to something, which
    is shown in its place.
    """

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    AMBIGUOUS = "ambiguous"
    STREAMING = "streaming"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One message to show, or one shown message to change.

    A message may need several parts on its platform; `refs` holds those already sent, in order, so
    `len(refs)` is the part to send next. `edit_of` names the row whose messages this one changes; if this
    one says nothing at all, it takes them away. `replaces` names the preview that becomes this row's first
    part. `not_before`: microseconds UTC. `repeats`: how often an unanswered part was sent again.
    """

    id: int
    channel: str
    address: Address
    message: Message
    state: SendState
    nonce: str
    refs: tuple[MessageRef, ...] = ()
    edit_of: int | None = None
    not_before: int = 0
    attempts: int = 0
    repeats: int = 0
    replaces: int | None = None


@dataclass(frozen=True, slots=True)
class Posted:
    """A message as its platform took it. `order_key` sorts among the conversation's inbound order keys, so
    that it can be told whether a person wrote before or after it."""

    ref: MessageRef
    order_key: str


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """A message of which the hub knows where it is shown. `taken_at`: the platform took it then or later
    (microseconds UTC; its own clock for what was received)."""

    address: Address
    order_key: str
    taken_at: int


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A message that may be shown without the hub's knowing where.

    `asked_by`: a request of it was made then or earlier, and is not known to have failed (microseconds UTC).
    `open`: that request went unanswered, and what became of it is still to be found out. `parts`: which of
    its parts may be shown so, counted from 0.
    """

    row: OutboxRow
    asked_by: int
    open: bool
    parts: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class PostContext:
    """What is known of a channel's newest messages around a request that went unanswered, to find by it the
    message that the request may have made.

    `row`: whose request it is.
    `asked_by`: the request was made then or earlier (microseconds UTC).
    `earlier`: messages, received or shown, from before the request.
    `later`: those the hub came to know after it had made the request.
    `shown`: all messages the hub has shown, before or after.
    `uncertain`: the other rows whose messages may be shown. None of these goes back for ever.
    """

    row: OutboxRow
    asked_by: int
    earlier: tuple[KnownMessage, ...] = ()
    later: tuple[KnownMessage, ...] = ()
    shown: frozenset[MessageRef] = frozenset()
    uncertain: tuple[Uncertain, ...] = ()


class Outbox(Protocol):
    """The senders' view of the store. Every method is one transaction, durable when it returns."""

    async def pending_outbox(self, channel: str) -> Sequence[OutboxRow]:
        """All rows of a channel about which something is to be done, in order of id.

        A preview is among them while its turn runs, and while nobody knows where it is shown, if it is.
        """
        ...

    async def claim_outbox(self, row_id: int) -> OutboxRow:
        """Mark a row `sending`: must return before the request goes out.

        Returns the row as it is now: only if it is `sending` may the request be made (it may have been
        settled meanwhile). Claiming an ambiguous row counts its repeat.
        """
        ...

    async def sent_refs(self, row_id: int) -> tuple[MessageRef, ...]:
        """The messages a row became, a preview that was replaced too; empty while unsent or failed."""
        ...

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        """The platform answered: keep the part's ref; `last` ends the row as `sent`, else it stays `sending`.

        Raises StoreError if the row was sent or failed before.
        """
        ...

    async def record_sent(self, row_id: int) -> None:
        """An edit went through: the row ends as `sent`."""
        ...

    async def retry_outbox(self, row_id: int, *, not_before: int, reason: str) -> None:
        """The request was certainly not taken: back to `queued` until `not_before` (microseconds UTC)."""
        ...

    async def mark_ambiguous(self, row_id: int, reason: str, asked_by: int | None = None) -> OutboxRow:
        """The request went unanswered. The row becomes `ambiguous`, is counted, and may be claimed once
        more; a row whose repeat is used up ends there. Until it is claimed, its part may be recorded as
        found. `asked_by`: the request was made then or earlier (microseconds UTC; None: by now). Returns the
        row as it is now."""
        ...

    async def fail_outbox(self, row_id: int, reason: str) -> Sequence[OutboxRow]:
        """The platform refuses it for good: visibly failed. Returns what now goes out elsewhere in its
        stead (a notice that can be read at another place, too), for its channel to be told of."""
        ...

    # --- previews ----------------------------------------------------------------------------------------
    async def begin_preview(self, turn_id: str, channel: str, address: Address) -> OutboxRow | None:
        """The turn's preview, to be shown now: must return before the request goes out.

        A turn has one as long as it runs; its message says nothing but what it replies to. `attempts` counts
        these calls: with more than one, and no ref, an earlier request may have been taken. None: the turn
        does not run (any more).
        """
        ...

    async def record_preview(self, row_id: int, posted: Posted | None) -> None:
        """Where the preview is shown; None: it certainly is not shown."""
        ...

    async def preview_shown(self, row_id: int) -> Posted | None:
        """Where the preview is shown, as far as is known."""
        ...

    async def surroundings(self, row_id: int) -> PostContext:
        """What is known around the unanswered request of this row. Raises StoreError if there is no such
        row."""
        ...


class OutboundGate(Protocol):
    """Has a say in what goes out."""

    async def released(self, row: OutboxRow) -> Message:
        """The message as it may be sent, the same each time it is asked for. Raises MessageRejected where it
        may not, StoreUnavailable."""
        ...


class OutboxListener(Protocol):
    """Told, after the commit, which rows are ready to go out."""

    def outbox_ready(self, rows: Sequence[OutboxRow]) -> None:
        """Never blocks and never fails; the rows are in the store in any case."""
        ...

    def may_send_now(self, channel: str, address: Address) -> bool:
        """Whether a row committed as `sending` would really go out at once (no queue, no rate limit)."""
        ...

    def prerender(self, channel: str, message: Message) -> None:
        """This message is on its way to the disk, and a row with it will be ready if it arrives there: what
        can be made of it before may be made now. Never fails; takes no longer than drawing it once."""
        ...


class Directory(Protocol):
    """Knows the channels that are there, and where people are on them."""

    def speaks(self, channel: str) -> bool:
        """Whether there is such a channel."""
        ...

    def direct(self, channel: str, platform_user_id: str) -> Address | None:
        """Where to speak to a person alone; None where there is no such channel, or no such person can be
        on it."""
        ...


class Acknowledger(Protocol):
    """Shows people that a message of theirs was seen, as far as that delays nothing else."""

    def acknowledge(self, channel: str, ref: MessageRef) -> None:
        """Give the message a sign, soon or not at all. Never blocks and never fails."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """A turn that has run for a while, and where people wait for it.

    `said` gives what there is of its answer at that moment, or None if there is nothing yet. It is asked
    when something can be shown, so that whatever came between is never looked at.
    """

    turn_id: str
    channel: str
    address: Address
    said: Callable[[], Message | None]


class Previews(Protocol):
    """Shows people that something is being done for them, as far as that delays nothing else."""

    def open_preview(self, preview: Preview) -> None:
        """Show the turn from now on, by signs of life and by what it says. Never blocks and never fails."""
        ...

    def close_preview(self, preview: Preview) -> None:
        """Show nothing more of it; what is shown stays until the turn's own message takes its place. Never
        blocks and never fails."""
        ...
