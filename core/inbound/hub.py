"""The hub: it takes responsibility for inbound events and gives every active thread its actor."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from core import texts
from core.clock import SECOND_US, Clock
from core.consent.cards import looks_like_a_form
from core.errors import InboxUnavailable, StoreUnavailable
from core.inbound.credentials import CredentialJudge, InboundCredentials
from core.inbound.judge import EventJudge
from core.inbound.rules import InboundRules
from core.inbound.submission import with_wish
from core.messages import (
    EDIT,
    MESSAGE_LIMIT_CHARS,
    NAME_LIMIT_CHARS,
    Attachment,
    ChoiceAnswer,
    EditForm,
    InboundEvent,
    InboundMessage,
    Markdown,
    Message,
    MessageRef,
    Sender,
    Unreadable,
)
from core.ports import Acceptance, OutboxListener, Seen
from core.runs.actors import Acknowledgements, AlbumCollector, ThreadActors
from core.store.accept import WAITING, Accepted, Judge
from core.store.effects import EditedCall, EditRefused
from core.store.facets import HELD
from core.store.port import Store
from core.store.units import committed
from core.tools.call_edits import CallEditor
from core.tools.execution import ToolPause
from core.users import Principal

if TYPE_CHECKING:
    from core.routine import Match


# Size limits on inbound events, applied before anything else.


def within_size(event: InboundEvent) -> InboundEvent:
    """Return the event within the size limits.

    An overlong message counts as not understood, an overlong form or edit as unreadable. Long names
    are cut."""
    match event:
        case InboundMessage(text=text, edits=edits):
            event = _with_short_names(event)
            if len(text) <= MESSAGE_LIMIT_CHARS:
                return event
            if edits is not None:
                return _unreadable(event)
            too_long = f"a message of more than {MESSAGE_LIMIT_CHARS:,} characters"
            return replace(event, text="", not_understood=too_long)
        case ChoiceAnswer(form=str(form)) if len(form) > MESSAGE_LIMIT_CHARS:
            return _unreadable(event)
        case ChoiceAnswer(sender=sender) if _is_long(sender):
            return replace(event, sender=_short_sender(sender))
        case Unreadable(summary=summary) if len(summary) > NAME_LIMIT_CHARS:
            return replace(event, summary=_short(summary))
        case _:
            return event


def _with_short_names(event: InboundMessage) -> InboundMessage:
    if _is_long(event.sender):
        event = replace(event, sender=_short_sender(event.sender))
    if any(
        len(one.name) > NAME_LIMIT_CHARS or len(one.media_type) > NAME_LIMIT_CHARS
        for one in event.attachments
    ):
        event = replace(event, attachments=tuple(map(_short_attachment, event.attachments)))
    return event


def _is_long(sender: Sender) -> bool:
    return len(sender.name) > NAME_LIMIT_CHARS or len(sender.username or "") > NAME_LIMIT_CHARS


def _short_sender(sender: Sender) -> Sender:
    username = None if sender.username is None else _short(sender.username)
    return replace(sender, name=_short(sender.name), username=username)


def _short_attachment(attachment: Attachment) -> Attachment:
    return replace(attachment, name=_short(attachment.name), media_type=_short(attachment.media_type))


def _short(name: str) -> str:
    return name if len(name) <= NAME_LIMIT_CHARS else f"{name[: NAME_LIMIT_CHARS - 1]}…"


def _unreadable(event: InboundMessage | ChoiceAnswer) -> Unreadable:
    summary = f"more than {MESSAGE_LIMIT_CHARS:,} characters"
    return Unreadable(event.key, event.channel, summary, event.sent_at)


logger = logging.getLogger(__name__)


LATELY_US = 30 * 24 * 3600 * SECOND_US
"""The window for catching up. Platforms are asked for nothing older than the last events seen in it."""


class EventRoutines(Protocol):
    """The part of routines that concerns inbound events."""

    def matches(self, message: InboundMessage) -> "Sequence[Match]":
        """Return the routines whose patterns match the message. Quick, and never fails."""
        ...

    def fired(self, routine_ids: Sequence[str]) -> None:
        """Report routines that have newly claimed runs or were paused. Never blocks or fails."""
        ...


def nothing_held() -> None:
    """Do nothing. No messages wait for a hook."""


def nothing_joins(thread_id: str) -> None:
    """Do nothing. No run takes up input."""
    del thread_id


class Hub:
    """The Inbox port over the store, which holds all of its state."""

    def __init__(
        self,
        store: Store,
        rules: InboundRules,
        actors: ThreadActors,
        listener: OutboxListener,
        clock: Clock,
        gathering: AlbumCollector,
        acknowledgements: Acknowledgements,
        editing: CallEditor | None = None,
        credentials: InboundCredentials | None = None,
        routines: EventRoutines | None = None,
        pause: ToolPause | None = None,
        held: Callable[[], None] = nothing_held,
        joins: Callable[[str], None] = nothing_joins,
    ) -> None:
        self._held = held
        self._joins = joins
        self._store = store
        self._rules = rules
        self._actors = actors
        self._listener = listener
        self._clock = clock
        self._gathering = gathering
        self._acknowledgements = acknowledgements
        self._editing = editing
        self._credentials = credentials
        self._routines = routines
        self._pause = pause
        self._pausing = False
        self._open = False

    @property
    def is_open(self) -> bool:
        """True if events are accepted."""
        return self._open

    def open(self) -> None:
        """Start accepting events, once recovery has run."""
        self._open = True

    def shut(self) -> None:
        """Stop accepting events. The platforms deliver them again later."""
        self._open = False

    async def accept(self, event: InboundEvent) -> Acceptance:
        if not self._open:
            raise InboxUnavailable("the hub is starting or stopping; try again in a moment")
        event = within_size(event)
        if isinstance(event, ChoiceAnswer):
            event = await self._spoken(event) or event
        if isinstance(event, InboundMessage) and event.menu_id is None:
            event = with_wish(event)
        taken = await self._credentials.take_out(event) if self._credentials is not None else None
        if taken is not None:
            event = taken.event
        capture = self._credentials.capture(taken) if self._credentials is not None else None
        edit = await self._edit_of(event)
        # Matches are claimed in the transaction that stores the event, so neither can be lost alone.
        matches: Sequence[Match] = ()
        if self._routines is not None and isinstance(event, InboundMessage):
            matches = self._routines.matches(event)
        judge: Judge = EventJudge(self._rules, event, self._clock.now(), edit, matches, capture)
        if taken is not None:
            judge = CredentialJudge(judge, taken)
        send_now = not isinstance(event, Unreadable) and self._listener.may_send_now(
            event.channel, event.address
        )
        try:
            accepted = await self._accepted(event, judge, send_now=send_now)
        except StoreUnavailable as error:
            raise InboxUnavailable(str(error)) from error
        logger.info(
            "inbox.handled event=%s duplicate=%s outcome=%s", event.key, accepted.duplicate, accepted.outcome
        )
        if accepted.outcome == WAITING and isinstance(event, InboundMessage) and not accepted.duplicate:
            self._acknowledgements.expect(event)
        return _acceptance(accepted)

    async def _accepted(self, event: InboundEvent, judge: Judge, *, send_now: bool) -> Accepted:
        """Keep an event. A pause is in force, and what ran is over, before anything is answered."""
        while True:
            if self._pausing and self._pause is not None:
                await self._pause.settled()
            # Committed even if the platform's connection, and with it this caller, goes away.
            unit = self._store.inbound.accept_event(event, judge, send_now=send_now)
            accepted = await committed(unit, self._follow)
            if not accepted.again:
                return accepted

    async def _spoken(self, event: ChoiceAnswer) -> InboundMessage | None:
        try:
            return await self._store.inbound.spoken(event)
        except StoreUnavailable as error:
            raise InboxUnavailable(str(error)) from error

    async def _edit_of(self, event: InboundEvent) -> EditedCall | EditRefused | EditForm | None:
        if self._editing is None:
            return None
        try:
            match event:
                case ChoiceAnswer(gate_id=gate_id, form=str(form)):
                    return await self._editing.prepare(gate_id, form)
                case ChoiceAnswer(gate_id=gate_id, choice=choice) if choice == EDIT:
                    return await self._editing.form(gate_id)
                case InboundMessage(reply_to=str(ref)) if looks_like_a_form(event.text):
                    return await self._editing.read_reply(event.channel, MessageRef(ref), event.text)
                case _:
                    return None
        except StoreUnavailable as error:
            raise InboxUnavailable(str(error)) from error

    async def speak(self, event: InboundMessage, by: Principal, thread_id: str) -> bool:
        """Let a person answer in a thread in the assistant's place.

        Returns False if the event was accepted before. Raises InboxUnavailable.
        """
        taken = await self._credentials.take_out(event) if self._credentials is not None else None
        if taken is not None and isinstance(taken.event, InboundMessage):
            event = taken.event
        message = Message((Markdown(event.text),))
        try:
            unit = self._store.inbound.answer_as_operator(event, by, thread_id, message)
            return bool(await committed(unit, self._listener.outbox_ready))
        except StoreUnavailable as error:
            raise InboxUnavailable(str(error)) from error

    async def stop(self, event: InboundMessage, by: Principal, thread_id: str) -> Acceptance:
        """Stop the running turn and waiting messages of any person's thread. Raises InboxUnavailable."""
        try:
            unit = self._store.inbound.stop_thread(event, by, thread_id, texts.stopped)
            return _acceptance(await committed(unit, self._follow))
        except StoreUnavailable as error:
            raise InboxUnavailable(str(error)) from error

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        try:
            return await self._store.threads.last_seen(channel, self._clock.now() - LATELY_US)
        except StoreUnavailable as error:
            raise InboxUnavailable(str(error)) from error

    def _follow(self, accepted: Accepted) -> None:
        if accepted.paused is not None and self._pause is not None:
            self._pause.set(paused=accepted.paused)
            self._pausing = accepted.paused
        if accepted.stopped_turn_id is not None and accepted.thread_id is not None:
            self._actors.stop(accepted.stopped_turn_id, accepted.thread_id)
        if accepted.outbox:
            self._listener.outbox_ready(accepted.outbox)
        if accepted.started is not None:
            self._actors.start(accepted.started)
        if accepted.steers and accepted.wait_until is None and accepted.thread_id is not None:
            self._joins(accepted.thread_id)
        if accepted.routines and self._routines is not None:
            self._routines.fired(accepted.routines)
        if accepted.wait_until == HELD:
            self._held()
        elif accepted.wait_until is not None and accepted.thread_id is not None:
            self._gathering.expect(accepted.thread_id, accepted.wait_until)


def _acceptance(accepted: Accepted) -> Acceptance:
    return Acceptance(
        accepted.outcome,
        accepted.answer,
        accepted.duplicate,
        accepted.thread_id,
        accepted.plain,
        accepted.form,
    )
