"""The parts of https://core.telegram.org/bots/api#update that the hub reads, checked strictly.

Everything else in an update is ignored, so that what the platform adds or changes elsewhere cannot make a
message unreadable.
"""

from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field

MOST_LISTED = 100
"""Telegram silently ignores the entities of a message after the hundredth; a photo has a handful of sizes."""

Id = Annotated[int, Field(ge=-(2**53), le=2**53)]
"""Ids have at most 52 significant bits (Bot API, Chat)."""

MessageId = Annotated[int, Field(ge=0, le=2**53)]

Seconds = Annotated[int, Field(ge=0, le=253_402_300_799)]
"""Unix time, up to the year 9999."""


class Wire(BaseModel):
    """No coercion: a number in quotes is not a number."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class User(Wire):
    """https://core.telegram.org/bots/api#user."""

    id: Id
    is_bot: bool = False
    first_name: str = ""
    last_name: str | None = None
    username: str | None = None


class Chat(Wire):
    """https://core.telegram.org/bots/api#chat."""

    id: Id
    type: str


class Entity(Wire):
    """https://core.telegram.org/bots/api#messageentity; offset and length in UTF-16 code units."""

    type: str
    offset: Annotated[int, Field(ge=0)]
    length: Annotated[int, Field(ge=0)]
    user: User | None = None


class Media(Wire):
    """What Document, Audio, Voice, Video and PhotoSize have in common."""

    file_id: str
    file_size: Annotated[int, Field(ge=0, le=2**53)] = 0
    file_name: str | None = None
    mime_type: str | None = None


class Replied(Wire):
    """The message replied to. A topic's first message replies to the topic's creation, which is no reply."""

    message_id: MessageId
    sender: Annotated[User | None, Field(alias="from")] = None
    forum_topic_created: object = None


def _first(values: object) -> object:
    return cast("list[Any]", values)[:MOST_LISTED] if isinstance(values, list) else values


def _last(values: object) -> object:
    return cast("list[Any]", values)[-MOST_LISTED:] if isinstance(values, list) else values


Entities = Annotated[list[Entity], FailFast(), BeforeValidator(_first)]
PhotoSizes = Annotated[list[Media], FailFast(), BeforeValidator(_last)]  # the largest is the last


class Message(Wire):
    """https://core.telegram.org/bots/api#message."""

    message_id: MessageId
    chat: Chat
    date: Seconds
    edit_date: Seconds | None = None
    media_group_id: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    migrate_to_chat_id: Id | None = None
    migrate_from_chat_id: Id | None = None
    sender: Annotated[User | None, Field(alias="from")] = None
    sender_chat: Chat | None = None
    message_thread_id: MessageId | None = None
    is_topic_message: bool = False
    reply_to_message: Replied | None = None
    text: str | None = None
    caption: str | None = None
    entities: Entities = []
    caption_entities: Entities = []
    photo: PhotoSizes = []
    document: Media | None = None
    audio: Media | None = None
    voice: Media | None = None
    video: Media | None = None

    @property
    def topic_id(self) -> int | None:
        """The forum topic; a thread id without the flag is just a chain of replies."""
        return self.message_thread_id if self.is_topic_message else None


class Pressed(Wire):
    """The message whose button was pressed: a Message, or an InaccessibleMessage with little in it."""

    message_id: MessageId
    chat: Chat
    message_thread_id: MessageId | None = None
    is_topic_message: bool = False


class CallbackQuery(Wire):
    """https://core.telegram.org/bots/api#callbackquery."""

    id: Annotated[str, Field(min_length=1, max_length=64)]
    sender: Annotated[User, Field(alias="from")]
    message: Pressed | None = None
    data: str | None = None


class Update(Wire):
    """https://core.telegram.org/bots/api#update."""

    update_id: Annotated[int, Field(ge=0, le=2**53)]
    message: Message | None = None
    edited_message: Message | None = None
    callback_query: CallbackQuery | None = None
