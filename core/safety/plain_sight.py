"""Text as the person sees it who decides about it: nothing hidden, nothing reordered, nothing pushed away.

Platforms drop characters without a shape, obey those that turn the writing direction round, and show many
kinds of blank alike; a program takes each for what it is. On a card they stand as `[U+202E]`, and long runs
of blanks and empty lines as `[200 blanks]`. So does whatever else Unicode gives no shape of its own: what is
unassigned or private, and combining marks, but for those that a script writes behind its own letters.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping

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
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})


def hides_something(text: str) -> bool:
    """Whether a character of it is not to be seen, or seen as another one."""
    if text.isascii():
        return False
    return any(map(_is_hidden, _RUN.finditer(text))) or _spell_unseen(text) != text


def in_plain_sight(text: str) -> str:
    """The text with everything named that would not be seen. Most texts are returned as they are."""
    if not text.isprintable():  # a line end is none either
        text = _EMPTY_LINES.sub(_count_lines, text)
    if not text.isascii():
        text = _spell_unseen(text)
    if not (text.isascii() and text.isprintable()):
        text = _RUN.sub(_named, text)
    return _BLANK_RUN.sub(lambda run: f" [{len(run[0])} blanks] ", text)


def _spell_unseen(text: str) -> str:
    """The text with what has no shape, or changes that of the letter before it, spelled out; runs that depend
    on both their neighbours are judged by `_is_hidden`."""
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
        # Scripts without capitals are those that need marks; other letters with accents are characters too.
        script = _script(one) if kind == "Lo" and not _RUN.match(one) else ""
        yield one


def _script(one: str) -> str:
    """The script in the character's name: DEVANAGARI, ARABIC; empty for what has none."""
    return unicodedata.name(one, "").partition(" ")[0]


def _code(one: str) -> str:
    return f"[U+{ord(one):04X}]"


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
    return "".join(map(_code, run[0])) if _is_hidden(run) else run[0]
