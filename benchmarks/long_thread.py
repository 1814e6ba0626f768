"""What a message costs in a conversation of thousands of turns, beside one in a new conversation.

    python -m benchmarks.long_thread [--turns 5000] [--rounds 5] [--json FILE]

The long conversation is made by the store's own units from one that a hub began, and its older turns are
summarized, as they are in any that became so long. Each round starts a hub on a copy of it: the very first
message is one in the long conversation, as soon as the hub listens; then messages alternate in blocks between
it and a new one. Gates, on the medians: at most 1.1 times the CPU a message, and the first message at most
20 ms over a later one. Exits 1 above one.
"""

import argparse
import asyncio
import contextlib
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benchmarks.overhead import HUB, KEY, People
from benchmarks.platforms import OnTelegram
from core.clock import SystemClock
from core.events import ModelTrace
from core.ids import RandomIds
from core.store.rows import ThreadRow, TurnStart, TurnState
from core.store.sql import turns
from core.store.sqlite.store import open_store
from core.store.units import Transaction
from core.transcript import AssistantSaid, UserSaid
from core.users import Principal, Role
from tests.simulators.model import ModelSimulator

GATE_CPU = 1.1
GATE_FIRST_MS = 20.0
LONG, NEW = 1, 2
"""The people who write in the long conversation and in the new one."""
BLOCKS, BLOCK = 6, 25
AT_ONCE = 250
LIVE_TURNS = 10


@dataclass(frozen=True, slots=True)
class Costs:
    """CPU milliseconds a message in a new and in a long conversation; and the milliseconds of a start's very
    first message, which is one in the long one, over the median of later ones there."""

    new_cpu_ms: float
    long_cpu_ms: float
    first_over_warm_ms: float


@dataclass(frozen=True, slots=True)
class Servers:
    """The platform and the model, for all hubs: a message's number is never given twice."""

    platform: OnTelegram
    model: ModelSimulator
    people: People

    @contextlib.asynccontextmanager
    async def hub(self, directory: Path) -> AsyncIterator[psutil.Process]:
        """A hub on what is in the directory."""
        command = HUB.command(self.platform, self.model.openai_base_url, directory)
        process = await asyncio.create_subprocess_exec(*command)
        try:
            await self.platform.connected()
            yield psutil.Process(process.pid)
        finally:
            process.terminate()
            await process.wait()


async def lengthen(database: Path, count: int) -> None:
    """Make the newest conversation so many turns longer. All but the newest turns are summarized."""
    ids = RandomIds()
    store = await open_store(database, SystemClock(), ids)
    try:
        (on,) = await store.threads.threads(1)
        thread_id = on.id

        def say(tx: Transaction, number: int) -> TurnStart:
            thread: ThreadRow = turns.thread(tx, thread_id)
            by = Principal(thread.owner_id, Role.OWNER, "owner")
            said = [UserSaid(f"question {number}: what became of build {number}?")]
            return turns.start_turn(
                tx, thread, by, ids.row_id(), said, thread.channel, thread.address, events=()
            )

        def answer(tx: Transaction, turn_id: str, number: int) -> None:
            said = AssistantSaid(f"Build {number} passed; its log is kept.")
            trace = ModelTrace("main")
            turns.finish(tx, turn_id, TurnState.DONE, said, [], ids.row_id(), None, trace, send_now=False)

        def some(tx: Transaction, begin: int) -> None:
            for number in range(begin, min(begin + AT_ONCE, count)):
                answer(tx, say(tx, number).turn_id, number)

        for begin in range(0, count, AT_ONCE):
            await store.turns.engine.write(lambda tx, begin=begin: some(tx, begin))
        last = await store.turns.engine.write(lambda tx: say(tx, count))
        covered = last.first_seq - 1 - 2 * LIVE_TURNS
        await store.turns.record_summary(last.turn_id, "The builds were discussed.", covered)
        await store.turns.engine.write(lambda tx: answer(tx, last.turn_id, count))
        while await store.threads.index_said(100):
            pass
    finally:
        await store.close()


async def measure(servers: Servers, made: Path) -> Costs:
    """One round on a copy of what was made."""
    people = servers.people
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(made, name, dirs_exist_ok=True)
        async with servers.hub(Path(name)) as hub:
            first_ms = await people.ask(LONG) * 1e3
            for _ in range(LIVE_TURNS):
                await people.ask(NEW)
            spent_s = {LONG: 0.0, NEW: 0.0}
            waits_ms: list[float] = []
            for number in range(BLOCKS):
                for person in (LONG, NEW) if number % 2 else (NEW, LONG):
                    before = _cpu_s(hub)
                    took = [await people.ask(person) * 1e3 for _ in range(BLOCK)]
                    spent_s[person] += _cpu_s(hub) - before
                    waits_ms += took if person == LONG else []
    new, long = (spent_s[person] / (BLOCKS * BLOCK) * 1e3 for person in (NEW, LONG))
    return Costs(new, long, first_ms - statistics.median(waits_ms))


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


async def measured(count: int, rounds: int) -> Costs:
    """The medians of all rounds."""
    platform, model = OnTelegram(), ModelSimulator(api_key=KEY, models=("sim-1",))
    async with platform.simulator, model:
        platform.open(NEW)
        servers = Servers(platform, model, People(platform))
        with tempfile.TemporaryDirectory() as name:
            made = Path(name)
            async with servers.hub(made):
                await servers.people.ask(LONG)
            await lengthen(made / "data" / "hub.db", count)
            taken = [asdict(await measure(servers, made)) for _ in range(rounds)]
    return Costs(**{name: statistics.median(one[name] for one in taken) for name in taken[0]})


def missed(costs: Costs) -> list[str]:
    """The gates that do not hold."""
    ratio = costs.long_cpu_ms / costs.new_cpu_ms
    wrong = [f"{ratio:.2f} times the CPU a message > {GATE_CPU}"] if ratio > GATE_CPU else []
    if costs.first_over_warm_ms > GATE_FIRST_MS:
        wrong.append(f"the first message takes {costs.first_over_warm_ms:.0f} ms more > {GATE_FIRST_MS:g}")
    return wrong


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    costs = asyncio.run(measured(options.turns, options.rounds))
    wrong = missed(costs)
    print(f"medians of {options.rounds} rounds")
    print(f"CPU a message: {costs.new_cpu_ms:.2f} ms in a new conversation,", end=" ")
    print(f"{costs.long_cpu_ms:.2f} ms after {options.turns} turns")
    print(f"its first message after a start takes {costs.first_over_warm_ms:.1f} ms more than a later one")
    if options.json:
        written = {"turns": options.turns, "medians_of_rounds": options.rounds, **asdict(costs)}
        options.json.write_text(json.dumps({**written, "missed": wrong}, indent=2) + "\n")
    print(f"gates: {'missed: ' + '; '.join(wrong) if wrong else 'reached'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
