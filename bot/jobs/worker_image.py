"""The image of workers, built from a base with Python and this program's own files: nothing is fetched."""

import asyncio
import contextlib
import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import IO

import core
from bot.config.sections import Sandbox
from bot.jobs.docker_engine import (
    DockerEngine,
    DockerRefused,
    DockerUnreachable,
    ImageMissing,
    missing_image,
)
from core.errors import HubError
from core.job import WORKER
from core.lazy import dataclass
from core.sandbox.agent import AGENTS

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


@cache
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
        raise ImageRefused(
            f"The image {image} is no worker of this version; run: hubbub sandbox build --image {image}"
        )
    if mode != WORKER and mode not in labels.get(AGENTS_LABEL, "").split(","):
        raise ImageRefused(
            f"The image {image} has no agent {mode}; run: hubbub sandbox build --image {image}"
            f" --node FILE --agent {mode}=DIRECTORY"
        )


async def sandbox_problem(environment: Mapping[str, str], sandbox: Sandbox) -> str | None:
    """Return why no container of one of the configured images can run now, with what to do; None if each
    can."""
    async with DockerEngine(environment) as engine:
        try:
            await engine.probe()
            for image in (sandbox.image, *sandbox.images):
                await require_image(engine, image, WORKER)
        except (ImageRefused, DockerUnreachable, DockerRefused) as error:
            return str(error)
    return None
