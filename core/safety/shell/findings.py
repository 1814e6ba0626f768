"""What was found in a command line, and how bad it is."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """`READS` changes nothing; `CHANGES` may; `HIGH` needs a person every time; `BLOCKED` never runs."""

    READS = 0
    CHANGES = 1
    HIGH = 2
    BLOCKED = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation; `reason` completes "This command …"."""

    level: Level
    reason: str = ""


READS = Finding(Level.READS)
CHANGES = Finding(Level.CHANGES)


def high(reason: str) -> Finding:
    """A finding a person must judge every time."""
    return Finding(Level.HIGH, reason)


def blocked(reason: str) -> Finding:
    """A finding no one may wave through."""
    return Finding(Level.BLOCKED, reason)


def worst(findings: Iterable[Finding | None]) -> Finding:
    """The first of the worst; READS if there is none."""
    found = READS
    for finding in findings:
        if finding is not None and finding.level > found.level:
            found = finding
    return found
