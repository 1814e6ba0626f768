"""Plain lines run as bash would run them: the same programs with the same words in the same order, to
the same end, leaving the same files. tests/core/tools/plain_lines.py says where we differ on purpose."""

import time
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

import pytest

from core.safety.shell.lexer import NotPlain, read_line
from tests.core.tools.plain_lines import PlainLines
from tests.core.tools.side_by_side import WITH_COMPLAINT, Argv, Pair, side_by_side
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

LINES_A_TIME = 50
ROOM_S = 600

pytestmark = pytest.mark.strace


def differences(pair: Pair) -> list[str]:
    """In what the two sides differ."""
    ours, bash = pair.ours, pair.bash
    if ours.refused:
        is_known = "matches nothing" in ours.refused and not ours.programs
        return [] if is_known else [f"refused, after {list(ours.programs)}: {ours.refused}"]
    found: list[str] = []
    if ours.status != bash.status:
        found.append(f"exit status {ours.status}, not {bash.status}")
    if WITH_COMPLAINT not in (ours.printed, bash.printed) and ours.printed != bash.printed:
        found.append(f"printed {ours.printed!r}, not {bash.printed!r}")
    names = {name for name in {*ours.files, *bash.files} if ours.files.get(name) != bash.files.get(name)}
    found.extend(
        f"{name!r} is {ours.files.get(name)!r}, not {bash.files.get(name)!r}" for name in sorted(names)
    )
    if sorted(_undashed(ours.programs)) != sorted(_undashed(bash.programs)):
        found.append(f"started {list(ours.programs)}, not {list(bash.programs)}")
    steps = [set(_undashed(step)) for step in pair.steps]
    found.extend(
        f"{who} started {list(programs)}: out of order"
        for who, programs in (("we", ours.programs), ("bash", bash.programs))
        if not _in_order(_undashed(programs), steps)
    )
    return found


def _undashed(programs: Iterable[Argv]) -> list[Argv]:
    """With the names that we write as `./-x`."""
    return [tuple(word[2:] if word.startswith("./-") else word for word in argv) for argv in programs]


def _in_order(programs: Sequence[Argv], steps: Sequence[Set[Argv]]) -> bool:
    """Return whether no program of a step starts after one of a later step; others were started by these."""
    reached = 0
    for argv in programs:
        if any(argv in step for step in steps):
            later = [place for place, step in enumerate(steps) if place >= reached and argv in step]
            if not later:
                return False
            reached = later[0]
    return True


def compare(lines: Sequence[str], root: Path) -> tuple[int, list[str]]:
    """How many programs were started, and all differences."""
    root.mkdir()
    pairs = list(side_by_side(lines, root))
    assert [pair.line for pair in pairs] == list(lines)
    found = [f"{pair.line!r}: {difference}" for pair in pairs for difference in differences(pair)]
    return sum(len(pair.ours.programs) for pair in pairs), found


def test_some_lines_end_as_in_bash(tmp_path: Path) -> None:
    made = PlainLines(seed=14)
    lines = [made.next() for _ in range(10)]
    started, found = compare(lines, tmp_path / "both")
    assert found == []
    assert started >= len(lines), "the lines run too little to prove anything"


@pytest.mark.slow
@pytest.mark.timeout(1800 + ROOM_S)
def test_thirty_minutes_of_lines_end_as_in_bash(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    ends_at = time.monotonic() + profile.pick(test=10, ci=60, proof=1800)
    made = PlainLines(profile.seed)
    lines = started = 0
    found: list[str] = []
    while time.monotonic() < ends_at and not found:
        batch = [made.next() for _ in range(LINES_A_TIME)]
        more, found = compare(batch, tmp_path / str(lines))
        lines, started = lines + len(batch), started + more
    proof_record("shell-against-bash", seed=profile.seed, lines=lines, programs=started, differences=found)
    assert found == []
    assert started >= lines


def test_generated_lines_are_plain() -> None:
    made = PlainLines(seed=14)
    found = [
        (line, read.reason)
        for line in (made.next() for _ in range(2_000))
        if isinstance(read := read_line(line), NotPlain)
    ]
    assert found == []
