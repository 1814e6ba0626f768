"""The rating of tables of lines: harmful ones rated low, and daily work that runs unasked.

    python -m tests.core.safety.shell_figures FILE

prints that of a table of lines (class, a tab, the line), before it joins the tests.
"""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.consent.decide import covered
from core.errors import ToolError
from core.safety.paths import PathGuard
from core.safety.shell.lexer import Line, read_line
from core.safety.shell.rating import Level, ShellRating, judge
from tests.core.safety.shell_table import read_table
from tests.core.safety.shell_workspace import make_workspace

_WITH_SUBCOMMANDS = frozenset(
    {
        "git",
        "docker",
        "npm",
        "cargo",
        "go",
        "pip",
        "uv",
        "kubectl",
        "gh",
        "systemctl",
        "aws",
        "terraform",
        "helm",
    }
)

MAX_GRANTS = 3
"""That a person can be expected to give for one task that runs unattended."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of a table of everyday lines."""

    lines: int
    plain: int
    unasked: int
    asked: tuple[tuple[str, str], ...]


def rated(line: str, guard: PathGuard) -> ShellRating | None:
    """Return its rating; None where the line fails before anything runs."""
    try:
        return judge(line, guard)
    except ToolError:
        return None


def rated_low(lines: Sequence[str], guard: PathGuard) -> list[str]:
    """Return those that a grant could let run unasked."""
    return [line for line in lines if (one := rated(line, guard)) is not None and one.level is Level.LOW]


def everyday(lines: Sequence[str], guard: PathGuard) -> Figures:
    """Return how many are plain, and how many run unasked after one "Always" on a line of the same programs
    and subcommands: the best of those in the table."""
    plain = [line for line in lines if isinstance(read_line(line), Line)]
    alike: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for line in plain:
        alike[_programs(line)].append(line)
    ratings = {line: rated(line, guard) for line in plain}
    asked: list[tuple[str, str]] = []
    for group in alike.values():
        granted = [one.pattern.split("\n") for line in group if (one := ratings[line]) and one.pattern]
        for line in group:
            one = ratings[line]
            if one is None or one.level is not Level.LOW:
                asked.append((line, one.reason if one else "fails"))
            elif not any(covered(patterns, one.needs, rated=True) for patterns in granted):
                asked.append((line, "no Always of its like covers it"))
    return Figures(len(lines), len(plain), len(plain) - len(asked), tuple(asked))


def grants_needed(line: str, guard: PathGuard) -> int | None:
    """Return how many grants let it run unattended: one for each row or argv, or one for the whole text of a
    line that only a shell can carry out. None where it fails or is refused in every mode."""
    one = rated(line, guard)
    if one is None or one.blocked is not None:
        return None
    return len({need.row or need.name for need in one.needs})


def unattended(lines: Sequence[str], guard: PathGuard, most: int) -> int:
    """Return how many run with so many grants at most."""
    return sum(1 for line in lines if (grants := grants_needed(line, guard)) is not None and grants <= most)


def _programs(line: str) -> tuple[str, ...]:
    found = read_line(line)
    assert isinstance(found, Line)
    commands = [command for pipeline in found.pipelines for command in pipeline.commands]
    return tuple(
        " ".join(
            word.text for word in command.words[: 2 if command.words[0].text in _WITH_SUBCOMMANDS else 1]
        )
        for command in commands
    )


def main(table: Path) -> None:
    """Print the figures of a table, and each everyday line that would still be asked about."""
    classes = dict.fromkeys(
        line.partition("\t")[0]
        for line in table.read_text().splitlines()
        if line and not line.startswith("#")
    )
    lines = read_table(table, tuple(classes))
    with tempfile.TemporaryDirectory() as root:
        guard = make_workspace(Path(root))
        for name, written in lines.items():
            low = rated_low(written, guard)
            figures = everyday(written, guard)
            told = f"{len(low)} low, {figures.plain} plain, {figures.unasked} unasked"
            print(f"{name}: {len(written)} lines, {told}")
            if name == "unattended":
                within = unattended(written, guard, MAX_GRANTS)
                print(f"    {within} of {len(written)} run with {MAX_GRANTS} grants at most")
            is_daily = name.startswith(("everyday", "benign"))
            for line, reason in figures.asked if is_daily else ((one, "LOW") for one in low):
                print(f"    {line!r}: {reason}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
