"""What the hub costs per message, beside bots that do nothing but answer.

`python -m benchmarks.overhead [--platform telegram|slack|discord] [--rounds 5] [--json FILE] [--only NAME]`

One process (this one) holds both simulators and the people; each contestant is a process of its own. Phases:
50 messages one after the other, then 500 over 50 chats, each chat sending its next when it was answered. A
message counts from the moment its update can be fetched until the request with its whole answer was read
from the wire; what the simulator does with that request is not the bot's.
Contestants alternate within each round; figures are medians over the rounds. The hub runs with its default
tools, history, streaming, Markdown and previews, `synchronous=FULL`, on a model that answers at once. Exits 1
below the gate, which there is on Telegram; the bots on the other platforms echo, without a model.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benchmarks.platforms import OnDiscord, OnSlack, OnTelegram, Platform
from tests.simulators.model import ModelSimulator

KEY = "benchmark-key"
PLATFORMS = {"telegram": OnTelegram, "slack": OnSlack, "discord": OnDiscord}
SEQUENTIAL, CHATS, PER_CHAT = 50, 50, 10
WARM_UP = 5
MARKDOWN = "\n\nThe **build** of `main` passed:\n\n- *tests* in 42 s\n- the [log](https://example.com/log)\n"
"""The model says what it was told, so each answer has this in it; the hub alone renders it."""

GATE_P50_MS, GATE_PER_S, GATE_OF_BARE, GATE_CPU_MS, GATE_READY_S, GATE_IDLE_MB = (
    8.0,
    350.0,
    0.3,
    3.0,
    1.2,
    80.0,
)


@dataclass(frozen=True, slots=True)
class Figures:
    """One contestant's round, or the medians of all."""

    sequential_p50_ms: float
    sequential_p99_ms: float
    messages_per_s: float
    cpu_ms_per_message: float
    ready_s: float
    idle_mb: float


class Contestant:
    """A bot as a process, and how it is started."""

    def __init__(self, name: str, module: str, *more: str, asks_model: bool = False) -> None:
        self.name = name
        self._module = module
        self._more = more
        self._asks_model = asks_model

    def command(self, platform: Platform, model: str, directory: Path) -> list[str]:
        """The command line against the given servers."""
        if self._module == "bot":
            config = directory / "hubbub.toml"
            config.write_text(_hub_config(platform, model, directory))
            return [sys.executable, "-m", "bot", "run", "--config", str(config)]
        asked = [model, KEY] if self._asks_model else []
        return [sys.executable, "-m", self._module, *platform.arguments(), *asked, *self._more]


HUB = Contestant("hub", "bot")
CONTESTANTS = {
    "telegram": (
        Contestant("bare", "benchmarks.bots.bare", asks_model=True),
        Contestant("ptb echo default", "benchmarks.bots.ptb_echo", "default"),
        Contestant("ptb echo aiohttp", "benchmarks.bots.ptb_echo", "aiohttp"),
        HUB,
    ),
    "slack": (Contestant("slack_sdk echo", "benchmarks.bots.slack_echo"), HUB),
    "discord": (Contestant("discord.py echo", "benchmarks.bots.discord_echo"), HUB),
}


def _hub_config(platform: Platform, model: str, directory: Path) -> str:
    return f"""
[hub]
data_dir = "{directory}/data"
owner_identities = {json.dumps([platform.account(person) for person in range(1, CHATS + 1)])}
[http]
port = 0
[workspace]
dir = "{directory}/workspace"
[access]
sender_per_minute = 0
[log]
level = "warning"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{model}"
api_key = "{KEY}"
{platform.section()}"""


async def measure(contestant: Contestant, platform: OnTelegram | OnSlack | OnDiscord) -> Figures:
    """One round of one contestant against fresh servers."""
    with tempfile.TemporaryDirectory() as directory:
        model = ModelSimulator(api_key=KEY, models=("sim-1",))
        async with platform.simulator, model:
            platform.open(CHATS)
            command = contestant.command(platform, model.openai_base_url, Path(directory))
            began = time.perf_counter()
            process = await asyncio.create_subprocess_exec(*command)
            try:
                await platform.connected()
                ready_s = time.perf_counter() - began
                return await _phases(platform, process.pid, ready_s)
            finally:
                process.kill()
                await process.wait()


async def _phases(platform: Platform, pid: int, ready_s: float) -> Figures:
    child = psutil.Process(pid)
    people = People(platform)
    for _ in range(WARM_UP):
        await people.ask(1)
    idle_mb = child.memory_info().rss / 1e6
    waits_ms = sorted([await people.ask(1) * 1e3 for _ in range(SEQUENTIAL)])
    cpu_before, began = _cpu_s(child), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for person in range(1, CHATS + 1):
            group.create_task(people.talk(person))
    took_s, cpu_s = time.perf_counter() - began, _cpu_s(child) - cpu_before
    count = CHATS * PER_CHAT
    return Figures(
        sequential_p50_ms=statistics.median(waits_ms),
        sequential_p99_ms=waits_ms[int(len(waits_ms) * 0.99)],
        messages_per_s=count / took_s,
        cpu_ms_per_message=cpu_s / count * 1e3,
        ready_s=ready_s,
        idle_mb=idle_mb,
    )


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


class People:
    """Writes messages and waits for the answer that contains them."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._asked = 0

    async def ask(self, person: int) -> float:
        """One message; seconds until the request with its whole answer had arrived."""
        self._asked += 1
        text = f"message {self._asked} of {person}."
        return await self._platform.ask(person, text + MARKDOWN, text)

    async def talk(self, person: int) -> None:
        """The messages of one chat in the closed phase."""
        for _ in range(PER_CHAT):
            await self.ask(person)


def median_of(rounds: Sequence[Figures]) -> Figures:
    """Each figure's median."""
    values = [asdict(figures) for figures in rounds]
    return Figures(**{name: statistics.median(value[name] for value in values) for name in values[0]})


def misses(hub: Figures, bare: Figures | None) -> list[str]:
    """What of the gate the hub does not reach."""
    found: list[str] = []
    if hub.sequential_p50_ms > GATE_P50_MS:
        found.append(f"sequential p50 {hub.sequential_p50_ms:.1f} ms > {GATE_P50_MS:g}")
    share = hub.messages_per_s / bare.messages_per_s if bare else 0.0
    if hub.messages_per_s < GATE_PER_S and share < GATE_OF_BARE:
        found.append(
            f"{hub.messages_per_s:.0f} messages/s < {GATE_PER_S:g} and {share:.2f} of bare < {GATE_OF_BARE}"
        )
    if hub.cpu_ms_per_message > GATE_CPU_MS:
        found.append(f"{hub.cpu_ms_per_message:.2f} ms CPU > {GATE_CPU_MS:g}")
    if hub.ready_s > GATE_READY_S:
        found.append(f"ready in {hub.ready_s:.2f} s > {GATE_READY_S:g}")
    if hub.idle_mb > GATE_IDLE_MB:
        found.append(f"{hub.idle_mb:.0f} MB > {GATE_IDLE_MB:g}")
    return found


def show(name: str, figures: Figures, bare: Figures | None) -> str:
    """One line of the table."""
    share = f"{figures.messages_per_s / bare.messages_per_s:5.2f}" if bare else "    -"
    return (
        f"{name:18} {figures.sequential_p50_ms:8.1f} {figures.sequential_p99_ms:8.1f} "
        f"{figures.messages_per_s:8.0f} {share} {figures.cpu_ms_per_message:8.2f} "
        f"{figures.ready_s:8.2f} {figures.idle_mb:8.0f}"
    )


async def run(platform: str, rounds: int, only: Sequence[str]) -> dict[str, Figures]:
    """All contestants, alternating; medians by name."""
    chosen = [contestant for contestant in CONTESTANTS[platform] if not only or contestant.name in only]
    taken: dict[str, list[Figures]] = {contestant.name: [] for contestant in chosen}
    for number in range(rounds):
        for contestant in chosen[number % len(chosen) :] + chosen[: number % len(chosen)]:
            taken[contestant.name].append(await measure(contestant, PLATFORMS[platform]()))
    return {name: median_of(figures) for name, figures in taken.items()}


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--platform", choices=list(PLATFORMS), default="telegram")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", action="append", default=[], help="a contestant's name; may be repeated")
    options = parser.parse_args()
    medians = asyncio.run(run(options.platform, options.rounds, options.only))
    bare = medians.get(CONTESTANTS[options.platform][0].name)
    print(
        f"{'':18} {'p50 ms':>8} {'p99 ms':>8} {'msg/s':>8} {'/bare':>5}"
        f" {'CPU ms':>8} {'ready s':>8} {'MB':>8}"
    )
    for name, figures in medians.items():
        print(show(name, figures, bare))
    gated = options.platform == "telegram" and "hub" in medians
    missed = misses(medians["hub"], bare) if gated else []
    if options.json:
        figures = {name: asdict(f) for name, f in medians.items()}
        written = {"python": sys.version, "rounds": options.rounds, "figures": figures, "missed": missed}
        options.json.write_text(json.dumps(written, indent=2) + "\n")
    if gated:
        print("\n".join(["gate: missed", *missed]) if missed else "gate: reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
