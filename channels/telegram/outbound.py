"""The hub's messages as parameters of sendMessage, editMessageText, sendPhoto and sendDocument.
Pure and deterministic."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from channels.channel import FILE, Payload
from channels.telegram.addresses import parse_ref
from channels.telegram.entities import (
    Composer,
    TelegramEntity,
    TelegramText,
    is_linkable,
    utf16_units,
    would_mention,
)
from channels.text.blocks import Link, Mark, showable
from channels.text.chunking import split
from channels.text.layout import FlatSpan, FlatText, Preformatted, lay_out
from channels.text.markdown import parse, read
from core import messages, texts
from core.messages import File, Message

# Outgoing files: photos if Telegram can show them as such, else documents.

PHOTO_LIMIT_BYTES = 10 * 1024 * 1024
"""Bot API, sendPhoto: "The photo must be at most 10 MB in size"."""

UPLOAD_LIMIT_BYTES = 50 * 1024 * 1024
"""Bot API, sendDocument: "Bots can currently send files of any type of up to 50 MB in size"."""

PHOTO_TYPES = frozenset({"image/jpeg", "image/png", "image/webp"})

ReadFile = Callable[[str, int], Awaitable[bytes]]
"""Reads a file that the hub may show, by its path and up to a limit in bytes. Blocks; raises
ValueError with a reason for people."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file, and whether to send it as a photo."""

    path: str
    name: str
    media_type: str
    as_photo: bool


class UploadMethod(NamedTuple):
    """A method of the Bot API and its parameter for the file."""

    method: str
    field: str


PHOTO = UploadMethod("sendPhoto", "photo")
DOCUMENT = UploadMethod("sendDocument", "document")


def methods_for(upload: Upload, size_bytes: int) -> tuple[UploadMethod, ...]:
    """Return the methods to try, in order. An image that Telegram cannot show as a photo is still a file."""
    if upload.as_photo and size_bytes <= PHOTO_LIMIT_BYTES:
        return PHOTO, DOCUMENT
    return (DOCUMENT,)


# The hub's messages, as Telegram messages.
#
# Every message is within `limit_units` UTF-16 code units, keeps Telegram's limits on entities and
# has something visible in it (Telegram refuses a blank message). Blank input gives no message. No
# text raises an error. `channels.text.blocks.showable` explains the treatment of control characters
# and lone surrogates, `channels.telegram.entities` the disarming of mentions.

MAX_TEXT_UNITS = 4096
"""Bot API, sendMessage: "1-4096 characters after entities parsing"."""
RENDERING_HINT = (
    "Markdown is shown there: bold, italic, strikethrough, links, lists, quotes and code blocks; tables "
    "become monospaced text. Replies over 4,096 characters are split."
)
"""What models are told of it."""

TAB_COLUMNS = 4
"""The width of a tab in code. Telegram shows a tab as one space, so tabs are widened."""

_BLANK = re.compile(
    r"[\s\u030a\u0333\u033f\u180e\u200b-\u200f\u2028-\u202e\u2060\u2800\ufeff\ufffc\U000e0000-\U000e007f]*"
)
"""The characters that Telegram drops or treats as blank."""

_SPECIAL = re.compile(
    r"[\\`*_~\[\]<&|@\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]"
    r"|^[^\S\n]|[^\S\n]$"
    r"|^[#>+=-]|^[0-9]{1,9}[.)]"
    r"|\n{3}",
    re.MULTILINE,
)
"""Text that may have a meaning in Markdown, or cannot be sent unchanged."""

_BARE_URL = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)


def render_markdown(markdown_text: str, limit_units: int = MAX_TEXT_UNITS) -> tuple[TelegramText, ...]:
    """Return the messages that show `markdown_text`. Raises ValueError if `limit_units` is less than 2."""
    plain = markdown_text.rstrip().lstrip("\n")
    if len(plain) <= limit_units and not _SPECIAL.search(plain) and utf16_units(plain) <= limit_units:
        return () if _BLANK.fullmatch(plain) else (TelegramText(plain),)
    return _messages(lay_out(parse(markdown_text), tab_columns=TAB_COLUMNS), limit_units)


def render_plain(text: str, limit_units: int = MAX_TEXT_UNITS) -> tuple[TelegramText, ...]:
    """Return the messages that show `text` as it is. Raises ValueError if `limit_units` is less than 2."""
    text = showable(text)
    paragraphs = tuple(match.end() for match in re.finditer(r"\n{2,}", text))
    return _messages(FlatText(text, block_starts=paragraphs), limit_units)


def render_blocks(
    said: Iterable[messages.Block], limit_units: int = MAX_TEXT_UNITS
) -> tuple[TelegramText, ...]:
    """Return the messages that show `said`, with its blocks one below the other.

    Raises ValueError if `limit_units` < 2."""
    match blocks := tuple(said):
        case (messages.Markdown(text),):
            return render_markdown(text, limit_units)
        case (messages.Plain(text),):
            return render_plain(text, limit_units)
        case _:
            return _messages(lay_out(read(blocks), tab_columns=TAB_COLUMNS), limit_units)


def _messages(flat: FlatText, limit_units: int) -> tuple[TelegramText, ...]:
    if limit_units < 2:
        raise ValueError(f"limit_units={limit_units}: a single character may take 2 units")
    composer = Composer(limit_units)
    chunks = split(_with_whole_urls(flat), limit_units, composer.fits)
    composed = (composer.compose(chunk) for chunk in chunks)
    return tuple(message for message in composed if not _BLANK.fullmatch(message.text))


def _with_whole_urls(flat: FlatText) -> FlatText:
    """Add links for bare URLs that contain a word joiner (https://host/@name).

    Telegram links other bare URLs itself, but not these. URLs inside links and code are left alone.
    """
    if not would_mention(flat.text):
        return flat
    edges = sorted({edge for span in flat.spans for edge in (span.start, span.end)})
    taken = [s for s in flat.spans if isinstance(s.style, (Link, Preformatted)) or s.style is Mark.CODE]
    reached = list(accumulate((span.end for span in taken), max))
    starts = [span.start for span in taken]
    added: list[FlatSpan] = []
    for match in _BARE_URL.finditer(flat.text):
        url = match.group().rstrip(".,:;!?)]}'*")
        start, end = match.start(), match.start() + len(url)
        before = bisect_left(starts, end)  # the number that begin before the URL ends
        if (
            would_mention(url)
            and is_linkable(url)
            and bisect_right(edges, start) == bisect_left(edges, end)
            and not (before and reached[before - 1] > start)
        ):
            added.append(FlatSpan(start, end, Link(url)))
    spans = sorted((*flat.spans, *added), key=lambda span: (span.start, -span.end))
    return FlatText(flat.text, tuple(spans), flat.block_starts)


OUTCOME_UNITS = 300
"""The space reserved on every part of a card, so that its outcome never moves text to another part."""

CHOICES_PER_ROW = 3
ROW_CHARS = 36
"""The total characters of the choices in a row, divided evenly, so that they are readable on a phone."""
MAX_CALLBACK_DATA_BYTES = 64
"""Bot API, InlineKeyboardButton: "callback_data … 1-64 bytes"."""

EDIT_CHOICE = "e"
"""Stands for a choice's position when the call's arguments are to be edited."""

REPLY = "reply_parameters"
"""The key of the Quoted message in a part that is a reply."""


class Quoted(NamedTuple):
    """A message, identified with its chat because ids restart in an upgraded group."""

    chat_id: int
    message_id: int


_GAP = "\n\n"


def render(message: Message) -> tuple[Payload, ...]:
    """Return one payload per Telegram message needed; see Channel.render.

    Raises ValueError for choices without a gate."""
    is_card = message.gate_id is not None or message.outcome is not None
    limit = MAX_TEXT_UNITS - OUTCOME_UNITS if is_card else MAX_TEXT_UNITS
    texts = list(render_blocks(message.blocks, limit))
    if message.outcome is not None:
        texts[-1:] = [_with_outcome(texts[-1] if texts else None, message.outcome)]
    if message.mark is not None and texts:
        texts[-1] = _with_mark(texts[-1], message.mark)
    payloads = [_payload(text) for text in texts]
    buttons = message.choices or message.link is not None
    if buttons and message.outcome is None and message.mark is None and payloads:
        payloads[-1]["reply_markup"] = {"inline_keyboard": _keyboard(message)}
    files = [_upload(file) for file in message.files]
    parts = [*files, *payloads] if is_card else [*payloads, *files]  # on a card, the last part changes
    if message.reply_to is not None and parts:
        parts[0][REPLY] = Quoted(*parse_ref(message.reply_to))
    return tuple(parts)


def _upload(file: File) -> dict[str, object]:
    return {FILE: Upload(file.path, file.name, file.media_type, file.media_type in PHOTO_TYPES)}


def _with_outcome(text: TelegramText | None, outcome: str) -> TelegramText:
    lines = render_plain(outcome, OUTCOME_UNITS - len(_GAP) - 1)
    if not lines:
        return text or TelegramText("…")
    line = lines[0] if len(lines) == 1 else replace(lines[0], text=lines[0].text + "…")
    return line if text is None else TelegramText(text.text + _GAP + line.text, text.entities)


def _with_mark(text: TelegramText, mark: str) -> TelegramText:
    """Add a line. A text that leaves no room for it is shortened."""
    line = f"{_GAP}{showable(mark)}"
    room = MAX_TEXT_UNITS - utf16_units(line)
    if utf16_units(text.text) <= room:
        return TelegramText(text.text + line, text.entities)
    shortened = text.text.encode("utf-16-le")[: 2 * (room - 1)].decode("utf-16-le", "ignore")
    kept = utf16_units(shortened)
    entities = tuple(
        TelegramEntity(
            entity.type, entity.offset, min(entity.length, kept - entity.offset), entity.url, entity.language
        )
        for entity in text.entities
        if entity.offset < kept
    )
    return TelegramText(f"{shortened}…{line}", entities)


def _payload(text: TelegramText) -> dict[str, object]:
    payload: dict[str, object] = {"text": text.text, "link_preview_options": {"is_disabled": True}}
    if text.entities:
        payload["entities"] = [_entity(entity) for entity in text.entities]
    return payload


def _entity(entity: TelegramEntity) -> dict[str, object]:
    body: dict[str, object] = {"type": entity.type, "offset": entity.offset, "length": entity.length}
    if entity.url is not None:
        body["url"] = entity.url
    if entity.language is not None:
        body["language"] = entity.language
    return body


def _keyboard(message: Message) -> list[list[dict[str, str]]]:
    gate_id, choices, link = message.gate_id, message.choices, message.link
    opens = [[{"text": link.label, "url": link.url}]] if link is not None else []
    if gate_id is None:
        if choices:
            raise ValueError("choices need a gate to answer")
        return opens
    buttons = [
        {"text": choice.label, "callback_data": _callback_data(gate_id, index)}
        for index, choice in enumerate(choices, message.first_choice)
    ]
    edit = {"text": texts.EDIT_LABEL, "callback_data": _callback_data(gate_id, EDIT_CHOICE)}
    more = [[edit]] if message.editable else []
    per_row = _per_row(max((len(choice.label) for choice in choices), default=1))
    return [*opens, *(buttons[start : start + per_row] for start in range(0, len(buttons), per_row)), *more]


def _per_row(longest_chars: int) -> int:
    return min(CHOICES_PER_ROW, max(1, ROW_CHARS // max(1, longest_chars)))


def _callback_data(gate_id: str, index: int | str) -> str:
    data = f"p:{gate_id}:{index}"
    if len(data.encode()) > MAX_CALLBACK_DATA_BYTES:
        raise ValueError(f"callback data of {len(data.encode())} bytes: {data}")
    return data
