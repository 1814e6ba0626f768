"""The platform's changes to a text and its entities before it stores them.

Follows the documented rules of https://core.telegram.org/bots/api#formatting-options and #messageentity:
control characters become spaces, carriage returns vanish, surrounding blanks are cut, entities are clipped to
what is left, impossible overlaps are resolved, and mentions, commands, links, hashtags and addresses are
found by themselves. Offsets and lengths are UTF-16 code units throughout.

Known to be coarser than the platform: links without a scheme are found for a few top-level domains only;
phone numbers and bank cards are not found.
"""

import re
from bisect import bisect_left
from itertools import pairwise
from typing import Any

from tests.simulators.telegram.errors import bad_request
from tests.simulators.telegram.formatting_parts import checked_link
from tests.simulators.telegram.limits import MAX_ENTITIES
from tests.simulators.telegram.utf16 import utf16_length

Entity = dict[str, Any]

_SPLITTABLE = {"bold": 90, "italic": 91, "underline": 92, "strikethrough": 93, "spoiler": 94}
_QUOTES = {"blockquote", "expandable_blockquote"}
_PRIORITY = {"pre": 10, "code": 20, "text_link": 49, "text_mention": 49, "custom_emoji": 99} | _SPLITTABLE
_PRIORITY |= dict.fromkeys(_QUOTES, 0)
_FOUND = {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"}
_EXTRAS = ("url", "user", "language", "custom_emoji_id")
_KNOWN = set(_PRIORITY) | _FOUND | {"date_time"}

_TO_SPACE = re.compile("[\x00-\x09\x0b\x0c\x0e-\x1f]")
_TO_NOTHING = re.compile("[\r\u2028-\u202e\u0333\u033f\u030a]")
_DIRTY = re.compile("[\x00-\x09\x0b-\x1f\u2028-\u202e\u0333\u033f\u030a]")
_BLANK = " \n"
_INVISIBLE = re.compile(
    "[ \n\u00a0\u1680\u180e\u2000-\u200f\u202e\u202f\u205f\u2800\u3000\ufeff\ufffc\U000e0000-\U000e007f]*"
)

_FINDERS = re.compile(
    r"(?P<url>(?i:https?|ftp)://[^\s<>\"«»]+|(?<![\w@/.])(?:[A-Za-z0-9-]+\.)+(?:com|org|net|io|me|dev|app|ru|de|eu)"
    r"(?![\w.-]*@)(?:/[^\s<>\"«»]*)?(?![\w@]))"
    r"|(?P<email>(?<![\w.])[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)"
    r"|(?P<bot_command>(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>@]))"
    r"|(?P<mention>(?<!\w)@[A-Za-z0-9_]{2,32}(?!\w))"
    r"|(?P<hashtag>(?<!\w)\#(?=\w*[^\W\d_])\w{1,256}(?![\w\#]))"
    r"|(?P<cashtag>(?<![\w$])\$[A-Z]{1,8}(?![\w$]))"
)
_MAYBE = re.compile(r"[@/#$.]")


def parse_entity_list(raw: Any) -> list[Entity]:
    """A client's ``entities`` parameter, checked for shape; those beyond the hundredth are dropped silently.

    The types the platform finds by itself (mention, url, …) are ignored when a client sends them, and so are
    links to nowhere.
    """
    if not isinstance(raw, list):
        return []
    entities: list[Entity] = []
    for item in raw:
        entity = _parse_entity(item)
        unusable = entity["type"] in _FOUND or entity.get("url") == ""
        if entity["length"] > 0 and not unusable:
            entities.append(entity)
    return entities[:MAX_ENTITIES]


def _parse_entity(item: Any) -> Entity:
    if not isinstance(item, dict):
        raise bad_request("can't parse MessageEntity: expected an Object")
    kind, offset, length = item.get("type"), item.get("offset"), item.get("length")
    if not isinstance(kind, str):
        raise bad_request("can't parse MessageEntity: Can't find field \"type\"")
    for name, value in (("offset", offset), ("length", length)):
        if not isinstance(value, int):
            raise bad_request(f"can't parse MessageEntity: Can't find field \"{name}\"")
        if not 0 <= value <= 1_000_000:
            raise bad_request(f"receive an entity with incorrect {name} {value}")
    if kind not in _KNOWN:
        raise bad_request("can't parse MessageEntity: Unsupported type specified")
    entity: Entity = {"type": kind, "offset": offset, "length": length}
    entity |= {name: item[name] for name in _EXTRAS if item.get(name)}
    if kind == "text_link":
        if "url" not in entity:
            raise bad_request("can't parse MessageEntity: Can't find field \"url\"")
        entity["url"] = checked_link(str(entity["url"]))
    return entity


def normalize(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    """The text and entities as stored; ``("", [])`` when nothing visible is left.

    Raises ``ApiError`` for text that is no Unicode and for entities that begin or end outside the text or
    inside a surrogate pair.
    """
    if not text.isascii() and any(0xD800 <= ord(char) <= 0xDFFF for char in text):
        raise bad_request("strings must be encoded in UTF-8")
    if entities:
        entities = _resolve([dict(entity) for entity in entities])
        text, entities = _clean_with_entities(text, entities)
        text, entities = _trim_with_entities(text, entities)
    else:
        if _DIRTY.search(text):
            text = _TO_NOTHING.sub("", _TO_SPACE.sub(" ", text))
        text = text.strip(_BLANK)
    if _INVISIBLE.fullmatch(text):
        return "", []
    return text, with_found(text, entities)


def with_found(text: str, entities: list[Entity]) -> list[Entity]:
    """The entities plus those the platform finds by itself outside code, links and other atomic entities."""
    if not _MAYBE.search(text):
        return entities
    taken = [(e["offset"], e["offset"] + e["length"]) for e in entities if not _can_hold_others(e)]
    found = [
        entity
        for entity in find_entities(text)
        if not any(
            start < entity["offset"] + entity["length"] and entity["offset"] < end for start, end in taken
        )
    ]
    return _resolve(entities + found) if found else entities


def find_entities(text: str) -> list[Entity]:
    """Mentions, commands, hashtags, cashtags, links and addresses in a text."""
    found: list[Entity] = []
    for match in _FINDERS.finditer(text):
        value = match[0]
        if match.lastgroup == "url":
            value = value.rstrip(".:;,('?!`")
        found.append(
            {
                "type": match.lastgroup,
                "offset": utf16_length(text[: match.start()]),
                "length": utf16_length(value),
            }
        )
    return found


def _can_hold_others(entity: Entity) -> bool:
    return entity["type"] in _SPLITTABLE or entity["type"] in _QUOTES


def _sort_key(entity: Entity) -> tuple[int, int, int]:
    return entity["offset"], -entity["length"], _PRIORITY.get(entity["type"], 50)


def _span(entity: Entity) -> tuple[int, int]:
    return entity["offset"], entity["offset"] + entity["length"]


def _without_overlaps(entities: list[Entity]) -> list[Entity]:
    """Of entities that overlap, the first stays."""
    kept: list[Entity] = []
    end = 0
    for entity in sorted(entities, key=_sort_key):
        if entity["offset"] >= end:
            kept.append(entity)
            end = entity["offset"] + entity["length"]
    return kept


def _resolve(entities: list[Entity]) -> list[Entity]:
    """Makes overlapping entities nest: atoms and quotations win, styles are cut at their edges."""
    atoms = _without_overlaps([e for e in entities if not _can_hold_others(e)])
    quotes = _without_overlaps([e for e in entities if e["type"] in _QUOTES])
    atoms = [atom for atom in atoms if not any(_crosses(atom, quote) for quote in quotes)]
    fixed = atoms + quotes
    styles = [e for e in entities if e["type"] in _SPLITTABLE]
    if styles:
        fixed += _cut_styles(styles, fixed)
    return sorted(fixed, key=_sort_key)


def _crosses(inner: Entity, outer: Entity) -> bool:
    (start, end), (left, right) = _span(inner), _span(outer)
    return start < right and left < end and not (left <= start and end <= right)


def _cut_styles(styles: list[Entity], others: list[Entity]) -> list[Entity]:
    cuts = sorted({edge for other in others for edge in _span(other)})
    verbatim = [_span(other) for other in others if other["type"] == "pre"]
    result: list[Entity] = []
    for kind in _SPLITTABLE:
        for start, end in _merged([_span(style) for style in styles if style["type"] == kind]):
            first, last = bisect_left(cuts, start + 1), bisect_left(cuts, end)
            edges = [start, *cuts[first:last], end]
            for left, right in pairwise(edges):
                if not any(begin <= left and right <= stop for begin, stop in verbatim):
                    result.append({"type": kind, "offset": left, "length": right - left})
    return result


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _clean_with_entities(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    moved: dict[int, int] = {}
    parts: list[str] = []
    old = new = 0
    for char in text:
        moved[old] = new
        width = 2 if ord(char) > 0xFFFF else 1
        old += width
        if _TO_NOTHING.match(char):
            continue
        parts.append(" " if _TO_SPACE.match(char) else char)
        new += width
    moved[old] = new
    kept: list[Entity] = []
    for entity in entities:
        start, end = _span(entity)
        _check_edges(text, start, end, old, moved)
        if moved[end] > moved[start]:
            kept.append(entity | {"offset": moved[start], "length": moved[end] - moved[start]})
    return "".join(parts), kept


def _check_edges(text: str, start: int, end: int, length: int, moved: dict[int, int]) -> None:
    if start >= length:
        raise bad_request(f"entity begins after the end of the text at UTF-16 offset {start}")
    if end > length:
        raise bad_request(
            f"entity beginning at UTF-16 offset {start} ends after the end of the text at UTF-16 offset {end}"
        )
    if start not in moved:
        raise bad_request(
            f"entity begins in a middle of a UTF-16 symbol at byte offset {_byte_offset(text, start + 1)}"
        )
    if end not in moved:
        raise bad_request(
            f"entity beginning at UTF-16 offset {start} ends in a middle of a UTF-16 symbol"
            f" at byte offset {_byte_offset(text, end + 1)}"
        )


def _byte_offset(text: str, utf16_offset: int) -> int:
    return len(text.encode("utf-16-le")[: 2 * utf16_offset].decode("utf-16-le").encode())


def _trim_with_entities(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    """Cuts blanks around the text (but not before an entity that begins there), and blanks at entities'
    starts.
    """
    text = text.rstrip(_BLANK)
    length = utf16_length(text)
    units = text.encode("utf-16-le")
    blanks = {b" \x00", b"\n\x00"}
    clipped: list[Entity] = []
    for entity in entities:
        start, end = entity["offset"], min(entity["offset"] + entity["length"], length)
        while start < end and units[2 * start : 2 * start + 2] in blanks:
            start += 1
        if start < end:
            clipped.append(entity | {"offset": start, "length": end - start})
    lead = len(text) - len(text.lstrip(_BLANK))
    lead = min([lead, *(entity["offset"] for entity in clipped)])
    return text[lead:], [
        entity | {"offset": entity["offset"] - lead} for entity in sorted(clipped, key=_sort_key)
    ]
