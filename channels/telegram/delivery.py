"""Showing one rendered part in a chat: as a message or a file, in reply to another, where the chat is now."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from channels.channel import Payload
from channels.telegram.client import BotClient
from channels.telegram.errors import ChatMoved
from channels.telegram.files import UPLOAD_LIMIT_BYTES, ReadFile, Upload, methods_for
from channels.telegram.outbound import FILE, REPLY, Quoted
from channels.telegram.places import address_of, order_key_of, place_of, ref_of
from core.errors import MessageRejected
from core.messages import Address
from core.ports import Posted

logger = logging.getLogger(__name__)

OnMoved = Callable[[int, int], None]
"""Told the old and the new id of a group that became a supergroup; must not block."""


class Delivery:
    """Posts to chats. `read_file`: what gives the files that are sent, None to send none."""

    def __init__(self, client: BotClient, read_file: ReadFile | None, on_moved: OnMoved) -> None:
        self._client = client
        self._read_file = read_file
        self._on_moved = on_moved

    async def post(self, to: Address, payload: Payload) -> Posted:
        """Show one part; in the supergroup if the group became one. Raises ChannelError."""
        try:
            return await self._post(to, payload)
        except ChatMoved as error:
            self._on_moved(place_of(to).chat_id, error.chat_id)
            return await self._post(address_of(error.chat_id), payload)

    async def _post(self, to: Address, payload: Payload) -> Posted:
        place = place_of(to)
        params = {**where(to), **_reply_in(place.chat_id, payload)}
        match payload.get(FILE):
            case Upload() as upload:
                message_id = await self._upload(params, upload)
            case _:
                shown = {name: value for name, value in payload.items() if name != REPLY}
                message_id = await self._client.send({**shown, **params})
        return Posted(ref_of(place.chat_id, message_id), order_key_of(message_id))

    async def _upload(self, params: Mapping[str, object], upload: Upload) -> int:
        if self._read_file is None:
            raise MessageRejected("no files are sent here")
        try:
            content = await asyncio.to_thread(self._read_file, upload.path, UPLOAD_LIMIT_BYTES)
        except ValueError as error:
            raise MessageRejected(f"{upload.name} cannot be sent: {error}") from error
        *better, last = methods_for(upload, len(content))
        for method in better:
            try:
                return await self._client.upload(params, method, content, upload.name, upload.media_type)
            except MessageRejected as error:
                logger.info("%s goes out as a document: %s", upload.name, error)
        return await self._client.upload(params, last, content, upload.name, upload.media_type)


def where(to: Address) -> dict[str, object]:
    """The parameters that name a chat, or one topic of it."""
    place = place_of(to)
    named: dict[str, object] = {"chat_id": place.chat_id}
    if place.topic_id is not None:
        named["message_thread_id"] = place.topic_id
    return named


def _reply_in(chat_id: int, payload: Payload) -> dict[str, object]:
    """What is quoted, if it is in that very chat: elsewhere its id would name another message."""
    quoted = payload.get(REPLY)
    if not isinstance(quoted, Quoted) or quoted.chat_id != chat_id:
        return {}
    return {REPLY: {"message_id": quoted.message_id, "allow_sending_without_reply": True}}
