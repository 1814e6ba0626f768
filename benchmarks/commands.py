"""What a command costs before it says its first word: CPU seconds of `--help` and of listings.

    python -m benchmarks.commands [--rounds 5] [--threads 1000] [--json FILE]

Each command is a process of its own; the figure is the median of the CPU time, user and system, that it took
from its start to its end. The listings read a database with so many threads. The terminal's figure is the
time by the clock from the start of `hubbub chat`, with a running hub, until its prompt. Exits 1 where help
takes more than 0.3 s, a listing 0.4 s, or the prompt 0.6 s.
"""

import argparse
import asyncio
import contextlib
import json
import os
import pty
import resource
import statistics
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.store import Bench
from core.clock import SystemClock
from core.ids import RandomIds
from core.store.sqlite.store import open_store
from tests.tree import ROOT

HELP_GATE_S, LISTING_GATE_S, PROMPT_GATE_S = 0.3, 0.4, 0.6
PROMPT = "›".encode()
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
THROUGH_THE_API = (("jobs", "list"), ("routines", "list"), ("tools", "list"), ("usage",))
"""With the running hub."""


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


def to_prompt_s(directory: Path) -> float:
    """What `hubbub chat` took from its start to its prompt. Raises EOFError if it ended before."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, 120))
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "bot", "chat"],
        cwd=directory,
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    shown = b""
    try:
        while PROMPT not in shown:
            shown += os.read(leader, 65536)
        return time.monotonic() - began
    finally:
        process.kill()
        process.wait()
        os.close(leader)


@contextlib.contextmanager
def running_hub(directory: Path) -> Iterator[None]:
    """A hub on the same database."""
    hub = subprocess.Popen(
        [sys.executable, "-m", "bot", "run"],
        cwd=directory,
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT), "HUBBUB__HTTP__PORT": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert hub.stdout is not None
        hub.stdout.readline()  # it serves
        yield
    finally:
        hub.terminate()
        hub.wait()


def measure(directory: Path, commands: Sequence[Sequence[str]], rounds: int) -> dict[str, float]:
    """Medians by command; commands alternate within each round."""
    taken: dict[str, list[float]] = {" ".join(words): [] for words in commands}
    for words in commands:  # the first run of each writes what Python compiled
        cpu_s(directory, words)
    for _ in range(rounds):
        for words in commands:
            taken[" ".join(words)].append(cpu_s(directory, words))
    return {name: statistics.median(times_s) for name, times_s in taken.items()}


def main() -> int:
    """Measure and print; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.commands")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        asyncio.run(fill(directory / "data" / "hub.db", options.threads))
        medians = measure(directory, COMMANDS, options.rounds)
        gates = {name: HELP_GATE_S if name.endswith("--help") else LISTING_GATE_S for name in medians}
        with running_hub(directory):
            through = measure(directory, THROUGH_THE_API, options.rounds)
            prompts = [to_prompt_s(directory) for _ in range(options.rounds + 1)][1:]
        medians |= through | {"chat": statistics.median(prompts)}
        gates |= dict.fromkeys(through, LISTING_GATE_S) | {"chat": PROMPT_GATE_S}
    for name, median_s in medians.items():
        print(f"hubbub {name:28} {median_s:6.3f} s of {gates[name]} s")
    missed = [name for name, median_s in medians.items() if median_s > gates[name]]
    if options.json:
        page = {
            "python": sys.version,
            "rounds": options.rounds,
            "seconds": medians,
            "gates_s": gates,
            "missed": missed,
        }
        options.json.write_text(json.dumps(page, indent=2) + "\n")
    print("missed by " + ", ".join(missed) if missed else "all gates reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
