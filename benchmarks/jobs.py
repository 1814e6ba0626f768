"""What jobs cost, and what they cost those who chat.

    python -m benchmarks.jobs [--jobs 200] [--rounds 40] [--json FILE]

A hub runs in this process, with a model that answers at once. It measures the milliseconds from dispatch to
the first model call, jobs a second, CPU milliseconds a round, and bytes for each job that waits. Then its
model takes 200 ms, sooner than a provider's does, and an answer in the chat is timed alone and while five
jobs run. Gate: at most 1.5 times the latency. Exits 1 above it.
"""

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from pathlib import Path

from bot.app import App, Seams, serve
from bot.config.load import load
from channels.webchat import WEB
from core.events import Finished, TurnEvent
from core.ids import RandomIds
from core.job import JobBudget, NewJob
from core.messages import Address, InboundMessage, Sender
from core.model.base import CallRequest, Model, ModelAbilities, ModelReply, ModelRequest, ReplyDelta
from core.transcript import Origin, UserSaid
from core.usage import Usage

GATE_LATENCY = 1.5
OWNER = "owner"
SLOW_S = 0.2
CHATS = 25
WAITING = 150
BUSY = 5
CONFIG = (
    '[hub]\ndata_dir = "data"\n[http]\nport = 0\n[jobs]\nmax_parallel = 5\nmax_per_user = 5\n'
    'max_iterations = 500\nuse_planning = false\n[[models]]\nname = "main"\nprovider = "demo"\n'
)


@dataclass(frozen=True, slots=True)
class Figures:
    """The results. Times in milliseconds, memory in bytes."""

    dispatch_to_model_ms: float
    jobs_per_s: float
    cpu_ms_per_round: float
    bytes_per_waiting_job: float
    chat_alone_ms: float
    chat_with_jobs_ms: float

    @property
    def latency_ratio(self) -> float:
        """Latency of a chat with jobs, in proportion to that without."""
        return self.chat_with_jobs_ms / self.chat_alone_ms


class Scripted:
    """A model that calls a tool without effects as often as the task says, and then answers."""

    name = "main"
    abilities = ModelAbilities()

    def __init__(self) -> None:
        self.delay_s = 0.0
        self.hold = asyncio.Event()
        self.hold.set()
        self.first_called: dict[str, float] = {}

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """Return the next reply."""
        task = next(said.text for said in request.conversation if isinstance(said, UserSaid))
        self.first_called.setdefault(task, time.perf_counter())
        await self.hold.wait()
        await asyncio.sleep(self.delay_s)
        words = task.split()
        rounds = int(words[-1]) if words[0] == "rounds" else 0
        made = sum(said.kind == "call" for said in request.conversation)
        offered = {tool.name for tool in request.tools}
        tool = "time" if "time" in offered else "list_files"  # on the host, and in a container
        calls = (CallRequest(f"call-{made}", tool, "{}"),) if made < rounds else ()
        yield ReplyDelta("Done.")
        yield ModelReply("" if calls else "Done.", calls, Usage(10, 1), Origin("demo", "main"))


class Ends:
    """The ends of chat turns."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        """Note an end."""
        del thread_id, turn_id
        if isinstance(event, Finished):
            self.ended.set()


class Bench:
    """The hub at work."""

    def __init__(self, app: App, model: Scripted, ends: Ends) -> None:
        self._app = app
        self._model = model
        self._ends = ends
        self._ids = RandomIds()
        self._numbers = itertools.count()

    async def dispatch(self, count: int, rounds: int) -> list[str]:
        """Dispatch jobs; return their tasks."""
        tasks = [f"rounds {next(self._numbers)} {rounds}" for _ in range(count)]
        for task in tasks:
            new = NewJob(self._ids.row_id(), OWNER, task, task, ("time",), JobBudget(iterations=500))
            await self._app.store.jobs.save_job(new)
        return tasks

    async def none_left(self) -> None:
        """Wait until no job waits or runs."""
        while await self._app.store.jobs.jobs(None, 1, working=True):  # noqa: ASYNC110 - they are in the store
            await asyncio.sleep(0.005)

    async def starts_ms(self, count: int) -> float:
        """Return the median time from a dispatch to the first model call."""
        taken: list[float] = []
        for _ in range(count):
            began = time.perf_counter()
            (task,) = await self.dispatch(1, 0)
            await self.none_left()
            taken.append((self._model.first_called[task] - began) * 1e3)
        return statistics.median(taken)

    async def per_second(self, count: int) -> float:
        """Return the jobs that are dispatched and end in a second."""
        began = time.perf_counter()
        await self.dispatch(count, 0)
        await self.none_left()
        return count / (time.perf_counter() - began)

    async def cpu_ms(self, rounds: int) -> float:
        """Return the CPU time of a round of one call."""
        began = time.process_time()
        await self.dispatch(1, rounds)
        await self.none_left()
        return (time.process_time() - began) * 1e3 / rounds

    async def waiting_bytes(self) -> float:
        """Return the memory that each job takes which waits for a slot."""
        self._model.hold.clear()
        await self.dispatch(BUSY, 0)
        await asyncio.sleep(0.2)
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        await self.dispatch(WAITING, 0)
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        self._model.hold.set()
        await self.none_left()
        return max(0, after - before) / WAITING

    async def chat_ms(self, *, busy: bool) -> float:
        """Return the median time to an answer in the chat; `busy`: while jobs run without end."""
        self._model.delay_s = SLOW_S
        jobs = asyncio.create_task(self._keep_busy()) if busy else None
        taken: list[float] = []
        for _ in range(CHATS):
            taken.append(await self._chat())
        if jobs is not None:
            jobs.cancel()
            await asyncio.gather(jobs, return_exceptions=True)
        self._model.delay_s = 0.0
        await self.none_left()
        return statistics.median(taken)

    async def _keep_busy(self) -> None:
        while True:
            waiting = await self._app.store.jobs.jobs(None, BUSY, working=True)
            await self.dispatch(BUSY - len(waiting), 20)
            await asyncio.sleep(0.05)

    async def _chat(self) -> float:
        key, now = f"said-{next(self._numbers)}", time.time_ns() // 1000
        sender, began = Sender(OWNER, OWNER), time.perf_counter()
        self._ends.ended.clear()
        said = InboundMessage(key, f"{now:020}", WEB, Address("bench"), "bench", sender, "hello", now)
        await self._app.inbox.accept(said)
        await self._ends.ended.wait()
        return (time.perf_counter() - began) * 1e3


async def measured(directory: Path, jobs: int, rounds: int) -> Figures:
    """Run a hub, and measure everything."""
    file = directory / "hubbub.toml"
    file.write_text(CONFIG)
    model, ends, stop = Scripted(), Ends(), asyncio.Event()
    made: asyncio.Future[Figures] = asyncio.get_running_loop().create_future()
    tasks: list[asyncio.Task[None]] = []

    async def work(app: App) -> None:
        bench = Bench(app, model, ends)
        try:
            await bench.starts_ms(3)  # loads what jobs need
            made.set_result(
                Figures(
                    await bench.starts_ms(20),
                    await bench.per_second(jobs),
                    await bench.cpu_ms(rounds),
                    await bench.waiting_bytes(),
                    await bench.chat_ms(busy=False),
                    await bench.chat_ms(busy=True),
                )
            )
        except BaseException as error:
            made.set_exception(error)
            raise
        finally:
            stop.set()

    def ready(app: App) -> None:
        tasks.append(asyncio.create_task(work(app), name="bench"))

    def scripted(_: Model) -> Model:
        return model

    await serve(load(file, environ={}), Seams(model=scripted, turns=ends), ready, stop)
    await asyncio.gather(*tasks, return_exceptions=True)
    return await made


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        figures = asyncio.run(measured(Path(name), options.jobs, options.rounds))
    for name, figure in asdict(figures).items():
        print(f"{name:<24}{figure:>10.2f}")
    print(f"{'latency_ratio':<24}{figures.latency_ratio:>10.2f}")
    if options.json is not None:
        options.json.write_text(json.dumps(asdict(figures), indent=2) + "\n")
    if figures.latency_ratio > GATE_LATENCY:
        print(f"a chat with {BUSY} jobs beside it takes {figures.latency_ratio:.2f} times > {GATE_LATENCY}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
