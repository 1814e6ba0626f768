"""The CPU time to clean a model's reply of hostile or plain text, whole and in pieces of seven characters.

`python -m benchmarks.reply_cleaning [--chars N]`

Exits 1 if a text of tags takes over half a second a million characters, or twice the text more than 2.5
times as long.
"""

import argparse
import sys

from tests.core.model.test_cleaning import MEGABYTE, SIGNS, TAGS, cost_s

MAX_S_PER_MEGABYTE = 0.5
MAX_GROWTH = 2.5
PIECE_CHARS = 7


def best_s(text: str, piece_chars: int) -> float:
    """The shortest of three runs."""
    return min(cost_s(text, piece_chars) for _ in range(3))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chars", type=int, default=MEGABYTE)
    chars: int = parser.parse_args().chars
    failed = False
    print(f"{'text':45} {'whole s':>8} {'pieces s':>8} {'doubled':>8}")
    for unit in ["word ", *TAGS, *SIGNS]:
        text = unit * (chars // len(unit))
        half_s, whole_s = best_s(text[: len(text) // 2], chars), best_s(text, chars)
        growth = whole_s / max(half_s, 1e-6)
        is_slow = unit in TAGS and whole_s > MAX_S_PER_MEGABYTE * chars / MEGABYTE
        failed = failed or is_slow or growth > MAX_GROWTH
        print(f"{unit!r:45} {whole_s:8.3f} {best_s(text, PIECE_CHARS):8.3f} {growth:8.2f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
