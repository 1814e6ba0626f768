"""The channel of the web console and of API clients, whose users the hub's HTTP API authenticates.

The hub's messages are stored in its threads, where the console reads them, so they count as sent
immediately. An address is a person. The scope separates their threads; the scope of a resumed
thread is its id.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from channels.channel import Look, Payload, Route
from core.clock import Clock
from core.errors import AttachmentTooLarge, InboxUnavailable, MessageRejected
from core.messages import Address, Attachment, ChoiceAnswer, InboundMessage, Message, MessageRef, Sender
from core.ports import Acceptance, Inbox, Posted

WEB = "web"
RENDERING_HINT = "Markdown is shown there, with headings, tables and code blocks."
"""What models are told of it."""
ORDER_DIGITS = 20


class Uploads(Protocol):
    """The storage of uploaded files."""

    async def read(self, handle: str) -> bytes:
        """Return the file's content. Raises FileNotFoundError."""
        ...


class WebChannel:
    """The channel of the web console and the API."""

    def __init__(self, uploads: Uploads, clock: Clock) -> None:
        self._uploads = uploads
        self._clock = clock
        self._inbox: Inbox | None = None

    @property
    def name(self) -> str:
        return WEB

    # --- receiving ---------------------------------------------------------------------------------------

    def routes(self, inbox: Inbox) -> Sequence[Route]:
        # The hub's own API is mounted elsewhere.
        del inbox
        return ()

    async def check(self) -> None:
        # There is no platform to ask.
        pass

    async def run(self, inbox: Inbox, connected: Callable[[], None]) -> None:
        self._inbox = inbox
        connected()
        try:
            await asyncio.Event().wait()
        finally:
            self._inbox = None

    async def say(
        self,
        sender: Sender,
        key: str,
        scope: str | None,
        text: str,
        attachments: Sequence[Attachment] = (),
        instead_of: str | None = None,
        reply_to: MessageRef | None = None,
        model: str | None = None,
    ) -> Acceptance:
        """Submit a person's message. `key` is chosen by the client; repeated submissions count once.

        `instead_of`, `reply_to`, `model`: see InboundMessage. Raises InboxUnavailable.
        """
        if self._inbox is None:
            raise InboxUnavailable("the hub is starting or stopping; try again in a moment")
        said = self.message(sender, key, scope, text, attachments, instead_of, reply_to)
        return await self._inbox.accept(replace(said, model=model))

    async def press(self, sender: Sender, key: str, menu_id: str, choice: int) -> Acceptance:
        """Submit a person's press of a menu's choice. `key` as in `say`. Raises InboxUnavailable."""
        if self._inbox is None:
            raise InboxUnavailable("the hub is starting or stopping; try again in a moment")
        user_id = sender.platform_user_id
        address, now = self.direct(user_id), self._clock.now()
        pressed = ChoiceAnswer(event_key(user_id, key), WEB, address, sender, menu_id, choice, now)
        return await self._inbox.accept(pressed)

    def message(
        self,
        sender: Sender,
        key: str,
        scope: str | None,
        text: str,
        attachments: Sequence[Attachment] = (),
        instead_of: str | None = None,
        reply_to: MessageRef | None = None,
    ) -> InboundMessage:
        """Return a person's message as an event."""
        now = self._clock.now()
        return InboundMessage(
            key=event_key(sender.platform_user_id, key),
            order_key=_order_key(now),
            channel=WEB,
            address=self.direct(sender.platform_user_id),
            scope=scope,
            sender=sender,
            text=text,
            sent_at=now,
            attachments=tuple(attachments),
            instead_of=instead_of,
            reply_to=reply_to,
        )

    # --- sending -----------------------------------------------------------------------------------------

    def render(self, message: Message) -> tuple[Payload, ...]:
        return ({"said": True},) if message.blocks or message.files or message.outcome else ()

    async def post(self, to: Address, payload: Payload, *, nonce: str, repeated: bool = False) -> Posted:
        # The message is in its thread already.
        del to, payload, repeated
        return Posted(MessageRef(nonce), _order_key(self._clock.now()))

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        # The thread shows the message as it is now.
        pass

    async def retract(self, ref: MessageRef) -> bool:
        del ref
        return True

    async def typing(self, to: Address) -> None:
        # The console shows turns as they run.
        pass

    async def acknowledge(self, ref: MessageRef) -> None:
        # The console shows waiting messages as such.
        del ref

    async def recover_post(self, to: Address, payload: Payload, nonce: str, look: Look) -> Posted | None:
        # No request goes unanswered here.
        del to, payload, nonce, look
        return None

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        try:
            content = await self._uploads.read(attachment.handle)
        except FileNotFoundError as error:
            raise MessageRejected(f"{attachment.name} no longer exists") from error
        if len(content) > limit_bytes:
            raise AttachmentTooLarge(f"{attachment.name} is larger than {limit_bytes} bytes")
        return content

    def direct(self, platform_user_id: str) -> Address:
        return Address(platform_user_id)

    async def close(self) -> None:
        pass


def event_key(user_id: str, key: str) -> str:
    """Return the event key of a message submitted under a client's key."""
    return f"{WEB}:{user_id}:{key}"


def _order_key(now: int) -> str:
    return str(now).zfill(ORDER_DIGITS)
