"""The values that cross the border between people's platforms and the hub.

Everything here is plain, frozen and storable. `Address` and `MessageRef` are strings minted by a channel
and read only by it; the core stores and returns them unchanged.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NewType

from core.names import folded, quoted

Address = NewType("Address", str)
"""Where to speak: a chat, a topic, a channel thread. Minted and parsed by its channel only."""

MessageRef = NewType("MessageRef", str)
"""One message shown on a platform. Minted and parsed by its channel only."""


MESSAGE_LIMIT_CHARS = 100_000
"""Of a message, and of a form. No platform lets people write more; programs and terminals can."""
NAME_LIMIT_CHARS = 200
"""Of a person's, an account's or a file's name; a longer one is cut."""


def as_taken(text: str) -> str:
    """Return the text; of one that is too long for the hub, just enough for that to be seen."""
    return text if len(text) <= MESSAGE_LIMIT_CHARS else text[: MESSAGE_LIMIT_CHARS + 1]


@dataclass(frozen=True, slots=True)
class Sender:
    """The person (or bot) behind a message, as the platform knows them."""

    platform_user_id: str
    name: str
    username: str | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A received file: `handle` lets its channel fetch it later, also after a restart.

    `limit_bytes`: larger files the platform does not hand over; None: it has no such limit.
    """

    handle: str
    name: str
    media_type: str
    size_bytes: int
    limit_bytes: int | None = None

    @property
    def out_of_reach(self) -> bool:
        """Whether it can never be fetched."""
        return self.limit_bytes is not None and self.size_bytes > self.limit_bytes


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A message a person wrote.

    `key` names the platform's object and the bot's account (never the envelope) and is unique for ever;
    `order_key` sorts, as text, in the platform's own order within one conversation; `scope` is the
    conversation's external id (None where the channel has just one, as in a terminal; None differs from "").
    `direct`: a private conversation; `addressed`: meant for the bot. `sent_at` is microseconds UTC.
    `ref` is the message itself, where an answer may quote it. Parts of one `album` come one by one and are
    one message; the first may be the only one that is addressed. `edits`: the key of the message whose
    text this is from now on. `continues`: in a conversation with a place of its own, such as a thread below a
    message; whoever was heard there once is meant to be heard without naming the bot again.
    `not_understood`: what it is, if it is neither words nor files.
    """

    key: str
    order_key: str
    channel: str
    address: Address
    scope: str | None
    sender: Sender
    text: str
    sent_at: int
    direct: bool = True
    addressed: bool = True
    attachments: tuple[Attachment, ...] = ()
    reply_to: MessageRef | None = None
    ref: MessageRef | None = None
    album: str | None = None
    edits: str | None = None
    continues: bool = False
    not_understood: str | None = None


EDIT = -1
"""The choice of who wants to change a call's arguments."""


@dataclass(frozen=True, slots=True)
class FormField:
    """Something to be filled in; `value` stands there before."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class EditForm:
    """What can be changed of a prompt's call. `choice`: what handing it in chooses, by its position; once
    somebody has changed the call otherwise, nothing has that position any more."""

    fields: tuple[FormField, ...]
    choice: int


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """A person pressed a choice shown with a prompt. `choice` is its position, see `Message`, or
    `EDIT`; `opens_form`: a form can be shown for that at once, otherwise it is asked for in a message.

    `ref`: the message it was pressed on; it may be a copy whose sending was never answered. `form`: what was
    filled in with it: a call's arguments as JSON, changed before they are agreed to, and then `choice` is the
    `EditForm`'s; or words for a question.
    """

    key: str
    channel: str
    address: Address
    sender: Sender
    gate_id: str
    choice: int
    sent_at: int
    direct: bool = True
    ref: MessageRef | None = None
    form: str | None = None
    opens_form: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something the platform delivered that could not be understood; recorded, then acknowledged."""

    key: str
    channel: str
    summary: str
    sent_at: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A conversation goes on elsewhere: under another address and scope, with order keys of its own."""

    key: str
    channel: str
    old_address: Address
    old_scope: str
    address: Address
    scope: str
    sent_at: int


InboundEvent = InboundMessage | ChoiceAnswer | Moved | Unreadable


@dataclass(frozen=True, slots=True)
class Markdown:
    """Text in Markdown (CommonMark, tables, strikethrough), as models write it."""

    text: str
    kind: Literal["markdown"] = "markdown"


@dataclass(frozen=True, slots=True)
class Plain:
    """Text shown exactly as it is."""

    text: str
    kind: Literal["plain"] = "plain"


@dataclass(frozen=True, slots=True)
class Code:
    """Preformatted text; `language` may be empty."""

    text: str
    language: str = ""
    kind: Literal["code"] = "code"


Block = Markdown | Plain | Code


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer offered with a prompt; its position is its identity, see `Message.first_choice`."""

    label: str


@dataclass(frozen=True, slots=True)
class File:
    """A file to send: a path below the workspace or the hub's own spill directory.

    `size_bytes` and `modified_ns`: the file's as it was when it was said, by which it is known again; 0 where
    nobody looked.
    """

    path: str
    name: str
    media_type: str
    size_bytes: int = 0
    modified_ns: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """Something the hub says. Core says what it means; each channel shows it as well as it can.

    `reply_to`: the message it answers, quoted where others write in between.

    `choices` belong to `gate_id`; `editable`: the arguments of the call they are about can be changed.
    `first_choice`: the position of the first of them. What a prompt asks can change, and then its choices
    have positions that none had before: a press of what is no longer shown is known as such.
    `outcome` is set when a prompt is settled: the choices disappear and
    the outcome line is shown instead.
    """

    blocks: tuple[Block, ...]
    choices: tuple[Choice, ...] = ()
    gate_id: str | None = None
    outcome: str | None = None
    files: tuple[File, ...] = field(default=())
    reply_to: MessageRef | None = None
    editable: bool = False
    first_choice: int = 0


def plain(text: str) -> Message:
    """A message of one plain sentence."""
    return Message(blocks=(Plain(text),))


# What a person sent as a model is told of it: their text, and what they attached.

_UNITS = ((1024 * 1024, "MB"), (1024, "kB"))


def as_told(texts: Sequence[str], attachments: Sequence[Attachment]) -> str:
    """One input: texts under each other, then a line for each file with its name, type and size."""
    lines = [text for text in texts if text.strip()] or ([] if attachments else list(texts[:1]))
    return "\n".join((*lines, *map(_line, attachments)))


def size_in_words(size_bytes: int) -> str:
    """As people write sizes."""
    for unit_bytes, name in _UNITS:
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.1f} {name}".replace(".0 ", " ")
    return f"{size_bytes} bytes"


def _line(attachment: Attachment) -> str:
    facts = [quoted(attachment.name), folded(attachment.media_type)]
    if attachment.size_bytes:
        facts.append(size_in_words(attachment.size_bytes))
    if attachment.out_of_reach:
        facts.append("too large to be read")
    return f"[Attached file: {', '.join(facts)}]"
