"""Text as the deciding person sees it: nothing hidden, nothing reordered, nothing pushed out of sight.

Platforms drop characters without a shape, follow characters that reverse the writing direction, and show many
kinds of blank alike; a program takes each as it is. On a card they appear as `[U+202E]`, and long runs of
blanks
and empty lines as `[200 blanks]`. The same holds for unassigned and private characters, and for combining
marks,
except those that a script writes after its own letters.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping

MAX_BLANKS = 40
"""Longer runs may push text out of sight; deep indentation stays below."""
MAX_EMPTY_LINES = 3

_SHAPELESS = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f"
    "\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\ud800-\\udfff"
    "\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
)
_BLANKS = "\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000"
_VARIANTS = "\\ufe00-\\ufe0f"
_JOINERS = "\\u200c\\u200d"
_RUN = re.compile(f"[{_SHAPELESS}{_BLANKS}{_JOINERS}{_VARIANTS}]+")
_NEVER_SEEN = re.compile(f"[{_SHAPELESS}]")
_BLANK = re.compile(f"[{_BLANKS}]")
_JOINING = re.compile(f"[{_JOINERS}]")
_VARIANT = re.compile(f"[{_VARIANTS}]")
_BLANK_RUN = re.compile(rf"[ \t]{{{MAX_BLANKS + 1},}}")
_EMPTY_LINES = re.compile(rf"\n(?:[ \t]*\n){{{MAX_EMPTY_LINES + 1},}}")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def hides_something(text: str) -> bool:
    """Return whether a character of the text is invisible, or looks like another one."""
    if text.isascii():
        return False
    return any(map(_is_hidden, _RUN.finditer(text))) or _spell_unseen(text) != text


def in_plain_sight(text: str) -> str:
    """Return the text with all invisible parts named. Most texts are returned unchanged."""
    if not text.isprintable():  # a line end is not printable either
        text = _EMPTY_LINES.sub(_count_lines, text)
    if not text.isascii():
        text = _spell_unseen(text)
    if not (text.isascii() and text.isprintable()):
        text = _RUN.sub(_named, text)
    return _BLANK_RUN.sub(lambda run: f" [{len(run[0])} spaces] ", text)


def _spell_unseen(text: str) -> str:
    """Spell out characters that have no shape, or change that of the letter before; `_is_hidden` judges runs
    that depend
    on both their neighbors."""
    kinds = {one: unicodedata.category(one) for one in set(text) if not one.isascii()}
    unseen = {ord(one): _code(one) for one, kind in kinds.items() if kind in _UNSEEN and not _RUN.match(one)}
    if any(kind[0] == "M" for kind in kinds.values()):
        text = "".join(_spell_marks(text, kinds))
    return text.translate(unseen) if unseen else text


def _spell_marks(text: str, kinds: Mapping[str, str]) -> Iterator[str]:
    script = ""
    for one in text:
        kind = kinds.get(one, "")
        if kind[:1] == "M" and not _RUN.match(one):
            yield one if script and _script(one) == script else _code(one)
            continue
        # Scripts without capitals need marks; other letters with accents are characters too.
        script = _script(one) if kind == "Lo" and not _RUN.match(one) else ""
        yield one


def _script(one: str) -> str:
    """Return the script in the character's name: DEVANAGARI, ARABIC; empty for none."""
    return unicodedata.name(one, "").partition(" ")[0]


def _code(one: str) -> str:
    return f"[U+{ord(one):04X}]"


def _count_lines(run: re.Match[str]) -> str:
    ends = run[0].count("\n")
    return f"\n[{ends - 1} empty lines]\n"


def _is_hidden(run: re.Match[str]) -> bool:
    """Return whether blanks, joiners and variants are hidden: they are unless known to be plain there. A wide
    blank parts East Asian words; a variant shapes a picture; a joiner joins two pictures or two letters of a
    script without capitals. A run is judged as one."""
    last = run[0][-1]
    before = run.string[run.start() - 1 : run.start()]
    after = run.string[run.end() : run.end() + 1]
    if _NEVER_SEEN.search(run[0]) or not before:
        return True
    if _BLANK.search(run[0]):
        return run[0] != "\u3000" or not (_EAST_ASIAN.match(before) and _EAST_ASIAN.match(after))
    if _VARIANT.match(run[0]):
        return not _is_picture(before) or (_JOINING.match(last) is not None and not _is_picture(after))
    return not any(joined(before) and joined(after) for joined in (_is_picture, _is_joined))


def _is_picture(one: str) -> bool:
    return _PICTURES.match(one) is not None or (one != "" and unicodedata.category(one) == "So")


def _is_joined(one: str) -> bool:
    """Return whether it is a letter, or a mark on one, of a script without capitals."""
    return one != "" and unicodedata.category(one) in {"Lo", "Mn", "Mc"}


def _named(run: re.Match[str]) -> str:
    return "".join(map(_code, run[0])) if _is_hidden(run) else run[0]


# Words and signs that look like others, spelled out for the deciding person.
#
# Plain characters are listed, all others are named: ASCII; Latin letters with their usual accents; words of
# one
# other script that is not read as Latin; signs without a double in ASCII. A new character of Unicode is
# named.

MAX_NAMED = 12
_WORD = re.compile(r"[^\W_]+")
_SIGN = re.compile(r"[^\w\s\x00-\x7f]")
_ASCII_LETTER = re.compile("[A-Za-z]")
_LATIN_WITHOUT_PARTS = frozenset("ßẞæÆøØđĐłŁœŒþÞðÐŋŊħĦŧŦ")
_UNLIKE_LATIN = re.compile("[бвгджзийлмнпфцчшщъыьэюяєїґБГДЖИЙЛПФЦЧШЩЪЫЭЮЯЄЇҐδζθλμξπσςφψΓΔΘΛΞΠΣΦΨΩა-ჰա-ֆ]")
"""Letters that show a reader that a word is Cyrillic, Greek, Georgian or Armenian."""
_EAST_ASIAN = re.compile("[\u3041-\u3096\u30a1-\u30fc\u3005\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]")
_STROKES = frozenset("一丨丶丿乙亅二八卜口日へノニロハエトカー")
"""East Asian characters that could pass for ASCII letters or signs."""
_PLAIN_SIGNS = re.compile("[«»¿¡§¶…•°±×÷€£¥¢©®™→←↑↓↔⇒²³½¼¾]")
_PICTURES = re.compile(
    "[\u2600-\u26ff\u2700-\u2757\u275f-\u2767\u2794-\u27bf\u2b50\U0001f1e6-\U0001f1ff"
    "\U0001f300-\U0001faff\u200d\ufe0f]"
)


def look_alikes(text: str) -> tuple[str, ...]:
    """Return the words and signs that look like others, each spelled out, the first few.

    Words with ASCII letters are first. The number of further ones is at the end. Most texts have
    none."""
    if text.isascii():
        return ()
    found = dict.fromkeys((*_words(text), *_signs(text)))
    if not found:
        return ()
    ordered = sorted(found, key=lambda one: _ASCII_LETTER.search(one) is None)
    named = tuple(_spelled(one) for one in ordered[:MAX_NAMED])
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
            continue  # invisible characters and marks are spelled out where they stand
        around = text[max(0, found.start() - 1) : found.start()] + text[found.end() : found.end() + 1]
        if _beside_ascii(text, found.start(), found.end()) or not any(map(_is_joined, around)):
            yield sign


def _beside_ascii(text: str, start: int, end: int) -> bool:
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return any(one.isascii() and not one.isspace() for one in around)


def _odd_letters(word: str) -> Iterator[str]:
    """Yield the characters of a word that are not plain in it."""
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
    """Return whether it is an ASCII letter with accents above, below or through it, or one of the few
    letters without parts."""
    return one in _LATIN_WITHOUT_PARTS or unicodedata.normalize("NFD", one)[0].isascii()


def _spelled(word: str) -> str:
    """Return `pаypal (U+0430 CYRILLIC SMALL LETTER A)`; of a long word the beginning."""
    odd = dict.fromkeys(_odd_letters(word)) or dict.fromkeys(one for one in word if not one.isascii())
    named = [f"U+{ord(one):04X} {unicodedata.name(one, '')}".rstrip() for one in odd][:5]
    shown = word if len(word) <= 40 else f"{word[:40]}…"
    return f"{shown} ({', '.join(named)})"
