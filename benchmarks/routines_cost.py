"""What ten thousand routines cost those who only chat.

    python -m benchmarks.routines_cost [--routines 10000] [--rounds 5] [--json FILE]

Two hubs alternate, one with so many event routines, one with none; both are measured as in
benchmarks.overhead, on messages that fire nothing. Then, in this process, the engine loads the routines of a
real database, and further ones are saved beside them, while a ticker measures what the event loop does not
get round to. Gates: at most 1.1 times the CPU a message; nobody waits longer than 20 ms for either. Exits 1
above one of them. Figures are CPU time, so that they do not tell of the machine's other work.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.event_match import patterns, words
from benchmarks.overhead import Contestant, Figures, measure, median_of
from benchmarks.platforms import OnTelegram, Platform
from bot.__main__ import FEW_COLLECTIONS
from bot.app import USUAL_COLLECTIONS
from bot.config.load import load
from bot.routines.service import build_manager
from core.clock import SystemClock
from core.ids import RandomIds
from core.model.demo import DemoModel
from core.routine import Definition, Event, Guardrails, Lightweight
from core.routines.definitions import text_of
from core.store.sqlite.store import open_store
from core.users import Principal, Role
from tests.core.routines.engine_world import Told, service_of
from tests.timers import ManualTimers

GATE_CPU = 1.1
GATE_WAIT_MS = 20.0
SAVES = 200
AT_ONCE = 500
OWNER = Principal("owner", Role.OWNER, "owner")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Milliseconds: the longest that others wait while all routines are loaded, how long that takes, and the
    longest that they wait while more are saved."""

    load_wait_ms: float
    load_ms: float
    save_wait_ms: float


# --- the database ---------------------------------------------------------------------------------------


async def fill(database: Path, count: int) -> None:
    """An owner with so many routines that listen for messages."""
    database.parent.mkdir(parents=True)
    generator, ids = random.Random(9), RandomIds()
    said = patterns(generator, words(generator, 20_000), count)
    store = await open_store(database, SystemClock(), ids)
    try:
        await store.people.ensure_user(OWNER.user_id, OWNER.role, OWNER.name)
        for begin in range(0, count, AT_ONCE):
            async with asyncio.TaskGroup() as group:
                for number, pattern in enumerate(said[begin : begin + AT_ONCE], start=begin):
                    text = text_of(definition(f"routine {number:05}", pattern), None)
                    group.create_task(store.routines.save_routine(ids.row_id(), OWNER.user_id, text, None))
    finally:
        await store.close()


def definition(name: str, pattern: str) -> Definition:
    """A routine as the owner writes it."""
    return Definition(name, Event(pattern), Lightweight("Look into it."), guardrails=Guardrails(cooldown_s=0))


# --- what chats pay -------------------------------------------------------------------------------------


class Furnished(Contestant):
    """A hub that finds a database."""

    def __init__(self, name: str, database: Path) -> None:
        super().__init__(name, "bot")
        self._database = database

    def command(self, platform: Platform, model: str, directory: Path) -> list[str]:
        """See Contestant."""
        (directory / "data").mkdir(mode=0o700)
        shutil.copy(self._database, directory / "data" / "hub.db")
        return super().command(platform, model, directory)


async def compare(directory: Path, count: int, rounds: int) -> dict[str, Figures]:
    """Both hubs, alternating; medians by name."""
    contestants: list[Furnished] = []
    for name, routines in (("without routines", 0), (f"with {count} routines", count)):
        await fill(directory / name / "hub.db", routines)
        contestants.append(Furnished(name, directory / name / "hub.db"))
    taken: dict[str, list[Figures]] = {one.name: [] for one in contestants}
    for number in range(rounds):
        for one in contestants if number % 2 == 0 else reversed(contestants):
            taken[one.name].append(await measure(one, OnTelegram()))
    return {name: median_of(figures) for name, figures in taken.items()}


# --- what others wait for -------------------------------------------------------------------------------


async def waiting(directory: Path, database: Path) -> Waiting:
    """Load all routines as a starting hub does, and save more as a running one does."""
    config_file = directory / "hubbub.toml"
    config_file.write_text('[hub]\ndata_dir = "data"\n[[models]]\nname = "main"\nprovider = "demo"\n')
    config = load(config_file, environ={}).config
    clock, ids = SystemClock(), RandomIds()
    store = await open_store(database, clock, ids)
    try:
        service = service_of(config, store, DemoModel(), Told(), clock, ManualTimers(clock), ids)
        gc.set_threshold(FEW_COLLECTIONS)
        began = time.thread_time()
        async with ticking() as load_waits:
            await service.prepare()
        load_ms = (time.thread_time() - began) * 1e3
        gc.freeze()
        gc.set_threshold(*USUAL_COLLECTIONS)
        desk = build_manager(config, store, service, clock, ids)
        generator = random.Random(10)
        said = patterns(generator, words(generator, 20_000), SAVES)
        for row in (await store.routines.routines(OWNER.user_id))[:SAVES]:
            await desk.delete(OWNER, row.id)  # one person has no more than there are now
        async with ticking() as save_waits:
            for number, pattern in enumerate(said):
                trigger = {"type": "event", "pattern": pattern}
                action = {"type": "lightweight", "prompt": "Look into it."}
                await desk.create(OWNER, {"name": f"new {number}", "trigger": trigger, "action": action})
        return Waiting(max(load_waits), load_ms, max(save_waits))
    finally:
        gc.unfreeze()
        await store.close()


@contextlib.asynccontextmanager
async def ticking() -> AsyncIterator[list[float]]:
    """Collects what somebody else in the loop is kept waiting, in milliseconds of this thread's CPU time."""
    waits = [0.0]

    async def tick() -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            waits.append((now - last) * 1e3)
            last = now

    task = asyncio.create_task(tick(), name="tick")
    try:
        yield waits
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


# --- judging --------------------------------------------------------------------------------------------


def missed(figures: Sequence[Figures], waits: Waiting) -> list[str]:
    """The gates that do not hold."""
    without, with_routines = figures
    ratio = with_routines.cpu_ms_per_message / without.cpu_ms_per_message
    wrong = [f"{ratio:.2f} times the CPU a message > {GATE_CPU}"] if ratio > GATE_CPU else []
    for what, wait_ms in (("a load", waits.load_wait_ms), ("a save", waits.save_wait_ms)):
        if wait_ms > GATE_WAIT_MS:
            wrong.append(f"others wait {wait_ms:.0f} ms for {what} > {GATE_WAIT_MS:g}")
    return wrong


async def measured(count: int, rounds: int) -> tuple[dict[str, Figures], Waiting]:
    """Everything."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        figures = await compare(directory, count, rounds)
        return figures, await waiting(directory, directory / f"with {count} routines" / "hub.db")


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--routines", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures, waits = asyncio.run(measured(options.routines, options.rounds))
    print(f"{'':22} {'CPU ms':>7} {'p50 ms':>7} {'msg/s':>7} {'ready s':>8} {'MB':>6}")
    for name, one in figures.items():
        print(f"{name:22} {one.cpu_ms_per_message:7.2f} {one.sequential_p50_ms:7.1f}", end=" ")
        print(f"{one.messages_per_s:7.0f} {one.ready_s:8.2f} {one.idle_mb:6.0f}")
    without, with_routines = (one.cpu_ms_per_message for one in figures.values())
    ratio = with_routines / without
    print(f"a message costs {ratio:.3f} times as much CPU beside {options.routines} routines")
    print(f"loading them takes {waits.load_ms:.0f} ms; others wait {waits.load_wait_ms:.1f} ms at most;")
    print(f"saving one keeps others waiting {waits.save_wait_ms:.1f} ms at most")
    wrong = missed(tuple(figures.values()), waits)
    if options.json:
        written = {
            "figures": {name: asdict(one) for name, one in figures.items()},
            "cpu_ratio": ratio,
            "waiting": asdict(waits),
            "medians_of_rounds": options.rounds,
            "missed": wrong,
        }
        options.json.write_text(json.dumps(written, indent=2) + "\n")
    print(f"gates: {'missed: ' + '; '.join(wrong) if wrong else 'reached'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
