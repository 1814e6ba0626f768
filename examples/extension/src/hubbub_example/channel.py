"""A channel for Wire, a chat platform of lines of JSON over TCP.

A connection begins with `{"token": …}`. The platform then brings events and waits for `{"ack": ID}`; what is
not acknowledged comes again with the next connection. A request is one line, on a connection of its own.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hubbub import (
    Address,
    AddressGone,
    Attachment,
    AuthRejected,
    ChoiceAnswer,
    Connected,
    InboundEvent,
    InboundMessage,
    Inbox,
    Look,
    Message,
    MessageRef,
    MessageRejected,
    Payload,
    Posted,
    RateLimited,
    Route,
    Sender,
    Unanswered,
    Unavailable,
)

LIMIT_CHARS = 1000
"""Of a message's text, on the platform."""


class WireChannel:
    """Implements hubbub.Channel. Options: `host` and `port`; secret: `token`."""

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.name = name
        self._host, self._port = options["host"], int(options["port"])
        self._token = options["token"]

    def routes(self, inbox: Inbox) -> Sequence[Route]:
        del inbox
        return ()

    async def check(self) -> None:
        await self._ask({"do": "check"})

    async def run(self, inbox: Inbox, connected: Connected) -> None:
        reader, writer = await self._connect()
        try:
            await self._greet(reader, writer, {"do": "receive"})
            connected()
            while line := await reader.readline():
                event = json.loads(line)
                accepted = await inbox.accept(self._read(event))
                await _say(writer, {"ack": event["id"], "answer": accepted.answer})
        except OSError as error:
            raise Unavailable(str(error)) from error
        finally:
            writer.close()
        raise Unavailable("the connection ended")

    def _read(self, event: Mapping[str, Any]) -> InboundEvent:
        """Return an event as the hub's value. Pure."""
        person, key = str(event["person"]), f"wire:{self.name}:{event['id']}"
        sender, address = Sender(person, event["name"]), Address(person)
        if event["kind"] == "press":
            card, ref = event["card"], MessageRef(event["message"])
            return ChoiceAnswer(key, self.name, address, sender, card, event["choice"], event["at"], ref=ref)
        return InboundMessage(
            key, event["order"], self.name, address, person, sender, event["text"], event["at"]
        )

    # --- showing ---------------------------------------------------------------------------------------

    def render(self, message: Message) -> tuple[Payload, ...]:
        lines = [block.text for block in message.blocks]
        lines += [line for line in (message.outcome, message.mark) if line]
        text = "\n".join(lines)
        parts = [text[begin : begin + LIMIT_CHARS] for begin in range(0, len(text), LIMIT_CHARS)]
        shown: list[Payload] = [{"text": part} for part in parts]
        if shown and message.choices and message.outcome is None and message.mark is None:
            buttons = [choice.label for choice in message.choices]
            card = {"buttons": buttons, "card": message.gate_id, "first": message.first_choice}
            shown[-1] = {**shown[-1], **card}
        return tuple(shown)

    async def post(self, to: Address, payload: Payload, *, nonce: str, repeated: bool = False) -> Posted:
        del repeated  # the platform shows a nonce once
        answer = await self._ask({"do": "post", "to": to, "nonce": nonce, **payload})
        return Posted(MessageRef(answer["id"]), answer["order"])

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        await self._ask({"do": "edit", "id": ref, **payload})

    async def retract(self, ref: MessageRef) -> bool:
        await self._ask({"do": "delete", "id": ref})
        return True

    async def typing(self, to: Address) -> None:
        del to  # the platform has no sign for it

    async def acknowledge(self, ref: MessageRef) -> None:
        del ref  # nor for this

    async def recover_post(self, to: Address, payload: Payload, nonce: str, look: Look) -> Posted | None:
        del look
        return await self.post(to, payload, nonce=nonce)

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        del limit_bytes
        raise MessageRejected(f"{attachment.name}: the platform has no files")

    def direct(self, platform_user_id: str) -> Address:
        return Address(platform_user_id)

    async def close(self) -> None:
        pass  # connections end with what uses them

    # --- the platform ----------------------------------------------------------------------------------

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            return await asyncio.open_connection(self._host, self._port)
        except OSError as error:
            raise Unavailable(str(error)) from error

    async def _greet(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Send the token and a request, and return the answer. Raises ChannelError."""
        try:
            await _say(writer, {"token": self._token, **request})
            line = await reader.readline()
        except OSError as error:
            raise Unanswered(str(error)) from error
        if not line:
            raise Unanswered("the connection ended")
        answer: dict[str, Any] = json.loads(line)
        match answer.get("error"):
            case None:
                return answer
            case "token":
                raise AuthRejected("Wire refuses the token; set a valid one in secrets")
            case "rate":
                raise RateLimited(answer["retry_after_s"])
            case "gone":
                raise AddressGone("this conversation is gone")
            case error:
                raise MessageRejected(str(error))

    async def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        reader, writer = await self._connect()
        try:
            return await self._greet(reader, writer, request)
        finally:
            writer.close()


async def _say(writer: asyncio.StreamWriter, page: Mapping[str, Any]) -> None:
    writer.write(json.dumps(page).encode() + b"\n")
    await writer.drain()
