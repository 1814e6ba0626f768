"""The parts of Discord's payloads that the hub reads (documentation, Resources and Receiving and
Responding). The rest is ignored."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, FailFast, Field

Snowflake = Annotated[str, Field(pattern=r"^[0-9]{1,20}$")]

DM = 1
THREADS = frozenset({10, 11, 12})
"""Channel types: announcement thread, public thread, private thread."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class User(_Part):
    """A person, bot or webhook."""

    id: Snowflake
    username: str = ""
    global_name: str | None = None
    bot: bool = False
    system: bool = False


class Member(_Part):
    """A person as a guild knows them. Messages carry it without `user`."""

    nick: str | None = None
    user: User | None = None


class File(_Part):
    """An attachment."""

    id: Snowflake
    filename: str = "file"
    size: int = 0
    content_type: str | None = None
    url: str = ""


class Reference(_Part):
    """The reference to the message replied to."""

    type: int = 0
    message_id: Snowflake | None = None
    channel_id: Snowflake | None = None


class Author(_Part):
    """The author of the message replied to."""

    author: User


class Message(_Part):
    """A message. Only events name its guild. `poll` and `sticker_items` only matter if present."""

    id: Snowflake
    channel_id: Snowflake
    guild_id: Snowflake | None = None
    author: User
    member: Member | None = None
    content: str = ""
    type: int = 0
    webhook_id: Snowflake | None = None
    edited_timestamp: str | None = None
    mentions: Annotated[tuple[User, ...], FailFast()] = ()
    attachments: Annotated[tuple[File, ...], FailFast()] = ()
    message_reference: Reference | None = None
    referenced_message: Author | None = None
    poll: object = None
    sticker_items: tuple[object, ...] = ()


class Channel(_Part):
    """A channel, with the fields that show its kind."""

    id: Snowflake
    type: int = 0
    guild_id: Snowflake | None = None


class Option(_Part):
    """An option filled in with a command."""

    name: str
    value: Any = None


class Input(_Part):
    """A submitted text input of a modal."""

    custom_id: str = ""
    value: str = ""


class Row(_Part):
    """An action row of a modal."""

    components: Annotated[tuple[Input, ...], FailFast()] = ()


class InteractionData(_Part):
    """The pressed button, submitted modal or command."""

    name: str = ""
    custom_id: str = ""
    options: Annotated[tuple[Option, ...], FailFast()] = ()
    components: Annotated[tuple[Row, ...], FailFast()] = ()


class Named(_Part):
    """An object with an id."""

    id: Snowflake


class Interaction(_Part):
    """A button press, a submitted modal or a command. `user` is set in private, `member` in guilds."""

    id: Snowflake
    type: int
    token: str
    channel_id: Snowflake | None = None
    channel: Channel | None = None
    guild_id: Snowflake | None = None
    user: User | None = None
    member: Member | None = None
    message: Named | None = None
    data: InteractionData = InteractionData()
