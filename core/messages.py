"""The values exchanged between people's platforms and the hub.

Everything here is plain, frozen and storable. `Address` and `MessageRef` are strings created and read only
by a channel; the core stores and returns them unchanged.

A name is data from outside. In a prompt it is one short line, in quotes it cannot close, made of characters
a reader sees: no line ends, controls, direction overrides, invisible or stacked marks, and no brackets that
notes and tags are made of. Every text for a model takes names from here.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from functools import lru_cache
from typing import Literal, NewType

from core.lazy import dataclass

SHOWN_NAME_CHARS = 80
UNNAMED = "unnamed"
_LOOKED_AT_CHARS = 4 * SHOWN_NAME_CHARS
_MAX_MARKS = 2
"""Maximum number of combining marks after one letter: as many as any script regularly writes."""
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""The few characters that are not separators and yet show nothing."""
_VARIANTS = re.compile("[\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_QUOTES = re.compile('["`\u00b4\u02ba\u02dd\u02ee\u05f4\u2032-\u2037\u275b-\u275e\u301d-\u301f]')


def quoted(name: str) -> str:
    """Return the name in double quotes, as one bounded line that holds no further double quote."""
    return f'"{folded(name)}"'


def folded(name: str, limit_chars: int = SHOWN_NAME_CHARS) -> str:
    """Return the name as one line of visible characters, at most `limit_chars` of them; never empty."""
    if name.isascii() and name.isalnum() and len(name) <= limit_chars:
        return name
    return _folded(name[:_LOOKED_AT_CHARS], limit_chars)


@lru_cache(512)  # cached: the same few names appear in every turn of a thread
def _folded(name: str, limit_chars: int) -> str:
    text = _VARIANTS.sub("", unicodedata.normalize("NFKC", name))
    line = " ".join("".join(_seen(text)).split())
    return _cut(line, limit_chars) or UNNAMED


def _seen(text: str) -> list[str]:
    """Return the visible characters. Those used in notes, tags and quotations are replaced by harmless
    ones."""
    seen: list[str] = []
    marks = _MAX_MARKS
    for one in text:
        category = unicodedata.category(one)
        if category[0] == "M":
            marks += 1
            if marks <= _MAX_MARKS:
                seen.append(one)
            continue
        shown = _shown(one, category)
        marks = _MAX_MARKS if shown == " " or not shown else 0
        seen.append(shown)
    return seen


def _shown(one: str, category: str) -> str:
    if category in {"Cc", "Zs", "Zl", "Zp"} or one in _BLANK_LETTERS:
        return " "
    if category[0] == "C":
        return ""
    if category in {"Pi", "Pf"} or _QUOTES.match(one):
        return "'"
    if category == "Ps" or one == "<":
        return "("
    return ")" if category == "Pe" or one == ">" else one


def _cut(line: str, limit_chars: int) -> str:
    return line if len(line) <= limit_chars else f"{line[: limit_chars - 1].rstrip()}…"


Address = NewType("Address", str)
"""The address of a conversation: a chat, a topic, a channel thread. Created and parsed by its
channel only."""

MessageRef = NewType("MessageRef", str)
"""One message shown on a platform. Created and parsed by its channel only."""


MESSAGE_LIMIT_CHARS = 100_000
"""Maximum length of a message or a form. No platform lets people write more; programs and
terminals can."""
NAME_LIMIT_CHARS = 200
"""Maximum length of a person's, an account's or a file's name; a longer one is cut."""


def as_taken(text: str) -> str:
    """Return the text, cut to just over the limit if it is too long for the hub, so that the excess
    shows."""
    return text if len(text) <= MESSAGE_LIMIT_CHARS else text[: MESSAGE_LIMIT_CHARS + 1]


@dataclass(frozen=True, slots=True)
class Sender:
    """The person (or bot) behind a message, as the platform knows them."""

    platform_user_id: str
    name: str
    username: str | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A received file. `handle` lets its channel fetch it later, also after a restart.

    `limit_bytes`: the platform does not deliver larger files; None: it has no such limit.
    """

    handle: str
    name: str
    media_type: str
    size_bytes: int
    limit_bytes: int | None = None

    @property
    def out_of_reach(self) -> bool:
        """True if the file can never be fetched."""
        return self.limit_bytes is not None and self.size_bytes > self.limit_bytes


class WhileBusy(StrEnum):
    """The fate of a message that arrives while a turn runs: it waits for its own turn, joins the running one
    before its next model call, or ends it."""

    QUEUE = "queue"
    STEER = "steer"
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A message a person wrote.

    `key`: names the platform's object and the bot's account (never the envelope); unique for all
    time.
    `order_key`: sorts, as text, in the platform's own order within one conversation.
    `scope`: the conversation's external id (None if the channel has just one, as in a terminal;
    None differs from "").
    `direct`: a private conversation.
    `addressed`: meant for the bot.
    `sent_at`: microseconds UTC.
    `ref`: the message itself, if an answer may quote it.
    `album`: parts of one album come one by one and are one message; the first may be the only one
    that is addressed.
    `edits`: the key of the message whose text this is from now on.
    `continues`: sent in a separate conversation, such as a thread below a message. A person
    accepted there once need not name the bot again.
    `not_understood`: the kind of content, if it is neither words nor files.
    `while_busy`: what its writer wants of it while a turn runs; None: as configured.
    `instead_of`: the id of the turn that is undone first, with all after it.
    `model`: the model that a conversation which begins with it tries first.
    `menu_id`: the menu whose choice was pressed instead of writing the text.
    `below`: the message of the hub's in whose thread it was written, where threads begin below messages.
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
    while_busy: WhileBusy | None = None
    instead_of: str | None = None
    model: str | None = None
    menu_id: str | None = None
    below: MessageRef | None = None


EDIT = -1
"""The choice for editing a call's arguments."""


@dataclass(frozen=True, slots=True)
class FormField:
    """A field to fill in. `value`: its initial value."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class EditForm:
    """The editable fields of a gate's call.

    `choice`: the position of the choice that submitting the form makes. Once somebody else has
    edited the call, no choice has that position any more."""

    fields: tuple[FormField, ...]
    choice: int


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """A press of a choice on a gate's card.

    `choice`: its position, see `Message`, or `EDIT`.
    `opens_form`: the platform can show a form for that at once, otherwise a message asks for it.
    `ref`: the message it was pressed on; it may be a card whose sending was never answered.
    `form`: the submitted form. It holds a call's arguments as JSON, edited before approval, and
    then `choice` is the `EditForm`'s; or words for a question.
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
    """An unreadable event from the platform. It is recorded, then acknowledged."""

    key: str
    channel: str
    summary: str
    sent_at: int


@dataclass(frozen=True, slots=True)
class Moved:
    """A conversation that moved to another address and scope, where new order keys apply."""

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
    """One answer offered by a gate. Its position is its identity, see `Message.first_choice`.

    `says`: the message that a press sends in the person's name; empty if the choice answers a gate.
    `writes`: it is for writing a reply to the message; its press says how that is done."""

    label: str
    says: str = ""
    writes: bool = False


THREAD_FILE = "thread:"
"""The path of a file that is a whole conversation begins with it. It is written when it is sent."""


@dataclass(frozen=True, slots=True)
class LinkButton:
    """A button that opens a web page; a press of it is not reported to the hub."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class File:
    """A file to send: a path below the workspace or the hub's own spill directory, or `THREAD_FILE` and a
    thread's id.

    `size_bytes` and `modified_ns`: the file's values when the message was written, by which it is
    recognized; 0 if not checked.
    """

    path: str
    name: str
    media_type: str
    size_bytes: int = 0
    modified_ns: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the hub. Core states its meaning; each channel shows it as well as it can.

    `reply_to`: the message it answers, quoted if others write in between.
    `choices`: belong to `gate_id`, the id of a gate or a menu.
    `editable`: the arguments of the call they are about can be changed.
    `first_choice`: the position of the first of them. If a gate changes, its choices get new
    positions, so a press on an outdated choice is recognized.
    `outcome`: set once a gate is settled. The choices disappear and the outcome line is shown
    instead.
    `mark`: a line beside its last text that was added later, without changing how it is cut into parts.
    Its choices are not shown then.
    `link`: a button before the choices, gone with them.
    """

    blocks: tuple[Block, ...]
    choices: tuple[Choice, ...] = ()
    gate_id: str | None = None
    outcome: str | None = None
    files: tuple[File, ...] = field(default=())
    reply_to: MessageRef | None = None
    editable: bool = False
    first_choice: int = 0
    mark: str | None = None
    link: LinkButton | None = None

    @property
    def speaks(self) -> bool:
        """True if its choices are messages in the person's name; no gate has its id."""
        return bool(self.choices) and bool(self.choices[0].says)


def plain(text: str) -> Message:
    """Return a message of one plain sentence."""
    return Message(blocks=(Plain(text),))


# A person's message in the form a model sees: the text and a line for each attachment.

_UNITS = ((1024 * 1024, "MB"), (1024, "kB"))


def as_told(texts: Sequence[str], attachments: Sequence[Attachment]) -> str:
    """Return one input: the texts below each other, then a line for each file with its name, type and
    size."""
    lines = [text for text in texts if text.strip()] or ([] if attachments else list(texts[:1]))
    return "\n".join((*lines, *map(_line, attachments)))


def size_in_words(size_bytes: int) -> str:
    """Return a size in readable units."""
    for unit_bytes, name in _UNITS:
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.1f} {name}".replace(".0 ", " ")
    return f"{size_bytes} bytes"


def _line(attachment: Attachment) -> str:
    facts = [quoted(attachment.name), folded(attachment.media_type)]
    if attachment.size_bytes:
        facts.append(size_in_words(attachment.size_bytes))
    if attachment.out_of_reach:
        facts.append("too large to read")
    return f"[Attached file: {', '.join(facts)}]"
