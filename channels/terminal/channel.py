"""The hub's own terminal as a channel: one person, one conversation, no platform in between."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from channels.channel import Payload, Route
from core.clock import Clock
from core.errors import InboxUnavailable, MessageRejected
from core.messages import (
    Address,
    Attachment,
    ChoiceAnswer,
    InboundEvent,
    InboundMessage,
    Message,
    MessageRef,
    Sender,
)
from core.ports import Acceptance, Inbox, Posted, Surroundings

NAME = "terminal"
ADDRESS = Address(NAME)
ACCOUNT = "local"
"""Whoever sits at the terminal, as the platform's user id."""
MESSAGE = "message"
"""The key of a payload that holds its Message: nothing is lost on the way to the screen."""


class Screen(Protocol):
    """Where messages are shown. All methods return at once and never fail."""

    def shows(self, ref: MessageRef, message: Message) -> None:
        """A message appears."""
        ...

    def changes(self, ref: MessageRef, message: Message) -> None:
        """One that may have been shown, by this screen or an earlier one, now says this."""
        ...


class TerminalChannel:
    """See Channel. `person`: the name of whoever sits there; `new_key`: what makes keys of events unique.

    A message is shown once it stands on the screen, so nothing is ever unanswered while the process lives.
    """

    def __init__(self, screen: Screen, clock: Clock, person: str, new_key: Callable[[], str]) -> None:
        self._screen = screen
        self._clock = clock
        self._sender = Sender(ACCOUNT, person)
        self._new_key = new_key
        self._inbox: Inbox | None = None

    @property
    def name(self) -> str:
        """See Channel."""
        return NAME

    # --- receiving ---------------------------------------------------------------------------------------
    def routes(self, inbox: Inbox) -> Sequence[Route]:
        """See Channel: nobody calls."""
        del inbox
        return ()

    async def check(self) -> None:
        """See Channel: there is nobody to ask."""

    async def run(self, inbox: Inbox, connected: Callable[[], None]) -> None:
        """See Channel."""
        self._inbox = inbox
        connected()
        try:
            await asyncio.Event().wait()
        finally:
            self._inbox = None

    async def say(self, text: str) -> Acceptance:
        """Something was typed. Raises InboxUnavailable."""
        return await self._accept(
            InboundMessage(
                key=f"terminal:m:{self._new_key()}",
                order_key=self._order_key(),
                channel=NAME,
                address=ADDRESS,
                scope=None,
                sender=self._sender,
                text=text,
                sent_at=self._clock.now(),
            )
        )

    async def press(self, prompt_id: str, choice: int) -> Acceptance:
        """A choice was made. Raises InboxUnavailable."""
        return await self._accept(
            ChoiceAnswer(
                key=f"terminal:c:{self._new_key()}",
                channel=NAME,
                address=ADDRESS,
                sender=self._sender,
                prompt_id=prompt_id,
                choice=choice,
                sent_at=self._clock.now(),
            )
        )

    async def _accept(self, event: InboundEvent) -> Acceptance:
        if self._inbox is None:
            raise InboxUnavailable("the hub is starting or stopping")
        return await self._inbox.accept(event)

    def _order_key(self) -> str:
        """Microseconds since the epoch in so many digits that they sort as text."""
        return f"{self._clock.now():020d}"

    # --- sending -----------------------------------------------------------------------------------------
    def render(self, message: Message) -> tuple[Payload, ...]:
        """See Channel: a message is one part, however long."""
        return ({MESSAGE: message},) if message.blocks or message.files or message.outcome else ()

    async def post(self, to: Address, payload: Payload, *, nonce: str, repeated: bool = False) -> Posted:
        """See Channel."""
        del to, repeated
        ref = MessageRef(nonce)
        self._screen.shows(ref, _message(payload))
        return Posted(ref, self._order_key())

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        """See Channel."""
        self._screen.changes(ref, _message(payload))

    async def retract(self, ref: MessageRef) -> bool:
        """See Channel: what was printed stays."""
        del ref
        return False

    async def typing(self, to: Address) -> None:
        """See Channel: the screen follows the turn itself."""
        del to

    async def acknowledge(self, ref: MessageRef) -> None:
        """See Channel: a screen has no such sign."""
        del ref

    async def find_lost(
        self, to: Address, payload: Payload, nonce: str, around: Surroundings
    ) -> Posted | None:
        """See Channel: a screen keeps nothing."""
        del to, payload, nonce, around

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        """See Channel: nobody attaches anything here."""
        raise MessageRejected(f"{attachment.name} is not from a terminal ({limit_bytes} bytes asked for)")

    def direct(self, platform_user_id: str) -> Address:
        """See Channel."""
        del platform_user_id
        return ADDRESS

    async def close(self) -> None:
        """See Channel."""


def _message(payload: Payload) -> Message:
    message = payload[MESSAGE]
    if not isinstance(message, Message):
        raise MessageRejected("this payload was made by another channel")
    return message
