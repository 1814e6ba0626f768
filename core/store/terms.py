"""How notes are made searchable: words, and for scripts written without spaces pairs of characters.

The same terms are made from a note and from a query, so every database finds the same notes.
"""

import re
import unicodedata

_CJK = (
    "\u1100-\u11ff"  # Hangul jamo
    "\u3040-\u30ff"  # Hiragana, Katakana
    "\u3130-\u318f"  # Hangul compatibility jamo
    "\u31f0-\u31ff"  # Katakana extensions
    "\u3400-\u4dbf"  # Han, extension A
    "\u4e00-\u9fff"  # Han
    "\ua960-\ua97f"  # Hangul jamo, extended A
    "\uac00-\ud7ff"  # Hangul syllables
    "\uf900-\ufaff"  # Han, compatibility
    "\U00020000-\U0003ffff"  # Han, further extensions
)
_CHARACTER = re.compile(f"[{_CJK}]")
_RUNS = re.compile(f"([{_CJK}]+)|((?:(?![{_CJK}])[^\\W_])+)")


def note_terms(text: str) -> list[str]:
    """What a note is found by, in order: words in lower case; 部署器 as 部署, 署器, 器."""
    terms: list[str] = []
    for run, word in _runs(text):
        if word:
            terms.append(word)
        else:
            terms.extend(run[at : at + 2] for at in range(len(run)))
    return terms


def query_phrases(query: str) -> list[tuple[str, ...]]:
    """What all must be found: each phrase is a sequence of neighbouring terms.

    A single character of a script without spaces comes as a phrase of that one character; it is meant as
    the beginning of a term.
    """
    phrases: list[tuple[str, ...]] = []
    for run, word in _runs(query):
        if word:
            phrases.append((word,))
        elif len(run) == 1:
            phrases.append((run,))
        else:
            phrases.append(tuple(run[at : at + 2] for at in range(len(run) - 1)))
    return phrases


def is_prefix(phrase: tuple[str, ...]) -> bool:
    """Whether a phrase is a single character that stands for the beginning of a term."""
    return len(phrase) == 1 and _CHARACTER.fullmatch(phrase[0]) is not None


def _runs(text: str) -> list[tuple[str, str]]:
    return _RUNS.findall(unicodedata.normalize("NFKC", text).casefold())
