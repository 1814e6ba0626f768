"""The image of workers, built from a base with Python and this program's own files (nothing is fetched), and
the containers of it that wait for one command each."""

import asyncio
import contextlib
import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Awaitable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import core
from bot.jobs.docker_engine import (
    Attached,
    DockerEngine,
    DockerRefused,
    DockerUnreachable,
    ImageMissing,
    PolicyViolated,
    missing_image,
)
from core.clock import Clock
from core.errors import HubError, OutcomeUnknown, ToolFailed, ToolTimeout
from core.job import WORKER
from core.safety.fencing import HeadAndTail
from core.sandbox.agent import AGENTS
from core.sandbox.policy import ContainerPolicy, container_user
from core.tools.plan_message import Command, encode

VERSION_LABEL = "hubbub.worker"
"""The label of an image that names the files its worker is made of."""
DEFAULT_BASE = "python:3.11-slim-bookworm"
_DOCKERFILE = """\
FROM {base}
{agents}COPY hubbub /opt/hubbub
RUN python3 -c "import sys; sys.exit(sys.version_info < (3, 11))" \\
    && python3 -m compileall -q /opt/hubbub \\
    && PYTHONPATH=/opt/hubbub python3 -c "import core.sandbox.worker"
ENV PYTHONPATH=/opt/hubbub PYTHONUNBUFFERED=1
ENTRYPOINT ["python3", "-m", "core.sandbox.worker"]
"""
_COMMAND = ("python3", "-m", "core.sandbox.worker")
_AGENT_COMMAND = ("python3", "-m", "core.sandbox.agent")
_USER = b"""\
const os = require("node:os");
const named = { username: "agent", homedir: process.env.HOME, shell: "/bin/sh" };
os.userInfo = () => ({ uid: process.getuid(), gid: process.getgid(), ...named });
require("node:module").syncBuiltinESMExports();
"""
"""Some agents ask for the name of their user. Containers run as a number that has none."""
_WITH_CREDENTIAL = b"""\
#!/bin/sh
line=$(PYTHONPATH=/opt/hubbub python3 -m core.sandbox.agent credential "$1") || exit 1
eval "$line"
shift
exec "$@"
"""
AGENTS_LABEL = "hubbub.agents"
"""The label of an image that names the agent CLIs in it."""
PACKAGES = {"claude": "@anthropic-ai/claude-code", "qwen": "@qwen-code/qwen-code"}
"""The package on npm that has each agent."""


class ImageRefused(HubError):
    """Error for an image that jobs can't work in, or that can't be built; the text says what to do."""


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """What an image gets for its agent CLIs. `node`: the program that runs them; `packages`: the directory of
    each one's package, by its name."""

    node: Path
    packages: Mapping[str, Path]


def command_of(mode: str) -> Sequence[str]:
    """Return what a container runs for a job of this mode."""
    return _COMMAND if mode == WORKER else (*_AGENT_COMMAND, mode)


def _files() -> Iterator[tuple[str, bytes]]:
    root = Path(core.__file__).parent
    for path in sorted([*root.rglob("*.py"), root / "model" / "cli.toml"]):
        yield f"hubbub/core/{path.relative_to(root).as_posix()}", path.read_bytes()


def worker_version() -> str:
    """Return the name of what the workers of this program are made of."""
    digest = hashlib.sha256()
    for name, content in _files():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def agents_from(named: Sequence[str], node: Path | None) -> AgentFiles | None:
    """Return the agents that are each named as NAME=DIRECTORY; None for none. Raises ImageRefused."""
    packages: dict[str, Path] = {}
    for one in named:
        name, _, directory = one.partition("=")
        package, path = PACKAGES.get(name), Path(directory)
        if package is None:
            raise ImageRefused(f"There is no agent {name!r}; the agents are: {', '.join(PACKAGES)}")
        if not directory or _package_name(path) != package or not (path / "cli.js").is_file():
            raise ImageRefused(
                f"{directory or 'Nothing'} is not the directory of the package {package}; install it with npm"
                f" and name it: --agent {name}=node_modules/{package}"
            )
        packages[name] = path
    if not packages:
        return None
    if node is None or not node.is_file():
        raise ImageRefused("Name the file of Node 20 or newer with --node: agents run on it")
    return AgentFiles(node, packages)


def _package_name(directory: Path) -> str:
    try:
        return str(json.loads((directory / "package.json").read_text(encoding="utf-8"))["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def labels_of(agents: AgentFiles | None) -> Mapping[str, str]:
    """Return the labels of an image with those agents."""
    return {VERSION_LABEL: worker_version(), AGENTS_LABEL: ",".join(agents.packages) if agents else ""}


@contextlib.contextmanager
def build_context(base: str, agents: AgentFiles | None = None) -> Iterator[IO[bytes]]:
    """Give what an image on that base is built from, as a tar archive: the worker needs the standard library
    and no wheel, agents need Node."""
    with tempfile.TemporaryFile() as buffer, tarfile.open(fileobj=buffer, mode="w") as archive:
        text = _DOCKERFILE.format(base=base, agents="" if agents is None else f"COPY agents {AGENTS}\n")
        written = [("Dockerfile", text.encode()), ("agents/user.cjs", _USER)]
        written.append(("agents/with-credential", _WITH_CREDENTIAL))
        for name, content in [*_files(), *written]:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755 if content.startswith(b"#!") else 0o644
            archive.addfile(entry, io.BytesIO(content))
        if agents is not None:
            archive.add(agents.node.resolve(), "agents/node", filter=partial(_plain, 0o755))
            for name, directory in agents.packages.items():
                archive.add(directory.resolve(), f"agents/{name}", filter=partial(_plain, 0))
        archive.close()
        buffer.seek(0)
        yield buffer


def _plain(mode: int, entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return an entry that belongs to root, and that everyone may read."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = mode or (entry.mode & 0o755 | 0o444)
    return entry


async def require_image(engine: DockerEngine, image: str, mode: str) -> None:
    """Raise ImageRefused unless jobs of this mode can work in containers of an image."""
    try:
        labels = await engine.image_labels(image)
    except ImageMissing:
        raise ImageRefused(missing_image(image)) from None
    if labels.get(VERSION_LABEL) != await asyncio.to_thread(worker_version):
        raise ImageRefused(f"The image {image} is no worker of this version; run: hubbub sandbox build")
    if mode != WORKER and mode not in labels.get(AGENTS_LABEL, "").split(","):
        raise ImageRefused(
            f"The image {image} has no agent {mode}; run: hubbub sandbox build --node FILE"
            f" --agent {mode}=DIRECTORY"
        )


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
