"""Slack's events, presses and commands as the hub's values, from the parts of the payloads that the hub
reads. Pure; reading never raises, whatever the payload.

Event keys: `sl:<team>:m:<channel>:<ts>` for a message (a mention of the bot and its message are the
same event), with `:e<ts>` for an edited text,
`sl:<team>:i:<channel>:<ts>:<user>:<action ts>` for a button press,
`sl:<team>:v:<view>:<hash of the form>` for a form, `sl:<team>:c:<trigger>` for a slash command,
`sl:<team>:u:<event>` for an unreadable event.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, ValidationError

from channels.slack.addresses import address_of, micros_of, order_key_of, ref_of
from channels.text.blocks import showable
from core.clock import SECOND_US
from core.messages import (
    EDIT,
    Attachment,
    Block,
    ChoiceAnswer,
    InboundEvent,
    InboundMessage,
    Plain,
    Sender,
    Unreadable,
    as_taken,
)
from core.texts import COMMANDS

# The parts of Slack's payloads that the hub reads (https://docs.slack.dev/reference/events). The rest is
# ignored.

MAX_INPUTS = 100
"""The limit on inputs. A modal has at most 100 blocks, and an input block has one element."""

Id = Annotated[str, Field(min_length=1, max_length=64)]
Ts = Annotated[str, Field(pattern=r"^\d{1,12}\.\d{1,6}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class File(_Part):
    """A file attached to a message. Files of other workspaces have no URL."""

    id: str = ""
    name: str | None = None
    mimetype: str | None = None
    size: int = 0
    url_private_download: str | None = None
    url_private: str | None = None


class Edited(_Part):
    """The time of an edit."""

    ts: Ts


class MessageEvent(_Part):
    """A `message` or `app_mention` event. For changes, `message` holds the current message."""

    type: str
    subtype: str | None = None
    channel: Id
    channel_type: str | None = None
    user: str | None = None
    bot_id: str | None = None
    text: str = ""
    ts: Ts
    thread_ts: Ts | None = None
    parent_user_id: str | None = None
    files: Annotated[tuple[File, ...], FailFast()] = ()
    edited: Edited | None = None
    hidden: bool = False
    message: dict[str, Any] | None = None


class EventPayload(_Part):
    """A payload of the Events API, by HTTP or in an envelope."""

    type: str
    team_id: str = ""
    event_id: str = ""
    event: dict[str, Any] = Field(default_factory=dict)


class Named(_Part):
    """An object with an id, and its name if it has one."""

    id: Id
    name: str | None = None
    username: str | None = None


class Action(_Part):
    """A pressed button."""

    action_id: str = ""
    value: str = ""
    action_ts: str = ""


class Container(_Part):
    """The location of a pressed button."""

    channel_id: str | None = None
    message_ts: Ts | None = None
    thread_ts: Ts | None = None


class Interaction(_Part):
    """A `block_actions` payload: a person pressed a button."""

    type: str
    user: Named
    team: Named | None = None
    channel: Named | None = None
    container: Container = Container()
    actions: Annotated[tuple[Action, ...], FailFast()] = ()
    trigger_id: str = ""


class Filled(_Part):
    """The value of an input."""

    value: str | None = None


def _few(values: object) -> object:
    """Check the number of inputs before each is validated, because each error would be recorded."""
    if isinstance(values, dict) and len(cast("dict[str, Any]", values)) > MAX_INPUTS:
        raise ValueError(f"more than {MAX_INPUTS} inputs")
    return cast("object", values)


_Filled = Annotated[dict[str, Filled], BeforeValidator(_few)]


class ViewState(_Part):
    """The values of a view by block and action."""

    values: Annotated[dict[str, _Filled], BeforeValidator(_few)] = Field(default_factory=dict)


class View(_Part):
    """A submitted modal."""

    id: Id
    callback_id: str = ""
    private_metadata: str = ""
    state: ViewState = ViewState()


class Submission(_Part):
    """A `view_submission` payload: a person submitted a modal."""

    type: Literal["view_submission"]
    user: Named
    view: View


class Command(_Part):
    """A slash command, as the form that Slack sends."""

    command: str
    text: str = ""
    team_id: str = ""
    channel_id: Id
    channel_name: str = ""
    user_id: Id
    user_name: str = ""
    trigger_id: Id


# The hub's commands as they are typed on Slack.
#
# Slack treats any text that begins with a slash as one of its commands and sends it to no one. The
# hub's commands therefore follow the app's command: `/hubbub status`. Commands meant to be typed on
# another platform are left unchanged.

APP_COMMAND = "/hubbub"

_NAMES = frozenset(name for name, _ in COMMANDS)
_ALONE = frozenset(
    {"clear", "close", "help", "pause", "redo", "resume", "retry", "status", "threads", "unpause"}
)
"""Commands without arguments. With more words after them, they count as ordinary text."""
_ELSEWHERE = r"(?:\s\S+)?\s[0-9A-Z]{8}\b"
"""A pairing code after a command. Such a command is typed on another platform."""
_TOLD = re.compile(rf"(?<![\w/])/({'|'.join(sorted(_NAMES))})(?![\w/])(?!{_ELSEWHERE})")


def meant_by(typed: str) -> str:
    """Return the hub's input for text typed after the app's command."""
    text = typed.strip() or "help"
    word, *more = text.split(maxsplit=1)
    is_command = word.lower() in (_NAMES - _ALONE if more else _NAMES)
    return f"/{text}" if is_command else text


def typed_here(said: Iterable[Block]) -> tuple[Block, ...]:
    """Return the hub's texts with its commands as people type them on Slack."""
    return tuple(
        Plain(_TOLD.sub(rf"{APP_COMMAND} \1", block.text)) if isinstance(block, Plain) else block
        for block in said
    )


_SPOKEN = frozenset({None, "file_share", "thread_broadcast", "me_message"})
"""The subtypes of `message` that people write. Others report joins, topics, bots and the like."""

_CHOICE = re.compile(r"p:([0-9A-Za-z]{1,32}):([0-9]{1,5}|e)")
_ANGLE = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")


@dataclass(frozen=True, slots=True)
class Account:
    """The bot as Slack knows it."""

    team_id: str
    user_id: str
    bot_id: str = ""


def is_by_bot(payload: Mapping[str, Any]) -> bool:
    """Tell whether an Events API payload holds a message that a bot wrote, this one or another."""
    event = payload.get("event")
    if not isinstance(event, dict) or (said := cast("Mapping[str, Any]", event)).get("type") != "message":
        return False
    return said.get("bot_id") is not None and said.get("subtype") != "message_changed"


def read_event(payload: object, account: Account, channel: str, now: int) -> InboundEvent | None:
    """Return the event in an Events API payload, or None if it does not concern the hub.

    `now`: microseconds UTC."""
    try:
        outer = EventPayload.model_validate(payload)
        if outer.event.get("type") not in ("message", "app_mention"):
            return None
        event = MessageEvent.model_validate(outer.event)
    except ValidationError as error:
        return Unreadable(_unreadable_key(payload, account, now), channel, _summary(error), now)
    return read_message(event, account, channel)


def read_message(event: MessageEvent, account: Account, channel: str) -> InboundMessage | None:
    """Return a message from an event or from the history. None if no person wrote it or it is empty."""
    if event.subtype == "message_changed":
        return _read_change(event, account, channel)
    if event.subtype not in _SPOKEN or event.hidden:
        return None
    if event.user is None or event.bot_id is not None or event.user in (account.user_id, "USLACKBOT"):
        return None
    attachments = tuple(_attachment(file) for file in event.files)
    text, mentioned = plain_text(event.text, account)
    if not text and not attachments:
        return None
    direct = event.channel_type == "im" or event.channel.startswith("D")
    # In a channel, each message starts a thread below it. A private conversation has no such threads.
    thread_ts = event.thread_ts if direct else (event.thread_ts or event.ts)
    address = address_of(event.channel, thread_ts)
    answers_us = event.parent_user_id == account.user_id and event.thread_ts != event.ts
    return InboundMessage(
        key=f"sl:{account.team_id}:m:{event.channel}:{event.ts}",
        order_key=order_key_of(event.ts),
        channel=channel,
        address=address,
        scope=address,
        sender=Sender(event.user, event.user),
        text=text,
        sent_at=micros_of(event.ts),
        direct=direct,
        addressed=direct or mentioned or answers_us or event.type == "app_mention",
        attachments=attachments,
        ref=ref_of(event.channel, event.ts),
        continues=not direct and event.thread_ts is not None,
        below=ref_of(event.channel, event.thread_ts) if answers_us and event.thread_ts is not None else None,
    )


def _read_change(event: MessageEvent, account: Account, channel: str) -> InboundMessage | None:
    """Return an edited text. Other changes (such as an expanded link) have the same shape and give None."""
    try:
        inner = {"channel": event.channel, "channel_type": event.channel_type, **(event.message or {})}
        changed = MessageEvent.model_validate(inner)
    except ValidationError:
        return None
    if changed.edited is None or (read := read_message(changed, account, channel)) is None:
        return None
    return replace(read, key=f"{read.key}:e{changed.edited.ts}", edits=read.key)


def read_press(payload: object, account: Account, channel: str, now: int) -> InboundEvent | None:
    """Return the answer in a `block_actions` payload, or None for presses of anything but choices."""
    try:
        pressed = Interaction.model_validate(payload)
    except ValidationError as error:
        return Unreadable(_unreadable_key(payload, account, now), channel, _summary(error), now)
    if pressed.type != "block_actions" or not pressed.actions:
        return None
    action, where = pressed.actions[0], pressed.container
    chosen = _CHOICE.fullmatch(action.value)
    target = where.channel_id or (pressed.channel.id if pressed.channel else None)
    if chosen is None or target is None or where.message_ts is None:
        return None
    direct = target.startswith("D")
    user = pressed.user
    key = f"sl:{account.team_id}:i:{target}:{where.message_ts}:{user.id}:{action.action_ts}"
    return ChoiceAnswer(
        key=key,
        channel=channel,
        address=address_of(target, where.thread_ts),
        sender=Sender(user.id, showable(as_taken(user.name or user.username or user.id)), user.username),
        gate_id=chosen[1],
        choice=EDIT if chosen[2] == "e" else int(chosen[2]),
        sent_at=now,
        direct=direct,
        ref=ref_of(target, where.message_ts),
        opens_form=True,
    )


def read_command(form: Mapping[str, str], account: Account, channel: str, now: int) -> InboundEvent | None:
    """Return `/hubbub TEXT` as a message with the text TEXT. The hub's commands need no slash in it."""
    try:
        typed = Command.model_validate(form)
    except ValidationError as error:
        return Unreadable(_unreadable_key(form, account, now), channel, _summary(error), now)
    direct = typed.channel_id.startswith("D")
    address = address_of(typed.channel_id)
    return InboundMessage(
        key=f"sl:{account.team_id}:c:{typed.trigger_id}",
        order_key=order_key_of(f"{now // SECOND_US}.{now % SECOND_US:06d}"),
        channel=channel,
        address=address,
        scope=address,
        sender=Sender(typed.user_id, showable(as_taken(typed.user_name or typed.user_id))),
        text=meant_by(showable(as_taken(typed.text))),
        sent_at=now,
        direct=direct,
        addressed=True,
    )


def unread_envelope(envelope_id: str, why: str, account: Account, channel: str, now: int) -> Unreadable:
    """Return an event for an envelope of which only the id was read."""
    return Unreadable(f"sl:{account.team_id}:u:{envelope_id or now}"[:200], channel, why, now)


def plain_text(text: str, account: Account) -> tuple[str, bool]:
    """Return Slack's text as people read it, and whether it mentions the bot.

    The bot's name is removed at both ends of the text."""
    mentioned = False

    def shown(match: re.Match[str]) -> str:
        nonlocal mentioned
        target, label = match[1], match[2]
        if target == f"@{account.user_id}":
            mentioned = True
            return "\x00"
        if target[:1] in "@#":
            return f"{target[0]}{label or target[1:]}"
        if target[:1] == "!":
            return f"@{(label or target[1:]).lstrip('@')}"
        return target if not label or label == target.removeprefix("mailto:") else f"{label} ({target})"

    read = _ANGLE.sub(shown, as_taken(text))
    read = read.strip().strip("\x00").strip().replace("\x00", "@me")
    unescaped = read.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return showable(unescaped), mentioned


def _attachment(file: File) -> Attachment:
    address = file.url_private_download or file.url_private or ""
    name = showable(as_taken(file.name or "file"))[:255]
    # Without a URL there is nothing to download, which a limit of 0 expresses.
    limit = None if address else 0
    return Attachment(address, name, file.mimetype or "application/octet-stream", max(file.size, 1), limit)


def _unreadable_key(payload: object, account: Account, now: int) -> str:
    found = payload.get("event_id") if isinstance(payload, Mapping) else None  # type: ignore[reportUnknownMemberType]
    return f"sl:{account.team_id}:u:{found if isinstance(found, str) and found else now}"[:200]


def _summary(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"[:300]
