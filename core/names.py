"""Safe forms, for a model's text, of names that come from people, platforms and files.

A name is data from outside. In a prompt it is one short line, in quotes it cannot close, made
of characters a reader sees. It has no line ends, controls, direction overrides, invisible or
stacked marks, and no brackets that notes and tags are made of. Every text for a model takes
names from here.
"""

import re
import unicodedata
from functools import lru_cache

NAME_LIMIT_CHARS = 80
UNNAMED = "unnamed"
_LOOKED_AT_CHARS = 4 * NAME_LIMIT_CHARS
_MAX_MARKS = 2
"""Maximum number of combining marks after one letter: as many as any script regularly writes."""
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""The few characters that are not separators and yet show nothing."""
_VARIANTS = re.compile("[\u034f\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_QUOTES = re.compile('["`\u00b4\u02ba\u02dd\u02ee\u05f4\u2032-\u2037\u275b-\u275e\u301d-\u301f]')


def quoted(name: str) -> str:
    """Return the name in double quotes, as one bounded line that holds no further double quote."""
    return f'"{folded(name)}"'


def folded(name: str, limit_chars: int = NAME_LIMIT_CHARS) -> str:
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
