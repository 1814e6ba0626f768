"""The ports between the channels and the core, each owned by its user."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Protocol

from core.lazy import dataclass
from core.messages import Address, Attachment, EditForm, InboundEvent, Message, MessageRef


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The result of an inbound event.

    `outcome`: its recorded reason (P11).
    `answer`: a short reply to the person, on platforms that show one at a pressed button.
    `duplicate`: the event had been accepted before.
    `thread_id`: its thread, if any.
    `plain`: the pressed card shows the result from now on, so a platform whose answers stay visible
    need not repeat it.
    `form`: the form to fill in."""

    outcome: str
    answer: str | None = None
    duplicate: bool = False
    thread_id: str | None = None
    plain: bool = False
    form: EditForm | None = None

    @property
    def answers(self) -> bool:
        """True if the event's answer to a gate counts."""
        return self.outcome.startswith("answer: ")


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest message that came from an address."""

    address: Address
    order_key: str


class Inbox(Protocol):
    """The inbox given to every channel."""

    async def accept(self, event: InboundEvent) -> Acceptance:
        """Accept one authenticated event. Returns once it is durable.

        Only then may the channel acknowledge it to its platform. A repeated `event.key` changes
        nothing. Raises InboxUnavailable: do not acknowledge; expect redelivery.
        """
        ...

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        """Return the newest message of each address the channel recently received from, so that it can ask
        its platform for later ones.

        Raises InboxUnavailable."""
        ...


class SendState(StrEnum):
    """The sending state of an outgoing message (P7).

    `STREAMING`: the preview of a running turn; `REPLACED`: a preview whose turn has a result, which
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

    A message may need several parts on its platform.
    `refs`: the parts already sent, in order, so `len(refs)` is the part to send next.
    `edit_of`: the row whose messages this one changes. If this one has no content at all, it
    removes them.
    `replaces`: the preview that becomes this row's first part.
    `not_before`: microseconds UTC.
    `repeats`: how often an unanswered part was sent again.
    `marks`: it only changes the mark of `edit_of`, see Message.mark. Its content is known once it is
    claimed.
    `paced`: it only shows how far something has come, so it is sent seldom, and after everything else.
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
    marks: bool = False
    paced: bool = False


@dataclass(frozen=True, slots=True)
class Posted:
    """A message accepted by its platform.

    `order_key` sorts among the conversation's inbound order keys. It shows whether a person wrote
    before or after the message."""

    ref: MessageRef
    order_key: str


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """A message whose position on the platform is known.

    `taken_at`: the platform accepted it then or later (microseconds UTC; the platform's own clock
    for received messages)."""

    address: Address
    order_key: str
    taken_at: int


@dataclass(frozen=True, slots=True)
class Uncertain:
    """A message that may be shown at a place the hub does not know.

    `asked_by`: a request for it was made then or earlier, and is not known to have failed
    (microseconds UTC).
    `open`: that request went unanswered, and its outcome is still to be determined.
    `parts`: the parts that may be shown this way, counted from 0.
    """

    row: OutboxRow
    asked_by: int
    open: bool
    parts: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class PostContext:
    """A channel's newest messages around an unanswered request, used to find the message the request
    may have made.

    `row`: the row whose request it is.
    `asked_by`: the request was made then or earlier (microseconds UTC).
    `earlier`: messages, received or shown, from before the request.
    `later`: messages the hub learned of after it had made the request.
    `shown`: all messages the hub has shown, before or after.
    `uncertain`: the other rows whose messages may be shown. None of these fields goes back
    indefinitely.
    """

    row: OutboxRow
    asked_by: int
    earlier: tuple[KnownMessage, ...] = ()
    later: tuple[KnownMessage, ...] = ()
    shown: frozenset[MessageRef] = frozenset()
    uncertain: tuple[Uncertain, ...] = ()


class PreviewRows(Protocol):
    """The messages that are shown while their text is written."""

    async def begin_preview(self, turn_id: str, channel: str, address: Address) -> OutboxRow | None:
        """Begin or repeat the turn's preview. Must return before the request is made. None: the turn does
        not run.

        A turn has one preview while it runs. Its message contains only the message it replies to.
        `attempts` counts these calls: with more than one, and no ref, an earlier request may have been
        accepted.
        """
        ...

    async def record_preview(self, row_id: int, posted: Posted | None) -> None:
        """Record where the preview is shown. None: it certainly is not shown."""
        ...

    async def preview_shown(self, row_id: int) -> Posted | None:
        """Return where the preview is shown, as far as is known."""
        ...


class Outbox(PreviewRows, Protocol):
    """The senders' view of the store. Every method is one transaction, durable when it returns."""

    async def pending_outbox(self, channel: str) -> Sequence[OutboxRow]:
        """Return all of a channel's rows that need work and that no other hub has in hand, ordered by id.

        These include a preview while its turn runs, and while it is unknown where it is shown, if it
        is.
        """
        ...

    async def claim_outbox(self, row_id: int) -> OutboxRow:
        """Mark a row `sending`. Must return before the request is made.

        Returns the row as it is now. Make the request only if it is `sending`: it may have been settled
        since. Claiming an ambiguous row counts its repeat.
        """
        ...

    async def hold_lease(self) -> None:
        """Return once this hub surely still has what it is sending. Raises LeaseLost.

        Call it right before a request: the process may have been suspended since the claim."""
        ...

    async def sent_refs(self, row_id: int) -> tuple[MessageRef, ...]:
        """Return the messages a row became, also of a replaced preview; empty while unsent or failed."""
        ...

    async def record_part_sent(self, row_id: int, posted: Posted, *, last: bool) -> None:
        """Record the ref of a part the platform accepted. `last` ends the row as `sent`, else it stays
        `sending`.

        Raises StoreError if the row was sent or failed before.
        """
        ...

    async def record_sent(self, row_id: int) -> None:
        """Record a successful edit: the row ends as `sent`."""
        ...

    async def retry_outbox(self, row_id: int, *, not_before: int, reason: str) -> None:
        """Queue a row again until `not_before` (microseconds UTC), if its request was certainly not
        accepted."""
        ...

    async def mark_ambiguous(self, row_id: int, reason: str, asked_by: int | None = None) -> OutboxRow:
        """Mark a row whose request went unanswered as `ambiguous` and count that. Return the row as it is
        now.

        The row may be claimed once more; a row whose repeat is used up ends there. Until it is claimed,
        its part may be recorded as found.
        `asked_by`: the request was made then or earlier (microseconds UTC; None: by now)."""
        ...

    async def fail_outbox(self, row_id: int, reason: str) -> Sequence[OutboxRow]:
        """Mark a row that its platform refuses for good as failed. Return the rows to send in its place (a
        notice that has another address), so that their channel can be notified."""
        ...

    # --- previews ----------------------------------------------------------------------------------------

    async def post_context(self, row_id: int) -> PostContext:
        """Return the messages around this row's unanswered request. Raises StoreError if there is no such
        row."""
        ...


class OutboundGate(Protocol):
    """A check of outgoing messages."""

    async def released(self, row: OutboxRow) -> Message:
        """Return the message as it may be sent, the same on every call.

        Raises MessageRejected if it may not be sent, StoreUnavailable."""
        ...


class OutboxListener(Protocol):
    """A listener for rows that are ready to send, called after the commit."""

    def outbox_ready(self, rows: Sequence[OutboxRow]) -> None:
        """Handle rows that are ready to send. Never blocks and never fails; the rows are in the store in
        any case."""
        ...

    def may_send_now(self, channel: str, address: Address) -> bool:
        """Return True if a row committed as `sending` would be sent at once (no queue, no rate limit)."""
        ...

    def prerender(self, channel: str, message: Message) -> None:
        """Prepare to send a message that is being committed, so that its row can be sent without delay.

        The commit may still fail. Never fails; takes no longer than rendering the message once."""
        ...


class Directory(Protocol):
    """The directory of configured channels and of people's addresses on them."""

    def speaks(self, channel: str) -> bool:
        """Return True if there is such a channel."""
        ...

    def direct(self, channel: str, platform_user_id: str) -> Address | None:
        """Return the address of a private conversation with a person. None if there is no such channel, or
        no such person can be on it."""
        ...


class Acknowledger(Protocol):
    """A sign to people that their message was seen, given only if it delays nothing else."""

    def acknowledge(self, channel: str, ref: MessageRef) -> None:
        """Mark a message as seen, soon or not at all. Never blocks and never fails."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """A turn that has run for a while, and the address where people wait for it.

    `said` returns the answer so far, or None if there is nothing yet. It is called when something
    can be shown, so intermediate states are skipped.
    """

    turn_id: str
    channel: str
    address: Address
    said: Callable[[], Message | None]


class Previews(Protocol):
    """Signs to people that the hub is working for them, shown only if they delay nothing else."""

    def open_preview(self, preview: Preview) -> None:
        """Show the turn from now on, by signs of activity and by its text. Never blocks and never fails."""
        ...

    def close_preview(self, preview: Preview) -> None:
        """Stop updating the preview. It stays visible until the turn's own message replaces it. Never
        blocks and never fails."""
        ...


class AttachmentSource(Protocol):
    """Source of attached files (see channels.manager.ChannelManager)."""

    async def fetch(self, channel: str, attachment: Attachment, limit_bytes: int) -> bytes:
        """Download a file. Raises AttachmentTooLarge or another ChannelError."""
        ...
