"""Containers at the Docker daemon: a policy in its words, and what differs from it in a container it made.

The daemon is asked in separate threads, so that a slow one delays nothing else.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from functools import partial
from http import HTTPStatus
from typing import IO, Any, Self, TypeVar

import docker
from docker.constants import DEFAULT_UNIX_SOCKET
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.utils import kwargs_from_env, version_gte
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from requests.exceptions import RequestException

from core.lazy import dataclass
from core.sandbox.policy import LOG_MB, MB, SOCKET_DIRECTORY, TEMPORARY, ContainerPolicy

Answer = TypeVar("Answer")

THREADS = 8
ANSWER_LIMIT_S = 30
"""How long one answer of the daemon may take."""
READ_BYTES = 64 * 1024
STREAMS = ("stdin", "stdout", "stderr", "stream")
STDERR = 2
FRAME_BYTES = 8
"""Length of the header before each piece of output: the stream, three zeros, the piece's length."""
SECCOMP = "name=seccomp,profile=default"
NANO = 1_000_000_000
DAEMON_DECIDES = frozenset({"ConsoleSize", "Runtime"})
"""The only settings that may be anything: the size of a terminal that does not exist, and the daemon's own
runtime."""
MASKED = frozenset({"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"})
READ_ONLY = frozenset({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"})
AT_LEAST = {"MaskedPaths": MASKED, "ReadonlyPaths": READ_ONLY}
"""Lists of the daemon that may be longer, not shorter."""

Json = Any
"""A value of Docker's JSON."""


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Mounted(_Read):
    """A mount of a container, as inspected."""

    type: str = Field(alias="Type")
    source: str = Field(alias="Source", default="")
    destination: str = Field(alias="Destination")
    writable: bool = Field(alias="RW")


class ContainerConfig(_Read):
    """The part of an inspected container that its image can decide as well."""

    user: str = Field(alias="User", default="")


class Inspected(_Read):
    """A container, as Docker says it made it."""

    host_config: dict[str, Json] = Field(alias="HostConfig")
    config: ContainerConfig = Field(alias="Config")
    mounts: tuple[Mounted, ...] = Field(alias="Mounts")


def host_config(policy: ContainerPolicy) -> dict[str, Json]:
    """Return what a container may do on its host, as Docker's API takes it."""
    return {
        "AutoRemove": False,
        "CapDrop": ["ALL"],
        "CgroupnsMode": "private",
        "Init": True,
        "IpcMode": "private",
        "LogConfig": {"Type": "json-file", "Config": {"max-file": "1", "max-size": f"{LOG_MB}m"}},
        "Memory": policy.memory_mb * MB,
        "MemorySwap": policy.memory_mb * MB,
        "ShmSize": policy.shared_mb * MB,
        "Mounts": [_bound(mount) for mount in mounts(policy)],
        "NanoCpus": policy.cpus * NANO,
        "NetworkMode": "none",
        "PidsLimit": policy.pids,
        "ReadonlyRootfs": True,
        "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
        "SecurityOpt": ["no-new-privileges:true"],
        "Tmpfs": {TEMPORARY: f"rw,nosuid,nodev,exec,mode=1777,size={policy.temporary_mb * MB}"},
    }


def mounts(policy: ContainerPolicy) -> tuple[Mounted, ...]:
    """Return what the container sees of its host."""
    project = Mounted(Type="bind", Source=str(policy.project), Destination=policy.place, RW=True)
    if policy.socket_directory is None:
        return (project,)
    socket = Mounted(Type="bind", Source=str(policy.socket_directory), Destination=SOCKET_DIRECTORY, RW=False)
    return (project, socket)


def creation(policy: ContainerPolicy, command: Sequence[str], labels: Mapping[str, str]) -> dict[str, Json]:
    """Return the body of the request that creates a container."""
    return {
        "Image": policy.image,
        "Entrypoint": list(command),
        "Cmd": [],
        "User": _user(policy),
        "WorkingDir": policy.place,
        "Labels": dict(labels),
        "NetworkDisabled": True,
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "HostConfig": host_config(policy),
    }


def differences(policy: ContainerPolicy, made: Inspected) -> tuple[str, ...]:
    """Return how a container differs from its policy, a sentence each: every setting counts that was not
    asked for, whether or not this program knows it."""
    asked = host_config(policy)
    found = [
        f"{key} is {made.host_config.get(key)!r} and should be {asked.get(key)!r}"
        for key in sorted(asked.keys() | made.host_config.keys())
        if key not in DAEMON_DECIDES and not _same(key, asked.get(key), made.host_config.get(key))
    ]
    if made.config.user != _user(policy):
        found.append(f"User is {made.config.user!r} and should be {_user(policy)!r}")
    expected = {mount.destination: mount for mount in mounts(policy)}
    seen = {mount.destination: mount for mount in made.mounts}
    for place in sorted(expected.keys() | seen.keys()):
        if expected.get(place) != seen.get(place):
            found.append(f"{place} is mounted in another way than it should be, or should not be there")
    return tuple(found)


def _same(key: str, asked: Json, made: Json) -> bool:
    if key in AT_LEAST:
        return AT_LEAST[key] <= set(made or ())
    if isinstance(asked, dict) and isinstance(made, dict):
        return all(_same("", asked.get(each), made.get(each)) for each in asked.keys() | made.keys())
    if isinstance(asked, list) and isinstance(made, list):
        return len(asked) == len(made) and all(map(_same, ("",) * len(asked), asked, made))
    return asked == made or (not asked and not made)


def _bound(mount: Mounted) -> dict[str, Json]:
    return {
        "Type": mount.type,
        "Source": mount.source,
        "Target": mount.destination,
        "ReadOnly": not mount.writable,
        "BindOptions": {"Propagation": "rprivate"},
    }


def _user(policy: ContainerPolicy) -> str:
    return f"{policy.user.uid}:{policy.user.gid}"


class DockerUnreachable(Exception):
    """No Docker daemon answers. Carries what to do."""


class DockerRefused(Exception):
    """The daemon refused a request. Carries its reason."""


class ImageMissing(DockerRefused):
    """There is no such image at the daemon."""


class PolicyViolated(Exception):
    """The daemon made a container that differs from its policy; it was not started, and is gone.
    `differences`: a sentence each."""

    def __init__(self, found: Sequence[str]) -> None:
        super().__init__("the container differs from its policy: " + "; ".join(found))
        self.differences = tuple(found)


@dataclass(frozen=True, slots=True)
class Daemon:
    """The daemon that answers."""

    version: str
    filters_calls: bool
    """Whether its default filter of system calls is on."""


@dataclass(frozen=True, slots=True)
class ContainerState:
    """What a container does. `created`: it never ran. `out_of_memory`: something in it was killed for it.
    `pid`: its first process; `in_memory_bytes`: what its files in memory may take."""

    running: bool
    created: bool
    exit_code: int
    out_of_memory: bool
    pid: int
    in_memory_bytes: int


class Attached:
    """The streams of a started container. Once they are closed, its program reads the end of its input."""

    def __init__(self, held: Any, connected: socket.socket) -> None:
        self._held = held
        self._connected = connected
        connected.setblocking(False)

    async def say(self, said: bytes) -> None:
        """Write to its standard input. Raises OSError if it is gone."""
        await asyncio.get_running_loop().sock_sendall(self._connected, said)

    async def printed(self, take: Callable[[bytes], None], take_errors: Callable[[bytes], None]) -> None:
        """Hand over what it writes to stdout and to stderr, until it ends. Raises OSError."""
        loop, rest, left, to = asyncio.get_running_loop(), b"", 0, take
        while piece := await loop.sock_recv(self._connected, READ_BYTES):
            rest += piece
            while rest:
                if not left and len(rest) < FRAME_BYTES:
                    break
                if not left:
                    to = take_errors if rest[0] == STDERR else take
                    left, rest = int.from_bytes(rest[4:FRAME_BYTES], "big"), rest[FRAME_BYTES:]
                to(rest[:left])
                left, rest = max(left - len(rest), 0), rest[left:]

    def close(self) -> None:
        """Close the streams; the container is not waited for."""
        self._held.close()
        self._connected.close()


class DockerEngine(AbstractAsyncContextManager["DockerEngine"]):
    """Containers at the daemon that the environment names (DOCKER_HOST), or at the one of this machine."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="docker")
        self._environment = dict(environment)
        self._client: docker.APIClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        client, self._client = self._client, None
        if client is not None:
            await self._in_thread(client.close)
        self._threads.shutdown(wait=False)

    async def probe(self) -> Daemon:
        """Return the daemon. Raises DockerUnreachable."""
        said = await self._ask(lambda client: client.info())
        return Daemon(str(said["ServerVersion"]), SECCOMP in (said.get("SecurityOptions") or ()))

    async def image_id(self, name: str) -> str:
        """Return the ID of an image at the daemon. Raises ImageMissing, DockerUnreachable."""
        return str((await self._ask(lambda client: client.inspect_image(name)))["Id"])

    async def create(self, policy: ContainerPolicy, command: Sequence[str], labels: Mapping[str, str]) -> str:
        """Create a container and check what was made; return its ID. It is not started.

        Raises PolicyViolated (it is gone then), ImageMissing, DockerRefused, DockerUnreachable."""
        body = creation(policy, command, labels)
        made = await self._ask(lambda client: client.create_container_from_config(body))
        container_id = str(made["Id"])
        try:
            if found := differences(policy, await self._inspected(container_id)):
                raise PolicyViolated(found)
        except BaseException:
            await asyncio.shield(self.remove(container_id))
            raise
        return container_id

    async def remove(self, container_id: str) -> None:
        """Stop a container at once and remove it with what only it had; one that is gone stays so."""

        def removed(client: docker.APIClient) -> None:
            try:
                client.remove_container(container_id, v=True, force=True)
            except NotFound:
                pass
            except APIError as error:
                if error.status_code != HTTPStatus.CONFLICT:  # which is: its removal is in progress
                    raise

        await self._ask(removed)

    async def start(self, container_id: str, said: bytes) -> None:
        """Start a container; its program reads `said` from its standard input, and then the end."""

        def started(client: docker.APIClient) -> None:
            stdin = client.attach_socket(container_id, params={"stdin": 1, "stream": 1})
            connected: socket.socket = getattr(stdin, "_sock", stdin)
            try:
                client.start(container_id)
                connected.sendall(said)
                connected.shutdown(socket.SHUT_WR)
            finally:
                stdin.close()
                connected.close()

        await self._ask(started)

    async def start_attached(self, container_id: str) -> Attached:
        """Start a container and return its streams, which the caller closes."""

        def started(client: docker.APIClient) -> Attached:
            held = client.attach_socket(container_id, params=dict.fromkeys(STREAMS, 1))
            client.start(container_id)
            return Attached(held, getattr(held, "_sock", held))

        return await self._ask(started)

    async def exit_code(self, container_id: str) -> int:
        """Return the exit code of a container that ends now."""
        return int((await self._ask(lambda client: client.wait(container_id)))["StatusCode"])

    async def state(self, container_id: str) -> ContainerState | None:
        """Return what a container does; None if it is gone."""

        def told(client: docker.APIClient) -> ContainerState | None:
            try:
                whole = client.inspect_container(container_id)
            except NotFound:
                return None
            said, host = whole["State"], whole["HostConfig"]
            return ContainerState(
                said["Status"] in {"running", "paused"},
                said["Status"] == "created",
                int(said["ExitCode"]),
                bool(said["OOMKilled"]),
                int(said["Pid"]),
                int(host["ShmSize"]) + int(str(host["Tmpfs"][TEMPORARY]).rpartition("=")[2]),
            )

        return await self._ask(told)

    async def stats(self, container_id: str) -> Json:
        """Return what a container has used, as Docker says it. It takes 1 s before its API 1.41."""
        at_once = await self._ask(lambda client: version_gte(client.api_version, "1.41"))
        return await self._ask(lambda client: client.stats(container_id, stream=False, one_shot=at_once))

    async def pause(self, container_id: str) -> None:
        """Stop a container where it is."""
        await self._ask(lambda client: client.pause(container_id))

    async def unpause(self, container_id: str) -> None:
        """Let a paused container go on."""
        await self._ask(lambda client: client.unpause(container_id))

    async def last_output(self, container_id: str, lines: int) -> str:
        """Return the end of what a container printed."""
        said = await self._ask(lambda client: client.logs(container_id, tail=lines))
        return bytes(said).decode(errors="replace").strip()

    async def labelled(self, labels: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
        """Return all labels of each container that has those, by its ID."""
        wanted = {"label": [f"{name}={value}" for name, value in labels.items()]}
        found = await self._ask(lambda client: client.containers(all=True, filters=wanted))
        return {str(one["Id"]): dict(one.get("Labels") or {}) for one in found}

    async def image_labels(self, name: str) -> Mapping[str, str]:
        """Return the labels of an image at the daemon. Raises ImageMissing, DockerUnreachable."""
        said = await self._ask(lambda client: client.inspect_image(name))
        return dict(said["Config"].get("Labels") or {})

    async def build(self, context: IO[bytes], name: str, labels: Mapping[str, str]) -> None:
        """Build an image from a context, a tar archive, without any network. Raises DockerRefused with the
        end of what the build printed."""

        def built(client: docker.APIClient) -> None:
            said = client.build(
                fileobj=context,
                custom_context=True,
                tag=name,
                rm=True,
                forcerm=True,
                network_mode="none",
                labels=dict(labels),
                decode=True,
            )
            printed: list[str] = []
            for line in said:
                printed.append(str(line.get("stream") or line.get("error") or ""))
                if "error" in line:
                    raise DockerRefused("".join(printed[-20:]).strip())

        await self._ask(built)

    async def _inspected(self, container_id: str) -> Inspected:
        said = await self._ask(lambda client: client.inspect_container(container_id))
        try:
            return Inspected.model_validate(said)
        except ValidationError as error:
            raise DockerRefused("Docker described the container in a way that can't be checked") from error

    async def _ask(self, question: Callable[[docker.APIClient], Answer]) -> Answer:
        return await self._in_thread(partial(self._asked, question))

    def _asked(self, question: Callable[[docker.APIClient], Answer]) -> Answer:
        try:
            return question(self._connected())
        except ImageNotFound as error:
            raise ImageMissing(str(error.explanation)) from error
        except APIError as error:
            raise DockerRefused(str(error.explanation)) from error
        except (DockerException, RequestException, OSError) as error:
            raise DockerUnreachable(
                "no Docker daemon answers; install and start Docker, or name another one in DOCKER_HOST"
            ) from error

    def _connected(self) -> docker.APIClient:
        settings = kwargs_from_env(environment=self._environment)
        _require_listener(settings.get("base_url") or DEFAULT_UNIX_SOCKET)
        # Two threads may both connect at first; each client works, and the second stays.
        if self._client is None:
            self._client = docker.APIClient(version="auto", timeout=ANSWER_LIMIT_S, **settings)
        return self._client

    async def _in_thread(self, work: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _require_listener(url: str) -> None:
    """Raise OSError if nothing listens on a Unix socket: the library would leave its own socket open."""
    scheme, _, path = url.partition("://")
    if scheme.endswith("unix"):
        with socket.socket(socket.AF_UNIX) as tried:
            tried.settimeout(ANSWER_LIMIT_S)
            tried.connect(path)


def missing_image(image: str) -> str:
    """Return what to do about an image that is not there."""
    return f"Docker has no image {image}; run: hubbub sandbox build --image {image}"
