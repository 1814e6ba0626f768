"""What a command costs before it says its first word: CPU seconds of `--help` and of listings.

    python -m benchmarks.commands [--rounds 15] [--threads 1000] [--json FILE]

Each command is a process of its own; the figure is the median of the CPU time, user and system, that it took
from its start to its end. The listings read a database with so many threads. Exits 1 where a command takes
more than 0.3 s.
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.store import Bench
from core.clock import SystemClock
from core.ids import RandomIds
from core.store.sqlite.store import open_store
from tests.tree import ROOT

GATE_S = 0.3
COMMANDS = (
    ("--help",),
    ("threads", "--help"),
    ("threads", "list", "--help"),
    ("threads", "list"),
    ("threads", "list", "--json"),
    ("users", "list"),
    ("approvals", "list"),
    ("pair", "list"),
    ("grants", "list"),
    ("secrets", "list"),
    ("why",),
)


async def fill(database: Path, threads: int) -> None:
    """As many conversations, each with an answered message."""
    database.parent.mkdir()
    store = await open_store(database, SystemClock(), RandomIds())
    try:
        bench = Bench(store, callers=64, conversations=threads)
        _, started = await bench.accept(bench.events())
        await bench.finish(started)
    finally:
        await store.close()


def cpu_s(directory: Path, words: Sequence[str]) -> float:
    """What one run of a command took. Raises CalledProcessError if it failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "bot", *words],
        cwd=directory,
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(directory: Path, rounds: int) -> dict[str, float]:
    """Medians by command; commands alternate within each round."""
    taken: dict[str, list[float]] = {" ".join(words): [] for words in COMMANDS}
    for words in COMMANDS:  # the first run of each writes what Python compiled
        cpu_s(directory, words)
    for _ in range(rounds):
        for words in COMMANDS:
            taken[" ".join(words)].append(cpu_s(directory, words))
    return {name: statistics.median(times_s) for name, times_s in taken.items()}


def main() -> int:
    """Measure and print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        asyncio.run(fill(directory / "data" / "hub.db", options.threads))
        medians = measure(directory, options.rounds)
    for name, median_s in medians.items():
        print(f"hubbub {name:28} {median_s:6.3f} s")
    missed = [name for name, median_s in medians.items() if median_s > GATE_S]
    if options.json:
        page = {"cpu_s": medians, "gate_s": GATE_S, "missed": missed}
        options.json.write_text(json.dumps(page, indent=2) + "\n")
    print(f"gate of {GATE_S} s: {'missed by ' + ', '.join(missed) if missed else 'reached'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
