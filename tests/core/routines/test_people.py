"""Patterns as people write them: nearly all are taken, and mean what they mean to Python's `re`."""

import re

import pytest

from core.routines.matching.nodes import PatternRefused
from core.routines.matching.pattern import Pattern, Subject
from tests.core.routines.people import PATTERNS

LEAST_ACCEPTED = 90


def accepted(pattern: str) -> bool:
    try:
        Pattern(pattern)
    except PatternRefused:
        return False
    return True


def test_of_a_hundred_patterns_at_least_ninety_are_accepted() -> None:
    assert len(PATTERNS) == len({pattern for pattern, _ in PATTERNS}) == 100
    assert all(re.search(pattern, text) for pattern, text in PATTERNS)
    assert sum(accepted(pattern) for pattern, _ in PATTERNS) >= LEAST_ACCEPTED


def test_accepted_patterns_find_what_re_finds() -> None:
    others = [text for _, text in PATTERNS[::5]]
    for pattern, text in PATTERNS:
        if not accepted(pattern):
            continue
        taken = Pattern(pattern)
        around = (text, f"{text}\n", f"x{text}", f"{text}é", f"é {text}", f"я{text}部", f"部 {text} 部")
        for message in (*around, *others):
            expected = re.search(pattern, message)
            found = taken.search(Subject(message))
            if expected is None:
                assert found is None, (pattern, message)
                continue
            assert found is not None, (pattern, message)
            assert (found.text, found.groups) == (expected.group(), expected.groups()), (pattern, message)
            assert dict(found.names) == expected.groupdict()


REFUSED = [
    (r"deploy(?!ment)", "(?!", 6, "has a lookaround"),
    (r"(?<=x)a", "(?<=", 0, "has a lookaround"),
    (r"(\w+) \1", r"\1", 6, "has a backreference"),
    (r"(?P<a>x)(?P=a)", "(?P=", 8, "has a backreference"),
    (r"a*+b", "*+", 1, "possessive"),
    (r"(?>a)b", "(?>", 0, "atomic"),
    (r"(a)?(?(1)b|c)d", "(?(", 4, "condition"),
    (r"\Bfoo", r"\B", 0, r"has a \B"),
    (r"(?x)a b", "(?x", 0, "flag"),
    (r"(?a)\w", "(?a", 0, "flag"),
    (r"a(?i)b", "(?i)", 1, "not at its start"),
    (r"a{1001}", "{1001}", 1, "more than 1000 times"),
    (r"a{3,2}", "{3,2}", 1, "maximum is less"),
    (r"a**", "*", 2, "repeats a repeat"),
    (r"^*a", "*", 1, "nothing to repeat"),
    (r"[z-a]", "-a", 2, "runs backward"),
    (r"[\d-z]", "-z", 3, "runs backward"),
    (r"a$b", "$", 1, "continues after its end"),
    (r"(a$)+", "$", 2, "continues after its end"),
    (r"(?:a*)+b", "", 6, "may be empty"),
    (r"\pL", r"\p", 0, "is not supported here"),
    (r"\N{BULLET}", r"\N", 0, "is not supported here"),
    (r"\x1", r"\x1", 0, "2 hexadecimal digits"),
    (r"\U00110000", r"\U00110000", 0, "beyond the last Unicode character"),
    (r"(a", "(", 0, "unclosed"),
    (r"a)", ")", 1, "unmatched"),
    (r"[a", "", 2, "ends within a class"),
    ("a\\", "", 2, "ends within an escape"),
    (r"(?P<1>a)", "(?P<1>", 0, "name"),
    (r"(?P<a>a)(?P<a>b)", "(?P<a>", 8, "name"),
    ("\ud800", "\ud800", 0, "lone surrogate"),
    (r"\b\b\b\ba", r"\b", 6, "too many word boundaries"),
    (r"\b^a", "^", 2, "before the start"),
    ("a" * 1001, "", 1000, "more than 1000 characters"),
    (r"((((\w{50}){50}){50}){50})", "", 0, "too large"),
    ("(" * 51 + "a" + ")" * 51, "(", 50, "50 groups"),
]


@pytest.mark.parametrize("pattern,construct,position,reason", REFUSED, ids=[row[0][:30] for row in REFUSED])
def test_an_unsupported_construct_is_refused_by_name_and_position(
    pattern: str, construct: str, position: int, reason: str
) -> None:
    with pytest.raises(PatternRefused) as refused:
        Pattern(pattern)
    assert (refused.value.construct, refused.value.position) == (construct, position)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "pattern", ["", "a*", ".*", "^", "$", r"\b", "(a|)", "(?:x?)", "^$", "a{0}", r"\b\w*\b"]
)
def test_patterns_matching_the_empty_text_are_refused(pattern: str) -> None:
    with pytest.raises(PatternRefused, match="matches the empty text"):
        Pattern(pattern)
