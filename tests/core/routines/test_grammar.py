"""Generated patterns: what is accepted finds what `re` finds, and its groups hold the same."""

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest

from core.routine import Event
from core.routines.matching.matcher import folded, needed_texts
from core.routines.matching.nodes import PatternRefused
from core.routines.matching.pattern import Pattern, Subject
from tests.core.routines.grammar import Case, Grammar
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.tree import ROOT

LEAST_PART = 0.05
LEAST_MATCHING = 0.4
Answer = list[list[str | None] | None] | str | None


def by_re(cases: Sequence[Case]) -> list[Answer]:
    """Return what `re` finds, asked in a process that is given half a second for each pattern."""
    asked = "".join(json.dumps([case.pattern, case.texts]) + "\n" for case in cases)
    process = subprocess.run(
        [sys.executable, "-m", "tests.core.routines.re_process"],
        cwd=ROOT,
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in process.stdout.splitlines()]


def found(pattern: Pattern, text: str) -> list[str | None] | None:
    match = pattern.search(Subject(text))
    return None if match is None else [match.text, *match.groups]


@pytest.mark.timeout(900)  # in profile `proof`
def test_accepted_patterns_match_as_in_python(profile: Profile, proof_record: ProofRecord) -> None:
    grammar = Grammar(random.Random(profile.seed))
    drawn = [grammar.case() for _ in range(profile.pick(test=600, ci=5_000, proof=20_000))]
    accepted: list[tuple[Case, Pattern]] = []
    reasons: Counter[str] = Counter()
    for case in drawn:
        try:
            accepted.append((case, Pattern(case.pattern)))
        except PatternRefused as refused:
            reasons[refused.reason] += 1
    texts = matching = too_long = 0
    constructs: Counter[str] = Counter()
    for (case, pattern), expected in zip(accepted, by_re([case for case, _ in accepted]), strict=True):
        constructs.update(case.constructs)
        if expected is None:
            too_long += 1
            continue
        assert not isinstance(expected, str), f"re refuses {case.pattern!r}: {expected}"
        sets = needed_texts(Event(case.pattern))
        for text, match in zip(case.texts, expected, strict=True):
            assert found(pattern, text) == match, (case.pattern, text)
            message = folded(text).encode()
            assert match is None or all(any(each in message for each in one) for one in sets), (
                case.pattern,
                text,
            )
            texts += 1
            matching += match is not None
    parts = {construct: constructs[construct] / len(accepted) for construct in Grammar.CONSTRUCTS}
    assert min(parts.values()) >= LEAST_PART, parts
    assert matching / texts >= LEAST_MATCHING
    assert len(accepted) >= len(drawn) / 2
    proof_record(
        "routines-patterns",
        patterns=len(drawn),
        accepted=len(accepted),
        refused=dict(reasons),
        texts=texts,
        matching=round(matching / texts, 3),
        too_long_for_re=too_long,
        constructs={construct: round(part, 3) for construct, part in sorted(parts.items())},
    )
