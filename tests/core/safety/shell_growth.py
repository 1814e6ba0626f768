"""What lines cost as they grow: pieces that are repeated, and the steps their rating takes."""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from core.safety.shell import rate_command_line

HOSTILE = (
    *(
        "a|",
        "$[",
        "x=(",
        "f() ",
        "<<E ",
        "${",
        "((",
        "$((",
        "a;",
        "[[ ",
        "a&&",
        "`",
        "{ ",
        "$(",
        "( ",
        "\\\n",
    ),
    *("env ", "env --unknown ", "docker exec x ", "xterm a ", "foo rm ", "foo env ", "sh -c ", "npm exec a "),
    *("find . -exec a ; ", "x=1 ", "> a ", "if a; then ", 'a "$(b)" ', "eval ", "tmux 'a b' ", "uv run "),
    "tee a < b\n",
)


def steps(line: str) -> int:
    """Calls and returns, of Python's functions and of C's, while the line is rated."""
    taken = 0

    def one_more(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal taken
        taken += 1

    before = sys.getprofile()
    sys.setprofile(one_more)
    try:
        rate_command_line(line)
    finally:
        sys.setprofile(before)
    return taken


def grown(piece: str, chars: int) -> tuple[str, str]:
    """The piece repeated to about so many characters, and twice as often."""
    times = max(1, chars // len(piece))
    return piece * times, piece * (2 * times)


def pieces(lines: Sequence[str]) -> list[str]:
    """What is repeated: whole lines, one after the other, and hostile pieces."""
    return [*HOSTILE, *(f"{line}\n" for line in lines)]
