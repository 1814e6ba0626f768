"""How dangerous a shell command line is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShellRating:
    """`high`: a person must agree every time. `pattern`: what an "always" would cover, None: nothing.

    `blocked`: why it is refused in every mode. `reason`: what makes it risky, for the person who decides.
    """

    high: bool
    pattern: str | None = None
    blocked: str | None = None
    reason: str = ""


def rate_command_line(command_line: str) -> ShellRating:
    """Rate a command line; never raises."""
    return ShellRating(high=not command_line.strip())
