"""The image of workers, built from a base with Python and this program's own files (nothing is fetched), and
the containers of it that wait for one command each."""

import asyncio
import contextlib
import hashlib
import io
import os
import tarfile
from collections.abc import Awaitable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path

import core
from bot.jobs.docker_engine import Attached, DockerEngine, DockerRefused, DockerUnreachable, PolicyViolated
from core.clock import Clock
from core.errors import OutcomeUnknown, ToolFailed, ToolTimeout
from core.safety.fencing import HeadAndTail
from core.sandbox.policy import ContainerPolicy, container_user
from core.tools.plan_message import Command, encode

VERSION_LABEL = "hubbub.worker"
"""The label of an image that names the files its worker is made of."""
DEFAULT_BASE = "python:3.11-slim-bookworm"
_DOCKERFILE = """\
FROM {base}
COPY hubbub /opt/hubbub
RUN python3 -c "import sys; sys.exit(sys.version_info < (3, 11))" \\
    && python3 -m compileall -q /opt/hubbub \\
    && PYTHONPATH=/opt/hubbub python3 -c "import core.sandbox.worker"
ENV PYTHONPATH=/opt/hubbub PYTHONUNBUFFERED=1
ENTRYPOINT ["python3", "-m", "core.sandbox.worker"]
"""
COMMAND = ("python3", "-m", "core.sandbox.worker")


def _files() -> Iterator[tuple[str, bytes]]:
    root = Path(core.__file__).parent
    for path in sorted(root.rglob("*.py")):
        yield f"hubbub/core/{path.relative_to(root).as_posix()}", path.read_bytes()


def worker_version() -> str:
    """Return the name of what the workers of this program are made of."""
    digest = hashlib.sha256()
    for name, content in _files():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def build_context(base: str) -> bytes:
    """Return what an image on that base is built from, as a tar archive: the worker needs the standard
    library and no wheel."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in [*_files(), ("Dockerfile", _DOCKERFILE.format(base=base).encode())]:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


WAITING_LABEL = "hubbub.commands"
"""The label of containers for commands; its value is the hub."""
LEADER = (
    *("python3", "-I", "-S", "-B", "-X", "utf8", "-c"),
    "import sys; sys.path.append('/opt/hubbub'); from core.tools.leader import main; main()",
)

KILLED = 137
"""The exit code of what SIGKILL ended, as for want of memory."""


@dataclass(frozen=True, slots=True)
class WaitingTerms:
    """What containers for commands are made of. `files`: the directory with everyone's files, absolute.
    `most`: how many run at a time, and how many wait; `idle_s`: how long one waits."""

    image: str
    memory_mb: int
    hub: str
    files: Path
    most: int
    idle_s: float


@dataclass(frozen=True, slots=True)
class _Waiting:
    container_id: str
    streams: Attached
    since_s: float


class CommandContainers:
    """Containers that carry out one command each, and end with it: nothing that it started outlives it.

    The next one of a person waits already, with their files mounted and no one else's. The leader in it reads
    the end of its input when the hub is gone, and then ends all of the container."""

    def __init__(self, engine: DockerEngine, terms: WaitingTerms, clock: Clock) -> None:
        self._engine = engine
        self._terms = terms
        self._clock = clock
        self._waiting: dict[str, _Waiting] = {}
        self._free = asyncio.Semaphore(terms.most)
        self._tasks: set[asyncio.Task[None]] = set()

    def files_of(self, person: str) -> Path:
        """Return the directory with a person's files."""
        return self._terms.files / hashlib.sha256(person.encode()).hexdigest()[:32]

    async def run(self, person: str, command: Command, output: HeadAndTail, limit_s: float) -> int:
        """Carry out a person's command within a time limit; return its exit code.

        Raises ToolTimeout, ToolFailed (nothing was done) and OutcomeUnknown."""
        async with self._free:
            try:
                waiting = await self._taken(person)
            except (DockerUnreachable, DockerRefused, PolicyViolated, OSError) as error:
                raise ToolFailed(f"The command was not started, nor run on the host: {error}.") from error
            try:
                return await self._carried_out(waiting, command, output, limit_s)
            finally:
                self._apart(self._followed(person, waiting))

    async def end_idle(self, idle_s: float | None = None) -> None:
        """End the containers that have waited too long: longer than that, by default than configured."""
        limit_s = self._terms.idle_s if idle_s is None else idle_s
        for person, waiting in list(self._waiting.items()):
            if self._clock.monotonic_s() - waiting.since_s >= limit_s:
                del self._waiting[person]
                await self._end(waiting)

    async def end_leftovers(self) -> None:
        """Remove what an earlier hub left. Raises DockerUnreachable, DockerRefused."""
        for container_id in await self._engine.labelled({WAITING_LABEL: self._terms.hub}):
            await self._engine.remove(container_id)

    async def close(self) -> None:
        """End all containers that wait."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self.end_idle(0)

    async def _carried_out(
        self, waiting: _Waiting, command: Command, output: HeadAndTail, limit_s: float
    ) -> int:
        try:
            message = encode(command)
        except ValueError as error:
            raise ToolFailed(f"The command could not be started: {error}.") from error
        try:
            async with asyncio.timeout(limit_s):
                await waiting.streams.say(message)
                await waiting.streams.printed(output.add)
            code = await self._engine.exit_code(waiting.container_id)
            state = await self._engine.state(waiting.container_id) if code == KILLED else None
        except TimeoutError:
            await self._engine.remove(waiting.container_id)
            raise ToolTimeout(f"Stopped after {limit_s:g} s. Output so far:\n{output.text()}") from None
        except (DockerUnreachable, DockerRefused, OSError) as error:
            raise OutcomeUnknown(f"Docker went away. Output so far:\n{output.text()}") from error
        if state is not None and state.out_of_memory:
            limit = f"{self._terms.memory_mb:,} MB"
            raise OutcomeUnknown(f"Ended: out of memory, of {limit}. Output so far:\n{output.text()}")
        return code

    async def _taken(self, person: str) -> _Waiting:
        """Return a container that waits: the one that is there, or a new one."""
        waiting = self._waiting.pop(person, None)
        if waiting is not None:
            state = await self._engine.state(waiting.container_id)
            if state is not None and state.running:
                return waiting
            await self._end(waiting)
        making = asyncio.get_running_loop().create_task(self._made(person), name="a container of a person")
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            self._apart(self._kept(person, making))
            raise

    async def _made(self, person: str) -> _Waiting:
        terms, files = self._terms, self.files_of(person)
        user = container_user(os.getuid(), os.getgid(), int(files.name, 16))
        files.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.getuid() == 0:
            os.chown(files, user.uid, user.gid)
        policy = ContainerPolicy(terms.image, user, terms.memory_mb, files)
        container_id = await self._engine.create(policy, LEADER, {WAITING_LABEL: terms.hub})
        try:
            streams = await self._engine.start_attached(container_id)
        except BaseException:
            await asyncio.shield(self._engine.remove(container_id))
            raise
        return _Waiting(container_id, streams, self._clock.monotonic_s())

    async def _followed(self, person: str, used: _Waiting) -> None:
        """Remove a used container, and have the next one wait unless one does."""
        await self._end(used)
        await self._kept(person, self._made(person))

    async def _kept(self, person: str, making: Awaitable[_Waiting]) -> None:
        """Have a new container wait, unless one of that person does; too many: the one longest there ends."""
        with contextlib.suppress(DockerUnreachable, DockerRefused, PolicyViolated, OSError):
            made = await making
            if self._waiting.setdefault(person, made) is not made:
                await self._end(made)
            elif len(self._waiting) > self._terms.most:
                await self._end(self._waiting.pop(next(iter(self._waiting))))

    async def _end(self, waiting: _Waiting) -> None:
        waiting.streams.close()
        with contextlib.suppress(DockerUnreachable, DockerRefused):
            await self._engine.remove(waiting.container_id)

    def _apart(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name="the next container of a person")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
