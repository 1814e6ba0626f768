"""People send files: photos, documents, voice notes, albums, and anything else by its content."""

import base64
from typing import Any

from tests.simulators.control import operation
from tests.simulators.telegram import media
from tests.simulators.telegram.entities import normalize
from tests.simulators.telegram.people import PeopleActions
from tests.simulators.telegram.world import Message

Json = dict[str, Any]
BotName = int | str
PHOTO = b"\xff\xd8\xff\xe0" + b"a photo made of light " * 8


class FileActions(PeopleActions):
    """``content`` is bytes, or base64 text over HTTP.

    ``size_bytes`` makes a file bigger without its memory.
    """

    @operation
    def user_sends_photo(
        self,
        user_id: int,
        content: bytes | str | None = None,
        caption: str | None = None,
        size_bytes: int | None = None,
        chat_id: int | None = None,
        bot: BotName | None = None,
        topic_id: int | None = None,
        reply_to: int | None = None,
    ) -> Message:
        """A person sends a photo."""
        body = media.photo(self.files, _bytes(content, PHOTO), size_bytes=size_bytes)
        body |= _caption(caption)
        return self._say(user_id, body, chat_id=chat_id, bot=bot, topic_id=topic_id, reply_to=reply_to)

    @operation
    def user_sends_document(
        self,
        user_id: int,
        name: str = "notes.txt",
        content: bytes | str | None = None,
        media_type: str = "text/plain",
        caption: str | None = None,
        size_bytes: int | None = None,
        chat_id: int | None = None,
        bot: BotName | None = None,
        topic_id: int | None = None,
        reply_to: int | None = None,
    ) -> Message:
        """A person sends a file."""
        raw = _bytes(content, b"some notes\n")
        body = media.document(self.files, raw, name=name, media_type=media_type, size_bytes=size_bytes)
        body |= _caption(caption)
        return self._say(user_id, body, chat_id=chat_id, bot=bot, topic_id=topic_id, reply_to=reply_to)

    @operation
    def user_sends_voice(
        self,
        user_id: int,
        content: bytes | str | None = None,
        duration_s: int = 3,
        size_bytes: int | None = None,
        chat_id: int | None = None,
        bot: BotName | None = None,
        topic_id: int | None = None,
        reply_to: int | None = None,
    ) -> Message:
        """A person sends a voice note."""
        raw = _bytes(content, b"OggS" + b"\x00" * 60)
        body = media.voice(self.files, raw, duration_s=duration_s, size_bytes=size_bytes)
        return self._say(user_id, body, chat_id=chat_id, bot=bot, topic_id=topic_id, reply_to=reply_to)

    @operation
    def user_sends_album(
        self,
        user_id: int,
        count: int = 2,
        caption: str | None = None,
        kind: str = "photo",
        chat_id: int | None = None,
        bot: BotName | None = None,
        topic_id: int | None = None,
    ) -> list[Message]:
        """A person sends photos or documents as one album: one message each, with one ``media_group_id``."""
        album_id = str(next(self.world.album_ids))
        messages: list[Message] = []
        for number in range(count):
            raw = PHOTO + str(number).encode()
            if kind == "photo":
                body = media.photo(self.files, raw)
            else:
                body = media.document(self.files, raw, name=f"{number}.txt", media_type="text/plain")
            if number == 0:
                body |= _caption(caption)
            messages.append(
                self._say(
                    user_id,
                    body,
                    chat_id=chat_id,
                    bot=bot,
                    topic_id=topic_id,
                    reply_to=None,
                    album_id=album_id,
                )
            )
        return messages

    @operation
    def user_sends(
        self,
        user_id: int,
        content: Json,
        chat_id: int | None = None,
        bot: BotName | None = None,
        topic_id: int | None = None,
        reply_to: int | None = None,
    ) -> Message:
        """A person sends anything else: ``content`` holds the fields of the ``Message`` (sticker, location
        …).
        """
        return self._say(
            user_id, dict(content), chat_id=chat_id, bot=bot, topic_id=topic_id, reply_to=reply_to
        )


def _bytes(content: bytes | str | None, default: bytes) -> bytes:
    if content is None:
        return default
    return base64.b64decode(content) if isinstance(content, str) else content


def _caption(caption: str | None) -> Json:
    if not caption:
        return {}
    text, entities = normalize(caption, [])
    return {"caption": text, "caption_entities": entities} if entities else {"caption": text}
