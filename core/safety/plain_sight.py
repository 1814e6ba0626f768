"""Text as the person sees it who decides about it: nothing hidden, nothing reordered, nothing pushed away.

Platforms drop characters without a shape, obey those that turn the writing direction round, and show many
kinds of blank alike; a program takes each for what it is. On a card they stand as `[U+202E]`, and long runs
of blanks and empty lines as `[200 blanks]`. Source of the characters: Unicode's Default_Ignorable_Code_Point
and White_Space.
"""

import re
import unicodedata

MOST_BLANKS = 40
"""Longer runs may push what follows out of sight; deep indentation stays below."""
MOST_EMPTY_LINES = 3

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
_JOINING = re.compile(f"[{_JOINERS}]")
_SHAPING = re.compile(f"[{_JOINERS}{_VARIANTS}]")
_BLANK_RUN = re.compile(rf"[ \t]{{{MOST_BLANKS + 1},}}")
_EMPTY_LINES = re.compile(rf"\n(?:[ \t]*\n){{{MOST_EMPTY_LINES + 1},}}")
_WORD = re.compile(r"\w+")
_LOOKS_LATIN = re.compile("[\u0370-\u03ff\u0400-\u052f\u13a0-\u13ff\uff00-\uffef\U0001d400-\U0001d7ff]")
"""Greek, Cyrillic and Cherokee letters, wide and mathematical ones: many look like Latin letters."""
_LATIN = re.compile("[A-Za-z]")
_MOST_NAMED = 5


def hides_something(text: str) -> bool:
    """Whether a character of it is not to be seen, or seen as another one."""
    return not text.isascii() and any(map(_is_hidden, _RUN.finditer(text)))


def in_plain_sight(text: str) -> str:
    """The text with everything named that would not be seen. Most texts are returned as they are."""
    if not text.isprintable():  # a line end is none either
        text = _EMPTY_LINES.sub(_count_lines, text)
    if not (text.isascii() and text.isprintable()):
        text = _RUN.sub(_named, text)
    return _BLANK_RUN.sub(lambda run: f" [{len(run[0])} blanks] ", text)


def look_alikes(text: str) -> tuple[str, ...]:
    """The words in which letters of another script stand among Latin ones, each once, the first few."""
    if text.isascii():
        return ()
    mixed = (word for word in _WORD.findall(text) if _LOOKS_LATIN.search(word) and _LATIN.search(word))
    return tuple(dict.fromkeys(mixed))[:_MOST_NAMED]


def spelt(word: str) -> str:
    """A word with what looks like Latin in it by its names: `pаypal (U+0430 CYRILLIC SMALL LETTER A)`."""
    found = dict.fromkeys(_LOOKS_LATIN.findall(word))
    named = (f"U+{ord(one):04X} {unicodedata.name(one, '')}".rstrip() for one in found)
    return f"{word} ({', '.join(named)})"


def _count_lines(run: re.Match[str]) -> str:
    ends = run[0].count("\n")
    return f"\n[{ends - 1} empty lines]\n"


def _is_hidden(run: re.Match[str]) -> bool:
    """Joiners and variants shape letters and emoji, wide blanks part words of other scripts; beside ASCII
    they do neither. What stands together is judged as one: once a part is named, the rest is beside that."""
    first, last = run[0][0], run[0][-1]
    before = run.string[run.start() - 1] if run.start() else ""
    after = run.string[run.end() : run.end() + 1]
    if _NEVER_SEEN.search(run[0]) or (before and before.isascii()):
        return True
    if not before and _SHAPING.match(first):
        return True
    if after:
        return after.isascii() and not ("\ufe00" <= last <= "\ufe0f")
    return _JOINING.match(last) is not None


def _named(run: re.Match[str]) -> str:
    return "".join(f"[U+{ord(one):04X}]" for one in run[0]) if _is_hidden(run) else run[0]
