"""Character classes over every character there is: the same as in Python's `re`."""

import re
import sys
from collections.abc import Sequence

import pytest

from core.routines.matching.matcher import folded
from core.routines.matching.nodes import without_case
from core.routines.matching.pattern import Pattern, Subject
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

pytestmark = pytest.mark.timeout(600)  # in profile `proof`

SURROGATES = range(0xD800, 0xE000)
EVERY = [chr(code) for code in range(sys.maxunicode + 1) if code not in SURROGATES]
NARROW = [chr(code) for code in (*range(0x3100), *range(0xFB00, 0x10900), *range(0x1D400, 0x1D420), 0x10FFFF)]
NARROW = [character for character in NARROW if ord(character) not in SURROGATES]

SETS = [
    *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", "."),
    *(r"[\d]", r"[\D]", r"[\w]", r"[\W]", r"[\s]", r"[\S]"),
    *(r"[^\d]", r"[^\D]", r"[^\w]", r"[^\W]", r"[^\s]", r"[^\S]"),
    *(
        r"[^\W\d_]",
        r"[^\S\n]",
        r"[\w.-]",
        r"[\Wa-f]",
        r"[а-яё\d]",
        r"[^一-龥\s]",
        r"(?i:[а-яё\W])",
        r"[^\Wé]",
    ),
    *(r"[\u0300-\u036f]", r"[^\x00-\x7f]", r"[\U0001f300-\U0001faff]", r"(?i:[a-z])", r"(?i:[^a-z])"),
]
NEIGHBOURS = ["a", "1", "_", "é", "部", "٣", "\u0301", "\ufe0f", "-", " ", "\n", "\x0b", "\x85", "🚀"]


def characters(profile: Profile) -> Sequence[str]:
    return profile.pick(test=NARROW, ci=EVERY, proof=EVERY)


def agree(pattern: str, texts: Sequence[str]) -> int:
    """Of the texts, one after the other, the pattern finds those that `re` does; gives how many."""
    compiled = re.compile(pattern)
    matching = [text for text in texts if compiled.fullmatch(text)]
    others = [text for text in texts if not compiled.fullmatch(text)]
    assert Pattern(pattern).search(Subject("".join(others))) is None, pattern
    if matching:
        assert Pattern(rf"\A(?:{pattern})+\Z").search(Subject("".join(matching))) is not None, pattern
    return len(matching)


@pytest.mark.parametrize("pattern", SETS)
def test_character_sets_match_the_same_characters_as_in_re(
    pattern: str, profile: Profile, proof_record: ProofRecord
) -> None:
    texts = [character for character in characters(profile) if character != "\n"]
    held = agree(pattern, texts)
    proof_record("routines-characters", **{f"{pattern} of {len(texts)}": held})


@pytest.mark.parametrize("neighbour", NEIGHBOURS, ids=map(ascii, NEIGHBOURS))
def test_words_begin_and_end_where_they_do_in_re(neighbour: str, profile: Profile) -> None:
    texts = [f";{neighbour}{character};" for character in characters(profile) if character != ";"]
    assert 0 < agree(rf";{re.escape(neighbour)}\b(?s:.);", texts) < len(texts)


def cased() -> list[str]:
    """All that have another case."""
    return [each for each in EVERY if each.lower() != each or each.upper() != each]


def test_letters_match_in_either_case_as_in_re(profile: Profile, proof_record: ProofRecord) -> None:
    every = cased()
    letters = profile.pick(test=[*"aikszß", *"ſKİıµςσΩ", *"ъѣάΐ", "\u0345"], ci=every[::7], proof=every)
    for letter in letters:
        compiled = re.compile(re.escape(letter), re.IGNORECASE)
        same = "".join(character for character in every if compiled.fullmatch(character))
        others = "".join(character for character in every if character not in same)
        assert Pattern(letter, ignore_case=True).search(Subject(others)) is None, letter
        assert Pattern(rf"\A[{letter}-{letter}]+\Z", ignore_case=True).search(Subject(same)), letter
        assert Pattern(rf"\A{letter}+\Z", ignore_case=True).search(Subject(same)), letter
        assert len({folded(character) for character in same}) == 1, letter
    proof_record("routines-characters", letters_of_either_case=len(letters))


def test_no_letter_of_either_case_is_forgotten() -> None:
    every = cased()
    forms: dict[str, set[int]] = {}
    for letter in every:
        forms.setdefault(letter.lower()[0].upper(), set()).add(ord(letter))
    for letter in every:
        ranges = without_case(((ord(letter), ord(letter)),))
        found = {code for low, high in ranges for code in range(low, high + 1)}
        assert found == forms[letter.lower()[0].upper()], letter
