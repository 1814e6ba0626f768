"""Words and signs that may be taken for others, spelled out for the person who decides.

What is plain is told here, everything else is named: ASCII; Latin letters with their usual accents; words of
one other script that nobody reads as Latin; signs without a double in ASCII. A new character of Unicode, or
one nobody thought of, is named.
"""

import re
import unicodedata
from collections.abc import Iterator

MOST_NAMED = 12
_WORD = re.compile(r"[^\W_]+")
_SIGN = re.compile(r"[^\w\s\x00-\x7f]")
_ASCII_LETTER = re.compile("[A-Za-z]")
_LATIN_WITHOUT_PARTS = frozenset("ßẞæÆøØđĐłŁœŒþÞðÐŋŊħĦŧŦ")
_UNLIKE_LATIN = re.compile("[бвгджзийлмнпфцчшщъыьэюяєїґБГДЖИЙЛПФЦЧШЩЪЫЭЮЯЄЇҐδζθλμξπσςφψΓΔΘΛΞΠΣΦΨΩა-ჰա-ֆ]")
"""Letters by which a reader tells that a word is Cyrillic, Greek, Georgian or Armenian."""
_EAST_ASIAN = re.compile("[\u3041-\u3096\u30a1-\u30fc\u3005\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]")
_STROKES = frozenset("一丨丶丿乙亅二八卜口日へノニロハエトカー")
"""East Asian characters that beside ASCII could be signs or letters of it."""
_PLAIN_SIGNS = re.compile("[«»¿¡§¶…•°±×÷€£¥¢©®™→←↑↓↔⇒²³½¼¾]")
_PICTURES = re.compile(
    "[\u2600-\u26ff\u2700-\u2757\u275f-\u2767\u2794-\u27bf\u2b50\U0001f1e6-\U0001f1ff"
    "\U0001f300-\U0001faff\u200d\ufe0f]"
)


def look_alikes(text: str) -> tuple[str, ...]:
    """Return what may be taken for something else, each spelled out, those amid ASCII first, the first few;
    how many are left out stands at the end. Most texts have none."""
    if text.isascii():
        return ()
    found = dict.fromkeys((*_words(text), *_signs(text)))
    if not found:
        return ()
    ordered = sorted(found, key=lambda one: _ASCII_LETTER.search(one) is None)
    named = tuple(_spelled(one) for one in ordered[:MOST_NAMED])
    left = len(ordered) - len(named)
    return (*named, f"and {left} more") if left else named


def _words(text: str) -> Iterator[str]:
    for found in _WORD.finditer(text):
        word = found[0]
        stroke = _STROKES.intersection(word) and _beside_ascii(text, found.start(), found.end())
        if stroke or any(_odd_letters(word)):
            yield word


def _signs(text: str) -> Iterator[str]:
    for found in _SIGN.finditer(text):
        sign = found[0]
        if _PLAIN_SIGNS.match(sign) or _PICTURES.match(sign) or unicodedata.category(sign)[0] in "CMZ":
            continue  # what is not seen, and marks, are spelled out where they stand
        around = text[max(0, found.start() - 1) : found.start()] + text[found.end() : found.end() + 1]
        if _beside_ascii(text, found.start(), found.end()) or not any(map(str.isalpha, around)):
            yield sign


def _beside_ascii(text: str, start: int, end: int) -> bool:
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return any(one.isascii() and not one.isspace() for one in around)


def _odd_letters(word: str) -> Iterator[str]:
    """The characters of a word that are not plain in it."""
    mixed = _ASCII_LETTER.search(word) is not None
    own = not mixed and _UNLIKE_LATIN.search(word) is not None
    for one in word:
        if not (one.isascii() or _is_plain(one, mixed=mixed, own=own)):
            yield one


def _is_plain(one: str, *, mixed: bool, own: bool) -> bool:
    category = unicodedata.category(one)
    if _EAST_ASIAN.match(one):
        return not (mixed and one in _STROKES)
    if category in {"Lo", "Lm"}:
        return not mixed
    if category in {"Lu", "Ll"}:
        return own if _has_other_script(one) else _is_latin(one)
    return category == "No" and _PLAIN_SIGNS.match(one) is not None


def _has_other_script(one: str) -> bool:
    return unicodedata.name(one, "").startswith(("CYRILLIC ", "GREEK ", "GEORGIAN ", "ARMENIAN "))


def _is_latin(one: str) -> bool:
    """An ASCII letter with accents above, below or through it, or one of the few letters without parts."""
    return one in _LATIN_WITHOUT_PARTS or unicodedata.normalize("NFD", one)[0].isascii()


def _spelled(word: str) -> str:
    """`pаypal (U+0430 CYRILLIC SMALL LETTER A)`; of a long word the beginning."""
    odd = dict.fromkeys(_odd_letters(word)) or dict.fromkeys(one for one in word if not one.isascii())
    named = [f"U+{ord(one):04X} {unicodedata.name(one, '')}".rstrip() for one in odd][:5]
    shown = word if len(word) <= 40 else f"{word[:40]}…"
    return f"{shown} ({', '.join(named)})"
