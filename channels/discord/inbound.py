"""Discord's messages, presses, forms and commands as the hub's values, from the parts of the payloads
that the hub reads. Pure; reading never raises, whatever the payload.

Event keys: `dc:<bot>:m:<id>` for a message, with `:e<edited timestamp>` for an edited text,
`dc:<bot>:i:<id>` for a button press or a command, `dc:<bot>:u:<id>` for an unreadable event.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError

from channels.discord.addresses import micros_of, order_key_of, ref_of
from channels.text.blocks import showable
from core.messages import (
    EDIT,
    Address,
    Attachment,
    ChoiceAnswer,
    EditForm,
    FormField,
    InboundEvent,
    InboundMessage,
    MessageRef,
    Sender,
    Unreadable,
    as_taken,
)

# The parts of Discord's payloads that the hub reads (documentation, Resources and Receiving and Responding).
# The rest is ignored.

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


COMMAND, COMPONENT, MODAL_SUBMIT = 2, 3, 5
"""Interaction types."""

# Editing of a call's arguments in a modal (documentation, Component Reference, Text Input): its content
# and its submission.

MAX_INPUTS = 5
"""A modal has up to five rows with one input each. More fields share one JSON input."""
MAX_VALUE_CHARS = 4_000
MAX_LABEL_CHARS = 45
MAX_ID_CHARS = 100
WHOLE = "(JSON)"
"""The name of the single input that replaces too many fields."""
TOO_LONG = "The arguments are too long for a form here. Edit them in the console."

_ACTION_ROW, _TEXT_INPUT, _PARAGRAPH = 1, 4, 2


def modal_of(gate_id: str, form: EditForm) -> dict[str, object] | None:
    """Return the modal for a form, or None if it does not fit into Discord's limits."""
    fields: Sequence[FormField] = form.fields
    if len(fields) > MAX_INPUTS:
        whole = {field.name: field.value for field in fields}
        fields = [FormField(WHOLE, json.dumps(whole, ensure_ascii=False, indent=1))]
    if any(len(field.value) > MAX_VALUE_CHARS or len(field.name) > MAX_ID_CHARS for field in fields):
        return None
    return {
        "custom_id": f"p:{gate_id}:{form.choice}",
        "title": "Edit the call",
        "components": [{"type": _ACTION_ROW, "components": [_input(field)]} for field in fields],
    }


def form_of(data: InteractionData) -> str:
    """Return the submitted values as JSON."""
    values = {one.custom_id: one.value for row in data.components for one in row.components}
    return values.get(WHOLE) or json.dumps(values, ensure_ascii=False)


def _input(field: FormField) -> dict[str, object]:
    shown: dict[str, object] = {
        "type": _TEXT_INPUT,
        "custom_id": field.name,
        "style": _PARAGRAPH,
        "label": field.name[:MAX_LABEL_CHARS],
        "required": False,
        "max_length": MAX_VALUE_CHARS,
    }
    if field.value:
        shown["value"] = field.value
    return shown


# Payloads, as the hub's values.

OPTION = "text"
"""The only option of a command."""

_SPOKEN = frozenset({0, 19})
"""The message types that people write: a message and a reply. Others report joins, pins and the like."""

_CHOICE = re.compile(r"p:([0-9A-Za-z]{1,32}):([0-9]{1,5}|e)")
_ANGLE = re.compile(r"<(?:(@!?|@&|#)([0-9]{1,20})|a?(:\w{1,32}:)[0-9]{1,20}|(/[^<>:\n]{1,100}):[0-9]{1,20})>")


@dataclass(frozen=True, slots=True)
class Account:
    """The bot as Discord knows it."""

    user_id: str
    application_id: str


@dataclass(frozen=True, slots=True)
class Where:
    """The kind of conversation in a channel. `direct`: with one person alone. `thread`: in a thread."""

    direct: bool
    thread: bool = False


def where_of(channel: Channel) -> Where:
    """Return the kind of a channel."""
    return Where(direct=channel.type == DM, thread=channel.type in THREADS)


def read_event(
    payload: object, account: Account, channel: str, where: Where, now: int
) -> InboundEvent | None:
    """Return the message in MESSAGE_CREATE, or None if no person wrote it or it is empty.

    `now`: microseconds UTC."""
    try:
        message = Message.model_validate(payload)
    except ValidationError as error:
        return Unreadable(_unreadable_key(payload, account, now), channel, _summary(error), now)
    return read_message(message, account, channel, where)


def read_change(payload: object, account: Account, channel: str, where: Where) -> InboundMessage | None:
    """Return the edited text in MESSAGE_UPDATE, or None for other changes, such as an expanded link."""
    try:
        message = Message.model_validate(payload)
    except ValidationError:  # some updates contain only a few fields
        return None
    read = read_message(message, account, channel, where)
    if read is None or read.not_understood is not None or message.edited_timestamp is None:
        return None
    return replace(read, key=f"{read.key}:e{message.edited_timestamp[:64]}", edits=read.key)


def read_message(message: Message, account: Account, channel: str, where: Where) -> InboundMessage | None:
    """Return a message from an event or from the history. None if no person wrote it or it is empty."""
    author = message.author
    if message.type not in _SPOKEN or message.webhook_id is not None or author.bot or author.system:
        return None
    attachments = tuple(_attachment(message, file) for file in message.attachments)
    text, _ = plain_text(message.content, message.mentions, account)
    not_understood = None
    if not text and not attachments:
        not_understood = "sticker" if message.sticker_items else "poll" if message.poll else None
        if not_understood is None:
            return None
    answered = message.referenced_message
    answers_us = answered is not None and answered.author.id == account.user_id
    named = any(user.id == account.user_id for user in message.mentions)
    return InboundMessage(
        key=f"dc:{account.user_id}:m:{message.id}",
        order_key=order_key_of(message.id),
        channel=channel,
        address=Address(message.channel_id),
        scope=message.channel_id,
        sender=_sender(author, message.member),
        text=text,
        sent_at=micros_of(message.id),
        direct=where.direct,
        addressed=where.direct or named or answers_us,
        attachments=attachments,
        reply_to=_answered(message),
        ref=ref_of(message.channel_id, message.id),
        continues=where.thread,
        not_understood=not_understood,
    )


def read_interaction(payload: object) -> Interaction | None:
    """Return the interaction, or None if it is unreadable and so cannot be answered either."""
    try:
        return Interaction.model_validate(payload)
    except ValidationError:
        return None


def read_press(pressed: Interaction, account: Account, channel: str) -> ChoiceAnswer | None:
    """Return the answer in a button press or a submitted modal, or None for anything but choices."""
    chosen, user = _CHOICE.fullmatch(pressed.data.custom_id), _person(pressed)
    if pressed.type not in (COMPONENT, MODAL_SUBMIT) or chosen is None or user is None:
        return None
    if pressed.channel_id is None or pressed.message is None:
        return None
    return ChoiceAnswer(
        key=f"dc:{account.user_id}:i:{pressed.id}",
        channel=channel,
        address=Address(pressed.channel_id),
        sender=_sender(user, pressed.member),
        gate_id=chosen[1],
        choice=EDIT if chosen[2] == "e" else int(chosen[2]),
        sent_at=micros_of(pressed.id),
        direct=pressed.guild_id is None,
        ref=ref_of(pressed.channel_id, pressed.message.id),
        form=form_of(pressed.data) if pressed.type == MODAL_SUBMIT else None,
        opens_form=True,
    )


def read_command(used: Interaction, account: Account, channel: str) -> InboundMessage | None:
    """Return a command as a message with the same meaning: `/NAME TEXT`."""
    user = _person(used)
    if used.type != COMMAND or used.channel_id is None or user is None or not used.data.name:
        return None
    filled = next((str(option.value) for option in used.data.options if option.name == OPTION), "")
    return InboundMessage(
        key=f"dc:{account.user_id}:i:{used.id}",
        order_key=order_key_of(used.id),
        channel=channel,
        address=Address(used.channel_id),
        scope=used.channel_id,
        sender=_sender(user, used.member),
        text=showable(as_taken(f"/{used.data.name} {filled}")).strip(),
        sent_at=micros_of(used.id),
        direct=used.guild_id is None,
        addressed=True,
        continues=used.channel is not None and used.channel.type in THREADS,
    )


def plain_text(content: str, mentions: tuple[User, ...], account: Account) -> tuple[str, bool]:
    """Return Discord's text as people read it, and whether it mentions the bot.

    The bot's name is removed at both ends of the text."""
    names = {user.id: user.global_name or user.username for user in mentions}
    mentioned = False

    def shown(match: re.Match[str]) -> str:
        nonlocal mentioned
        kind, number, emoji, command = match.groups()
        if emoji or command:
            return str(emoji or command)
        if kind in ("@", "@!") and number == account.user_id:
            mentioned = True
            return "\x00"
        return f"#{number}" if kind == "#" else f"@{names.get(number) or number}"

    read = _ANGLE.sub(shown, as_taken(content).replace("\x00", ""))
    read = read.strip().strip("\x00").strip().replace("\x00", "@me")
    return showable(read), mentioned


def _attachment(message: Message, file: File) -> Attachment:
    handle = f"{message.channel_id}:{message.id}:{file.id}"
    name = showable(as_taken(file.filename))[:255] or "file"
    return Attachment(handle, name, file.content_type or "application/octet-stream", max(file.size, 1))


def _answered(message: Message) -> MessageRef | None:
    reference = message.message_reference
    if reference is None or reference.type != 0 or reference.message_id is None:
        return None
    return ref_of(reference.channel_id or message.channel_id, reference.message_id)


def _person(interaction: Interaction) -> User | None:
    return interaction.user or (interaction.member.user if interaction.member is not None else None)


def _sender(user: User, member: Member | None) -> Sender:
    nick = member.nick if member is not None else None
    return Sender(
        user.id,
        showable(as_taken(nick or user.global_name or user.username or user.id)),
        user.username or None,
    )


def _unreadable_key(payload: object, account: Account, now: int) -> str:
    found = cast("Mapping[str, Any]", payload).get("id") if isinstance(payload, Mapping) else None
    return f"dc:{account.user_id}:u:{found if isinstance(found, str) and found else now}"[:200]


def _summary(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"[:300]
