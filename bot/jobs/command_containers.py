"""Containers that carry out the commands of chats and routines: each person has their own, and none is anyone
else's."""

import asyncio
import contextlib
import logging
import os
import uuid
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path

from bot.jobs.docker_engine import Attached, DockerEngine, DockerRefused, DockerUnreachable, PolicyViolated
from bot.jobs.upkeep import taken_bytes
from bot.jobs.worker_image import ImageRefused, require_image
from core.clock import Clock
from core.errors import OutcomeUnknown, ToolFailed, ToolTimeout
from core.job import WORKER
from core.lazy import dataclass
from core.off_loop import finish
from core.safety.fencing import HeadAndTail
from core.sandbox.disk import used_bytes
from core.sandbox.policy import MB, TEMPORARY, ContainerPolicy, ContainerUser, RootRefused
from core.tool import CallContext, ProcessInfo, Workspace
from core.tools.child import Command, encode
from core.tools.processes import end_process

logger = logging.getLogger(__name__)

WAITING_LABEL = "hubbub.commands"
"""The label of containers for commands; its value is the hub."""
START_LABEL = "hubbub.start"
"""The label that names the start of the hub that made one."""
DOCKER_HOST = "docker:"
"""Before the id of a container, where a record of a process names its host."""
_BOOT = """import os, sys
told = os.dup(2)
os.dup2(1, 2)
sys.path.append('/opt/hubbub')
from core.tools.leader import main
main(told)
"""
"""Has its errors take the way of its output: Docker keeps no order between two streams. What was the way of
errors is the leader's alone: it tells there how its programs ended."""
LEADER = ("python3", "-I", "-S", "-B", "-X", "utf8", "-c", _BOOT)
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": TEMPORARY,
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""What commands see: nothing of the hub's. Their home is gone with the container, so that no file of the
workspace is a setting of theirs."""
SHELL = ("/bin/sh", "-c", '[ -x /bin/bash ] && exec /bin/bash -c "$1"; exec /bin/sh -c "$1"', "sh")
"""Only inside is it known whether there is a bash."""

NEXT = "the next container of a person"
"""The name of the tasks after which a person's next container waits."""
KILLED = 137
"""The exit code of what SIGKILL ended, as for want of memory."""
MOST = 16
IDLE_S = 600.0
DISK_EVERY_S = 1.0
_FREE_SHARE_OF_DEADLINE = 0.9
"""A call waits no longer than that for a container and its command together."""
TROUBLES = (DockerUnreachable, DockerRefused, ImageRefused, PolicyViolated, RootRefused, OSError)


@dataclass(frozen=True, slots=True)
class WaitingTerms:
    """What containers for commands are made of. `most`: how many run at a time, and how many wait; `idle_s`:
    how long one waits; `alone`: no other hub has this one's name."""

    image: str
    memory_mb: int
    disk_mb: int
    hub: str
    most: int = MOST
    idle_s: float = IDLE_S
    alone: bool = True


@dataclass(frozen=True, slots=True)
class _Waiting:
    container_id: str
    streams: Attached
    since_s: float


class CommandContainers:
    """Containers that carry out one command each, and end with it: nothing that it started outlives it.

    The next one of a person waits already, with their files mounted and no one else's. The leader in it reads
    the end of its input when the hub is gone, and then ends all of the container. Implements
    core.tools.builtin.shell.Commands; a workspace belongs to one person."""

    def __init__(self, engine: DockerEngine, terms: WaitingTerms, clock: Clock) -> None:
        self.environment = ENVIRONMENT
        self.shell = SHELL
        self._engine = engine
        self._terms = terms
        self._clock = clock
        self._labels = {WAITING_LABEL: terms.hub, START_LABEL: uuid.uuid4().hex}
        self._waiting: dict[Path, _Waiting] = {}
        self._free = asyncio.Semaphore(terms.most)
        self._tasks: set[asyncio.Task[None]] = set()
        self._tidied = not terms.alone
        self._closed = False

    async def carry_out(
        self, command: Command, call: CallContext, output: HeadAndTail, limit_s: float
    ) -> int:
        ends_s = self._clock.monotonic_s() + call.deadline_s * _FREE_SHARE_OF_DEADLINE
        try:
            message = encode(replace(command, closed=()))
            async with asyncio.timeout(call.deadline_s * _FREE_SHARE_OF_DEADLINE):
                self._require_room(call.workspace.root)
                await self._free.acquire()
        except ValueError as error:
            raise ToolFailed(f"The command could not be started: {error}.") from error
        except TimeoutError:
            raise ToolFailed("The command was not started: all containers are at work; try later.") from None
        try:
            waiting = await self._taken(call.workspace)
            try:
                host = f"{DOCKER_HOST}{waiting.container_id}"
                await call.process_started(ProcessInfo(0, 0, 0, host))
                left_s = min(limit_s, ends_s - self._clock.monotonic_s())
                code = await self._carried_out(message, waiting, call.workspace.root, output, left_s)
            except BaseException:
                await finish(self._end(waiting), f"end of call {call.idempotency_key}")
                raise
            finally:
                self._apart(self._followed(call.workspace, waiting))
        finally:
            self._free.release()
        return code

    async def look(self) -> None:
        """Remove what earlier starts of this hub left, once, and end containers that waited too long."""
        if not self._tidied:
            with contextlib.suppress(DockerUnreachable, DockerRefused):
                await self.end_leftovers()
                self._tidied = True
        await self.end_idle()

    async def end_idle(self, idle_s: float | None = None) -> None:
        """End the containers that have waited too long: longer than that, by default than configured."""
        limit_s = self._terms.idle_s if idle_s is None else idle_s
        for files, waiting in list(self._waiting.items()):
            if self._clock.monotonic_s() - waiting.since_s >= limit_s:
                del self._waiting[files]
                await self._end(waiting)

    async def end_leftovers(self) -> None:
        """Remove what earlier starts of this hub left. Raises DockerUnreachable, DockerRefused."""
        found = await self._engine.labelled({WAITING_LABEL: self._terms.hub})
        for container_id, labels in found.items():
            if labels.get(START_LABEL) != self._labels[START_LABEL]:
                await self._engine.remove(container_id)

    async def end_process(self, process: ProcessInfo, call_id: str) -> bool:
        """End what a dead hub left running of a call, inside or here; return whether there was any."""
        if not process.host.startswith(DOCKER_HOST):
            return await end_process(process, call_id)
        container_id = process.host.removeprefix(DOCKER_HOST)
        try:
            state = await self._engine.state(container_id)
            await self._engine.remove(container_id)
        except (DockerUnreachable, DockerRefused) as error:
            logger.warning("command.not_ended call=%s error=%s", call_id, error)
            return False
        return state is not None and state.running

    async def end_all(self) -> None:
        """End all containers that wait."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self.end_idle(0)

    async def close(self) -> None:
        """End all containers, and the connection to Docker, once no call is left."""
        self._closed = True
        await self.end_all()
        await self._engine.__aexit__()

    def _require_room(self, files: Path) -> None:
        try:
            free = os.statvfs(files)
        except OSError as error:
            raise ToolFailed(f"The workspace {files} is not a directory.") from error
        if free.f_bavail * free.f_frsize < 2 * self._terms.disk_mb * MB:
            raise ToolFailed(
                "The command was not started: the disk of the hub has less than twice [sandbox] disk_mb free."
            )

    async def _carried_out(
        self, message: bytes, waiting: _Waiting, files: Path, output: HeadAndTail, limit_s: float
    ) -> int:
        outgrown, told = asyncio.Event(), bytearray()
        watching = asyncio.create_task(
            self._watch_disk(waiting, files, outgrown), name="the disk of a command"
        )
        try:
            async with asyncio.timeout(limit_s):
                await waiting.streams.say(message)
                await waiting.streams.printed(output.add, told.extend)
            if outgrown.is_set():
                limit = f"{self._terms.disk_mb:,} MB"
                said = f"Stopped: the workspace and {TEMPORARY} take more than {limit} of disk; delete files."
                raise ToolFailed(f"{said} Output so far:\n{output.text()}")
            if told and told[-1] != KILLED:
                return told[-1]
            return await self._code_of_killed(waiting.container_id, told, output)
        except TimeoutError:
            await self._end(waiting)
            raise ToolTimeout(f"Stopped after {limit_s:g} s. Output so far:\n{output.text()}") from None
        except (DockerUnreachable, DockerRefused, OSError) as error:
            raise OutcomeUnknown(f"Docker went away. Output so far:\n{output.text()}") from error
        finally:
            watching.cancel()

    async def _code_of_killed(self, container_id: str, told: Sequence[int], output: HeadAndTail) -> int:
        """Return the exit code that the leader told, of a program that was killed. A container ends with the
        same code if it is killed itself: then the leader told nothing, and nobody knows how far its programs
        came. Raises OutcomeUnknown, DockerUnreachable."""
        with contextlib.suppress(DockerRefused):  # someone has removed it
            await self._engine.exit_code(container_id)  # only then Docker knows of memory
        state = await self._engine.state(container_id)
        if state is not None and state.out_of_memory:
            limit = f"{self._terms.memory_mb:,} MB"
            raise OutcomeUnknown(f"Ended: out of memory, of {limit}. Output so far:\n{output.text()}")
        if not told:
            raise OutcomeUnknown(f"Its container was ended from outside. Output so far:\n{output.text()}")
        return told[-1]

    async def _watch_disk(self, waiting: _Waiting, files: Path, outgrown: asyncio.Event) -> None:
        """End the container once its files take more than they may."""
        now_s = asyncio.get_running_loop().time
        look_at_s = now_s()
        while not outgrown.is_set():
            look_at_s = max(look_at_s + DISK_EVERY_S, now_s())  # however long a look takes
            await asyncio.sleep(look_at_s - now_s())
            with contextlib.suppress(DockerUnreachable, DockerRefused):
                if await taken_bytes(self._engine, waiting.container_id, files) > self._terms.disk_mb * MB:
                    outgrown.set()
        with contextlib.suppress(DockerUnreachable, DockerRefused):
            await self._engine.remove(waiting.container_id)

    async def _taken(self, workspace: Workspace) -> _Waiting:
        """Return a container that waits: the one that is there, or a new one. Raises ToolFailed."""
        try:
            waiting = self._waiting.pop(workspace.root, None)
            if waiting is not None:
                state = await self._engine.state(waiting.container_id)
                if state is not None and state.running:
                    return waiting
                await self._end(waiting)
            making = asyncio.get_running_loop().create_task(
                self._made(workspace), name="a container of a person"
            )
            try:
                return await asyncio.shield(making)
            except asyncio.CancelledError:
                self._apart(self._kept(workspace, making))
                raise
        except TROUBLES as error:
            raise ToolFailed(f"The command was not started, nor run on the host: {error}.") from error

    async def _made(self, workspace: Workspace) -> _Waiting:
        terms, files = self._terms, workspace.root
        await require_image(self._engine, terms.image, WORKER)
        user = ContainerUser(*(workspace.owner or (os.geteuid(), os.getegid())))
        policy = ContainerPolicy(terms.image, user, terms.memory_mb, files, place=str(files))
        left_bytes = terms.disk_mb * MB - await asyncio.to_thread(used_bytes, files)
        container_id = await self._engine.create(policy.within(left_bytes), LEADER, self._labels)
        try:
            streams = await self._engine.start_attached(container_id)
        except BaseException:
            await asyncio.shield(self._engine.remove(container_id))
            raise
        return _Waiting(container_id, streams, self._clock.monotonic_s())

    async def _followed(self, workspace: Workspace, used: _Waiting) -> None:
        """Remove a used container, and have the next one wait unless one does."""
        await self._end(used)
        if not self._closed:
            await self._kept(workspace, self._made(workspace))

    async def _kept(self, workspace: Workspace, making: Awaitable[_Waiting]) -> None:
        """Have a new container wait, unless one of that person does; too many: the one longest there ends."""
        with contextlib.suppress(*TROUBLES):
            made = await making
            if self._waiting.setdefault(workspace.root, made) is not made:
                await self._end(made)
            elif len(self._waiting) > self._terms.most:
                await self._end(self._waiting.pop(next(iter(self._waiting))))

    async def _end(self, waiting: _Waiting) -> None:
        waiting.streams.close()
        try:
            await self._engine.remove(waiting.container_id)
        except (DockerUnreachable, DockerRefused) as error:
            logger.warning("command.not_removed container=%s error=%s", waiting.container_id[:12], error)

    def _apart(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name=NEXT)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
