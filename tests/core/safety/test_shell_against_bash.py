"""What bash runs, the rating must have seen: bash itself is asked, with programs that only report.

A line is parsed and, unless it is rated high anyway, given to a real bash in which three programs write
their name and arguments to a pipe. Each report must be a command the parse found, word for word where the
parse claims to know the words.
"""

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from core.safety.shell import rate_command_line
from core.safety.shell.syntax import parse, readings
from core.safety.shell.words import Word
from tests.core.safety.shell_grammar import PROGRAMS, Lines
from tests.plugins.profile import Profile

BASH = shutil.which("bash")
END = "=end="
REPORT = f"""#!{BASH}
printf '%s\\0' "${{0##*/}}" "$@" {END} >&9 2>/dev/null
"""
PREFIXES = ("time", "coproc", "command", "!", "-p")

pytestmark = pytest.mark.skipif(BASH is None, reason="bash is not installed")


class RealBash:
    """Runs lines in which only the reporting programs exist."""

    def __init__(self, root: Path) -> None:
        self._programs, self._directory = root / "bin", root / "work"
        self._programs.mkdir()
        self._directory.mkdir()
        for name in PROGRAMS:
            (self._programs / name).write_text(REPORT)
            (self._programs / name).chmod(0o755)

    def run(self, line: str) -> list[tuple[str, ...]]:
        """Name and arguments of every program that was run, also in the background."""
        read_end, write_end = os.pipe()
        try:
            subprocess.run(
                [BASH or "bash", "-c", f'exec 9>&{write_end}; eval "$1"', "bash", line],
                env={"PATH": str(self._programs)},
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[write_end],
                timeout=20,
                check=False,
            )
        finally:
            os.close(write_end)
        return list(_reports(_read_all(read_end)))


def _read_all(read_end: int) -> str:
    """Until everything that holds the pipe is gone: background programs too."""
    with os.fdopen(read_end, "rb") as pipe:
        return pipe.read().decode(errors="replace")


def _reports(text: str) -> Iterator[tuple[str, ...]]:
    for report in text.split(f"{END}\0")[:-1]:
        yield tuple(_without_returns(report).split("\0")[:-1])


def _without_returns(text: str) -> str:
    """Carriage returns belong to words for bash, to line ends for the parse."""
    return text.replace("\r", "")


def seen_commands(line: str) -> set[tuple[Word, ...]]:
    """All commands the parse found, without what only stands before a command."""
    found: set[tuple[Word, ...]] = set()
    for reading in readings(line):
        for command in parse(reading).commands:
            words = command.words
            while words and (words[0].text in PREFIXES or "=" in words[0].text):
                words = words[1:]
            found.add(words)
    return found


def was_seen(report: tuple[str, ...], seen: set[tuple[Word, ...]]) -> bool:
    return any(
        bool(words)
        and words[0].text == report[0]
        and (not all(word.plain for word in words) or _not_empty(_texts(words)) == _not_empty(report))
        for words in seen
    )


def _not_empty(words: Iterable[str]) -> list[str]:
    """A lone carriage return is a word to bash and nothing to the parse."""
    return [word for word in words if word]


def _texts(words: tuple[Word, ...]) -> Iterator[str]:
    return (_without_returns(word.text) for word in words)


def test_bash_runs_nothing_that_the_rating_did_not_see(tmp_path: Path, profile: Profile) -> None:
    count = profile.pick(test=250, proof=2_500)
    bash, lines = RealBash(tmp_path), Lines(profile.seed)
    unseen: list[str] = []
    reports = 0
    for _ in range(count):
        line = lines.next()
        if rate_command_line(line).high:
            continue
        seen = seen_commands(line)
        for report in bash.run(line):
            reports += 1
            if not was_seen(report, seen):
                unseen.append(f"{line!r} ran {report}")
    assert unseen == []
    assert reports > count / 3, "the lines run too little to prove anything"


@pytest.mark.parametrize(
    "line",
    [
        "alpha <<E; beta\nx\nE\nE;\n",  # an odd delimiter
        "alpha <<E\n`beta`\nE\n",  # a substitution in a here document
        "al\\\npha",  # a name over two lines
        "alpha - <<E\nx\nE\n",  # a word the grammar drops
        "alpha -a2>&1",  # a word taken for a descriptor
        "alpha >f -a",  # a word behind a redirect
        "[ a ]#b || alpha",  # a comment that isn't one
        "alpha `beta` `gamma`",
        "alpha \\  x",
        "A=(1 2)beta alpha",
        "gamma | A=1 >f beta x",  # words behind a redirect that no command claims
    ],
)
def test_known_differences_between_grammar_and_bash_stay_covered(line: str, tmp_path: Path) -> None:
    seen = seen_commands(line)
    missed = [report for report in RealBash(tmp_path).run(line) if not was_seen(report, seen)]
    assert rate_command_line(line).high or not missed
