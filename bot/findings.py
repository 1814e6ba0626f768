"""What `hubbub doctor` says about one thing it looked at."""

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """`WARNING`: it works, but something should be done; `BROKEN`: something does not work."""

    FINE = "fine"
    WARNING = "warning"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: `what` it is, how it is, in words, and what to do about it."""

    what: str
    health: Health
    message: str
    fix: str = ""


def fine(what: str, message: str) -> Finding:
    """Nothing to do."""
    return Finding(what, Health.FINE, message)


def warning(what: str, message: str, fix: str) -> Finding:
    """Something should be done."""
    return Finding(what, Health.WARNING, message, fix)


def broken(what: str, message: str, fix: str) -> Finding:
    """Something does not work until it is done."""
    return Finding(what, Health.BROKEN, message, fix)
