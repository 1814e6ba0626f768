"""How long to wait for Telegram."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait for Telegram. `poll_read_s` is longer than a poll lasts: a poll's connection that
    went silent is given up after it. `taken_within_s`: so long after a request was made Telegram may still
    take it (connecting and reading); `probe_pace_s`: between two requests that look for a message, as between
    two messages to one chat."""

    poll_s: int = 30
    poll_read_s: float = 45.0
    read_s: float = 20.0
    connect_s: float = 10.0
    taken_within_s: float = 30.0
    probe_pace_s: float = 1.0
