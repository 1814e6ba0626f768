"""One Telegram message: text with entities, within the rules of the Bot API.

Offsets and lengths count UTF-16 code units. Nested entities follow the Bot API ("Formatting
options"). Two entities are separate, or one contains the other. Bold, italic and strikethrough may
be anywhere but in code. `code` and `pre` contain no entities, and a quotation contains no other.

No text can notify anyone. There is no entity that names a user, and links lead only to http and
https (`tg://user?id=` is one way to mention). An "@" that would begin a name gets an invisible
U+2060 WORD JOINER after it. Telegram turns `@name` in a bot's text into a mention if a Latin
letter, digit or underscore follows the "@" directly; here any letter is separated from it. Nothing
is inserted in code, where Telegram finds no mentions, so that code copied from there works. An "@"
after a Latin letter or digit (a mail address) is no mention either and stays unchanged.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, assert_never

from channels.text.blocks import Link, Mark
from channels.text.chunking import Chunk
from channels.text.layout import FlatSpan, FlatStyle, Preformatted, Quoted, Title

EntityType = Literal["bold", "italic", "strikethrough", "code", "pre", "text_link", "blockquote"]

WORD_JOINER = "\u2060"
MAX_ENTITIES = 100
"""Telegram silently ignores the entities of a message after the hundredth."""

MAX_ENTITIES_BYTES = 8000
"""Telegram refuses (ENTITIES_TOO_LONG) a message whose entities take more than about 9,500 bytes."""

MAX_LINK_BYTES = 2048
"""The limit on a link's URL. Longer ones are not linked, because all entities of a message share
MAX_ENTITIES_BYTES."""

_ENTITY_BYTES = 20  # constructor, offset, length and the length of a string
_INTERRUPTED: tuple[EntityType, ...] = ("bold", "italic", "strikethrough")

_MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?=\w)")
_HTTP = re.compile(
    r"https?://(?:[\w-]+\.)+[\w-]+\.?(?::(?P<port>\d{1,5}))?(?:[/?#]\S*)?",
    re.IGNORECASE,
)


class TelegramEntity(NamedTuple):
    """The Bot API's MessageEntity: `offset` and `length` in UTF-16 code units.

    `url` is set for `text_link`, `language` for `pre` if known.
    """

    type: EntityType
    offset: int
    length: int
    url: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class TelegramText:
    """The `text` and `entities` of one sendMessage or editMessageText, used without a parse mode."""

    text: str
    entities: tuple[TelegramEntity, ...] = ()


class Composer:
    """A composer of messages from chunks, each of at most `limit_units`."""

    def __init__(self, limit_units: int) -> None:
        self._limit_units = limit_units
        self._tried: tuple[Chunk, list[_Entity], list[int]] | None = None

    def compose(self, chunk: Chunk) -> TelegramText:
        """Return the chunk as one message. Entities are ordered by offset, outer before inner."""
        entities, joiners = self._marked(chunk)
        if joiners:
            entities = [entity.shifted(joiners) for entity in entities]
        text = _inserted(chunk.text, joiners)
        return TelegramText(text, tuple(_in_units(text, entities)))

    def fits(self, chunk: Chunk) -> bool:
        """Return whether Telegram accepts the composed chunk as one message."""
        units = utf16_units(chunk.text)
        if units > self._limit_units:
            return False
        if not chunk.spans and units + chunk.text.count("@") <= self._limit_units:
            return True
        entities, joiners = self._marked(chunk)
        size_bytes = sum(_ENTITY_BYTES + len(e.url or "") + len(e.language or "") for e in entities)
        return (
            len(entities) <= MAX_ENTITIES
            and size_bytes <= MAX_ENTITIES_BYTES
            and units + len(joiners) <= self._limit_units
        )

    def _marked(self, chunk: Chunk) -> "tuple[list[_Entity], list[int]]":
        """Return entities and word joiners. They are cached, because the last chunk tried is usually composed
        next."""
        if self._tried is None or self._tried[0] is not chunk:
            entities = _allowed(chunk)
            self._tried = chunk, entities, _joiners(chunk.text, entities)
        return self._tried[1], self._tried[2]


def utf16_units(text: str) -> int:
    """Return the length of `text` as Telegram counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def would_mention(text: str) -> bool:
    """Return whether `text` contains an "@" that gets a word joiner."""
    return _MENTION.search(text) is not None


def is_linkable(url: str) -> bool:
    """Return whether Telegram accepts `url` as a link. It refuses messages with links it cannot read.

    The host needs a dot, and the port must be valid. `tg:`, `mailto:` and `localhost` are not accepted.
    """
    if len(url) > MAX_LINK_BYTES or len(url.encode()) > MAX_LINK_BYTES:
        return False
    match = _HTTP.fullmatch(url)
    if match is None:
        return False
    return match["port"] is None or 0 < int(match["port"]) < 65536


class _Entity(NamedTuple):
    """An entity in code points, from `start` up to but not including `end`."""

    start: int
    end: int
    type: EntityType
    url: str | None = None
    language: str | None = None

    def shifted(self, inserted_at: Sequence[int]) -> "_Entity":
        """Return the entity after a character is inserted at each position, but never at its own edges."""
        start = self.start + bisect_right(inserted_at, self.start)
        return self.moved(start, self.end + bisect_left(inserted_at, self.end))

    def moved(self, start: int, end: int) -> "_Entity":
        """Return the entity at another place."""
        return _Entity(start, end, self.type, self.url, self.language)


def _allowed(chunk: Chunk) -> list[_Entity]:
    """Return the chunk's spans as entities that follow Telegram's rules."""
    kept: list[_Entity] = []
    around: list[_Entity] = []  # the kept entities that contain the current span
    for span in chunk.spans:
        while around and around[-1].end <= span.start:
            around.pop()
        entity = _entity(span)
        if entity is None or any(_excludes(outer.type, entity.type) for outer in around):
            continue
        around.append(entity)
        kept.append(entity)
    shown = [entity for entity in _outside_code(kept) if chunk.text[entity.start : entity.end].strip()]
    return sorted(shown, key=lambda entity: (entity.start, -entity.end))


def _excludes(outer: EntityType, inner: EntityType) -> bool:
    return outer == inner or outer in ("code", "pre") or (outer == "text_link" and inner == "code")


def _entity(span: FlatSpan) -> _Entity | None:
    style: FlatStyle = span.style
    match style:
        case Mark.BOLD | Title():
            return _Entity(span.start, span.end, "bold")
        case Mark.ITALIC:
            return _Entity(span.start, span.end, "italic")
        case Mark.STRIKE:
            return _Entity(span.start, span.end, "strikethrough")
        case Mark.CODE:
            return _Entity(span.start, span.end, "code")
        case Link(url):
            return _Entity(span.start, span.end, "text_link", url=url) if is_linkable(url) else None
        case Preformatted(language):
            return _Entity(span.start, span.end, "pre", language=language or None)
        case Quoted():
            return _Entity(span.start, span.end, "blockquote")
        case _:
            assert_never(style)


def _outside_code(entities: Sequence[_Entity]) -> Iterator[_Entity]:
    """Yield the entities with bold, italic and strikethrough interrupted at code."""
    code = [entity for entity in entities if entity.type in ("code", "pre")]
    code_starts = [entity.start for entity in code]
    for entity in entities:
        first = bisect_left(code_starts, entity.start)
        if first == len(code) or code_starts[first] >= entity.end or entity.type not in _INTERRUPTED:
            yield entity
            continue
        start = entity.start
        for hole in code[first : bisect_left(code_starts, entity.end)]:
            yield entity.moved(start, hole.start)
            start = hole.end
        yield entity.moved(start, entity.end)


def _joiners(text: str, entities: Sequence[_Entity]) -> list[int]:
    """Return the positions of word joiners in `text`, in ascending order."""
    mentions = list(_MENTION.finditer(text))
    code = [entity for entity in entities if entity.type in ("code", "pre")] if mentions else []
    code_starts = [entity.start for entity in code]

    def is_in_code(match: re.Match[str]) -> bool:
        before = bisect_right(code_starts, match.start())
        return before > 0 and match.end() < code[before - 1].end

    return [match.end() for match in mentions if not is_in_code(match)]


def _inserted(text: str, positions: Iterable[int]) -> str:
    parts: list[str] = []
    done = 0
    for position in positions:
        parts += (text[done:position], WORD_JOINER)
        done = position
    return "".join((*parts, text[done:]))


def _in_units(text: str, entities: Sequence[_Entity]) -> Iterator[TelegramEntity]:
    units = _unit_offsets(text, {edge for entity in entities for edge in (entity.start, entity.end)})
    for entity in entities:
        offset = units[entity.start]
        length = units[entity.end] - offset
        yield TelegramEntity(entity.type, offset, length, entity.url, entity.language)


def _unit_offsets(text: str, positions: Iterable[int]) -> dict[int, int]:
    """Return the offset in UTF-16 units of each code point position in `text`."""
    if max(text, default="") <= "\uffff":  # each character is one unit
        return {position: position for position in positions}
    offsets: dict[int, int] = {}
    done = total = 0
    for position in sorted(positions):
        total += utf16_units(text[done:position])
        offsets[position] = total
        done = position
    return offsets
