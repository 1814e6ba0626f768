"""What rating a command line costs as the line grows: CPU time of lines and of lines twice as long.

    python -m benchmarks.shell_rating [--rounds 7] [--json FILE]

Lines of the table in tests/core/safety and hostile pieces, repeated to 1,000 characters and more; each
figure is the best of the rounds. Exits 1 where doubling takes more than 2.5 times as long, of lines that take
more than a millisecond: below, the clock is judged and not the rating.
"""

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from core.errors import ToolError
from core.safety.paths import PathGuard
from core.safety.shell.rating import judge
from tests.core.safety.shell_table import read_table
from tests.core.safety.test_shell_lexer import HOSTILE

GATE = 2.5
SIZES_CHARS = (1_000, 2_000, 4_000)
GUARD = PathGuard(Path("/nonexistent"))
"""Every plain line fails there, once it has been read."""
WORTH_JUDGING_S = 0.001
TRIALS = 5


def measured(line: str, rounds: int) -> float:
    """Seconds of CPU time."""
    best_s = float("inf")
    for _ in range(rounds):
        started_s = time.process_time()
        with contextlib.suppress(ToolError):
            judge(line, GUARD)
        best_s = min(best_s, time.process_time() - started_s)
    return best_s


def growth(piece: str, chars: int, rounds: int) -> float:
    """How many times as long the doubled line takes; 0 where that says nothing.

    The least of a few trials: what else the machine does only adds.
    """
    line, doubled = (f"a {piece * (size // len(piece))}" for size in (chars, 2 * chars))
    least = float("inf")
    for _ in range(TRIALS):
        took_s = measured(line, rounds)
        if took_s < WORTH_JUDGING_S:
            return 0.0
        least = min(least, measured(doubled, rounds) / took_s)
        if least <= GATE:
            break
    return least


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and judge by the gate."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.shell_rating", description="What rating costs as lines grow."
    )
    parser.add_argument("--rounds", type=int, default=7, help="of which the best counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    options = parser.parse_args(arguments)
    lines = [line for kind in read_table().values() for line in kind[::8]]
    worst: dict[int, tuple[float, str]] = {}
    for chars in SIZES_CHARS:
        worst[chars] = max(
            (growth(piece, chars, options.rounds), piece)
            for piece in (*HOSTILE, *(f"{line}; " for line in lines))
        )
        print(f"{chars:>5} → {2 * chars:>5} characters: {worst[chars][0]:.2f} times, {worst[chars][1]!r}")
    if options.json is not None:
        figures = {
            f"{chars} to {2 * chars} characters": {"times": round(times, 2), "piece": piece}
            for chars, (times, piece) in worst.items()
        }
        options.json.write_text(
            json.dumps({"gate_times": GATE, "worst": figures}, indent=2, ensure_ascii=False) + "\n"
        )
    return 0 if max(times for times, _ in worst.values()) <= GATE else 1


if __name__ == "__main__":
    sys.exit(main())
