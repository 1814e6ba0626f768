"""What jobs in containers cost: their start, their model calls, and five of them together.

    python -m benchmarks.sandbox --image hubbub-worker [--rounds 20] [--repeats 5] [--json FILE]

Needs Docker and the image of workers. A hub runs in this process, with a model that answers at once. It
measures the milliseconds from a job's dispatch to its first model call, compared with a bare `docker run` of
the same image until its first output; a round of one model call and one tool call in a container, compared
with one on the host; five jobs at a time, compared with one; a chat's command in a container that waits for
it, over one on the host. Each figure is the median of its repeats, which
take turns, so that a busy machine slows all. Gates: GATE_START_RATIO, GATE_ROUND_RATIO. Exits 1 above them.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.jobs import OWNER, Ends, Scripted
from bot.app import App, Seams, serve
from bot.config.load import load
from bot.jobs.command_containers import NEXT, CommandContainers, WaitingTerms
from bot.jobs.docker_engine import DockerEngine
from core.clock import SystemClock
from core.ids import RandomIds
from core.job import JobBudget, NewJob
from core.model.base import Model
from core.sandbox.policy import container_user
from core.tool import ProcessInfo, RunningCall, Tool, Workspace
from core.tools.builtin.shell import shell_tool
from core.users import Principal, Role
from core.web import UNINTERCEPTED

GATE_START_RATIO = 4.0
"""A bare `docker run` copies no project, checks no policy and loads no worker."""
GATE_ROUND_RATIO = 6.0
"""A round in a container is three requests through its socket, each committed before its answer."""
TOGETHER = 5
MEMORY_MB = 256
DISK_MB = 100
CONFIG = """
[hub]
data_dir = "data"
[http]
port = 0
[jobs]
max_iterations = 500
use_planning = false
[sandbox]
enabled = true
image = "{image}"
memory_mb = {memory_mb}
disk_mb = {disk_mb}
max_parallel = 5
max_per_user = 5
[[models]]
name = "main"
provider = "demo"
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """The results, in milliseconds. `chat_call`: what a chat's command takes longer in a container that
    waits for it than on the host."""

    bare_start: float
    job_start: float
    host_round: float
    container_round: float
    one_job: float
    five_jobs: float
    chat_call: float

    @property
    def start_ratio(self) -> float:
        """The start of a job, in proportion to that of a bare container."""
        return self.job_start / self.bare_start

    @property
    def proxy_call(self) -> float:
        """What a model's call with its tool call takes longer through the socket than on the host, in
        milliseconds."""
        return self.container_round - self.host_round

    @property
    def round_ratio(self) -> float:
        """A round in a container, in proportion to one on the host."""
        return self.container_round / self.host_round


class Bench:
    """The hub at work."""

    def __init__(self, app: App, model: Scripted, chats: "Chats", rounds: int, repeats: int) -> None:
        self._app = app
        self._model = model
        self._chats = chats
        self._rounds = rounds
        self._repeats = repeats
        self._ids = RandomIds()
        self._number = 0

    async def figures(self, image: str) -> Figures:
        """Measure everything."""
        await self._jobs(1, 0, project=".")  # loads what jobs need
        await self._jobs(1, 0, project=None)
        await self._chats.over_host_ms()
        measures: Sequence[Callable[[], Awaitable[float]]] = (
            lambda: bare_start_ms(image),
            self._start_ms,
            lambda: self._round_ms(None),
            lambda: self._round_ms("."),
            lambda: self._jobs(1, self._rounds, project="."),
            lambda: self._jobs(TOGETHER, self._rounds, project="."),
            self._chats.over_host_ms,
        )
        taken = [[await measure() for measure in measures] for _ in range(self._repeats)]
        return Figures(*(statistics.median(column) for column in zip(*taken, strict=True)))

    async def _start_ms(self) -> float:
        began = time.perf_counter()
        await self._jobs(1, 0, project=".")
        return (self._model.first_called[self._task(0)] - began) * 1e3

    async def _round_ms(self, project: str | None) -> float:
        """Return the time of a round: of a job with many, without that of a job with none."""
        many = await self._jobs(1, self._rounds, project=project)
        return (many - await self._jobs(1, 0, project=project)) / self._rounds

    async def _jobs(self, count: int, rounds: int, *, project: str | None) -> float:
        """Return the time from the dispatch of the jobs until all are over, in milliseconds."""
        began = time.perf_counter()
        for _ in range(count):
            self._number += 1
            task, scope = self._task(rounds), () if project else ("time",)
            new = NewJob(
                self._ids.row_id(), OWNER, task, task, scope, JobBudget(iterations=500), project=project
            )
            await self._app.store.jobs.save_job(new)
        while await self._app.store.jobs.jobs(None, 1, working=True):  # noqa: ASYNC110 - they are in the store
            await asyncio.sleep(0.002)
        return (time.perf_counter() - began) * 1e3

    def _task(self, rounds: int) -> str:
        return f"rounds {self._number} {rounds}"


class Chats:
    """A person whose chats call `shell`, in containers and on the host. `files`: an empty directory."""

    def __init__(self, engine: DockerEngine, image: str, files: Path) -> None:
        user = container_user(os.geteuid(), os.getegid(), 1)
        os.chown(files, user.uid, user.gid)
        self._workspace = Workspace(files, files.parent, owner=(user.uid, user.gid))
        terms = WaitingTerms(image, MEMORY_MB, DISK_MB, uuid.uuid4().hex)
        self._commands = CommandContainers(engine, terms, SystemClock())
        self._inside = shell_tool(os.environ, commands=self._commands)
        self._host = shell_tool(os.environ)

    async def over_host_ms(self) -> float:
        """Return what a command takes longer in a container that waits for it than on the host."""
        for task in asyncio.all_tasks():
            if task.get_name() == NEXT:  # its end has the next container wait
                await asyncio.wait([task])
        return await self._call_ms(self._inside) - await self._call_ms(self._host)

    async def close(self) -> None:
        """End the containers."""
        await self._commands.close()

    async def _call_ms(self, tool: Tool) -> float:
        async def recorded(process: ProcessInfo) -> None:
            del process

        by, key = Principal(OWNER, Role.OWNER, OWNER), str(uuid.uuid4())
        call = RunningCall(by, "chat", key, self._workspace, 60.0, UNINTERCEPTED, recorded)
        began = time.perf_counter()
        said = await tool.run(call, tool.validate({"command": "echo said"}))
        taken_ms = (time.perf_counter() - began) * 1e3
        if said != "exit code: 0\nsaid\n":
            raise SystemExit(f"a command of a chat failed: {said}")
        return taken_ms


async def bare_start_ms(image: str) -> float:
    """Return the time from `docker run` to the first output of its program."""
    began = time.perf_counter()
    words = ("run", "--rm", "--network", "none", "--entrypoint", "python3", image, "-c", "print(1)")
    process = await asyncio.create_subprocess_exec("docker", *words, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    said = await process.stdout.readline()
    taken_ms = (time.perf_counter() - began) * 1e3
    if await process.wait() != 0 or not said:
        raise SystemExit(f"docker run of {image} failed; run: hubbub sandbox build")
    return taken_ms


async def measured(directory: Path, image: str, rounds: int, repeats: int) -> Figures:
    """Run a hub, and measure everything."""
    file = directory / "hubbub.toml"
    file.write_text(CONFIG.format(image=image, memory_mb=MEMORY_MB, disk_mb=DISK_MB))
    (directory / "workspace").mkdir()
    model, stop = Scripted(), asyncio.Event()
    made: asyncio.Future[Figures] = asyncio.get_running_loop().create_future()
    tasks: list[asyncio.Task[None]] = []

    async def work(app: App) -> None:
        files = directory / "person"
        files.mkdir()
        try:
            async with DockerEngine(os.environ) as engine:
                chats = Chats(engine, image, files)
                try:
                    figures = await Bench(app, model, chats, rounds, repeats).figures(image)
                finally:
                    await chats.close()
            made.set_result(figures)
        except BaseException as error:
            made.set_exception(error)
            raise
        finally:
            stop.set()

    def ready(app: App) -> None:
        tasks.append(asyncio.create_task(work(app), name="bench"))

    def scripted(_: Model) -> Model:
        return model

    await serve(load(file, environ=os.environ), Seams(model=scripted, turns=Ends()), ready, stop)
    await asyncio.gather(*tasks, return_exceptions=True)
    return await made


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--image", default="hubbub-worker")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        figures = asyncio.run(measured(Path(name), options.image, options.rounds, options.repeats))
    told = {**asdict(figures), "proxy_call": figures.proxy_call}
    told |= {"start_ratio": figures.start_ratio, "round_ratio": figures.round_ratio}
    for name, figure in told.items():
        print(f"{name:<24}{figure:>10.2f}")
    if options.json is not None:
        options.json.write_text(json.dumps(told, indent=2) + "\n")
    problems: list[str] = []
    if figures.start_ratio > GATE_START_RATIO:
        problems.append(
            f"a job starts in {figures.start_ratio:.2f} times > {GATE_START_RATIO} a bare container"
        )
    if figures.round_ratio > GATE_ROUND_RATIO:
        problems.append(f"a round takes {figures.round_ratio:.2f} times > {GATE_ROUND_RATIO} one on the host")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
