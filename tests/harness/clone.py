"""A newcomer's hub, which nobody has configured. In profile `proof` it is `make run` in a fresh clone."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from tests.harness.process import HubProcess
from tests.patience import PATIENCE_S
from tests.plugins.profile import Profile
from tests.tree import ROOT

INSTALL_LIMIT_S = 400.0
"""Where other tests have the machine at the same time, it only has to get there."""


def cloned(directory: Path) -> Path:
    """A clone of what is committed here."""
    clone = directory / "hubbub"
    subprocess.run(
        ["git", "-c", f"safe.directory={ROOT / '.git'}", "clone", "--quiet", "--no-hardlinks", ROOT, clone],
        check=True,
        capture_output=True,
    )
    return clone


def nothing_but_the_machine(port: int) -> dict[str, str]:
    """No environment of Python's; pip is configured as the machine has it."""
    alien = {"VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "VENV", "MAKEFLAGS", "MAKELEVEL"}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in alien and not name.startswith(("HUBBUB", "PYTEST"))
    }
    path = [part for part in kept["PATH"].split(os.pathsep) if not (Path(part) / "activate").exists()]
    return {**kept, "PATH": os.pathsep.join(path), "HUBBUB__HTTP__PORT": str(port)}


@contextlib.asynccontextmanager
async def made_to_run(clone: Path, port: int, log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    with log.open("wb") as written:
        make = await asyncio.create_subprocess_exec(
            *("make", "run"),
            cwd=clone,
            env=nothing_but_the_machine(port),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield make
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(make.pid, signal.SIGKILL)
        await make.wait()


async def ready(make: asyncio.subprocess.Process, port: int, log: Path) -> dict[str, object]:
    """Return what `/readyz` says once it says that all is well."""
    async with aiohttp.ClientSession() as http:
        while make.returncode is None:
            with contextlib.suppress(aiohttp.ClientError):
                async with http.get(f"http://127.0.0.1:{port}/readyz") as answer:
                    if answer.status == 200:
                        return await answer.json()
            await asyncio.sleep(0.1)
    raise AssertionError(f"make run ended: {log.read_text()[-2000:]}")


@dataclass(frozen=True, slots=True)
class Newcomers:
    """A hub without a configuration. `program`: what starts `hubbub` there."""

    directory: Path
    url: str
    link: str
    program: Sequence[str]


@contextlib.asynccontextmanager
async def newcomers_hub(directory: Path, profile: Profile) -> AsyncIterator[Newcomers]:
    """The hub that `make run` starts; the environment is that of these tests, but in profile `proof` it is
    made in a fresh clone."""
    if profile.name != "proof":
        async with HubProcess(directory, env={"HUBBUB__HTTP__PORT": "0"}) as hub:
            yield Newcomers(directory, hub.url, await hub.link(), (sys.executable, "-m", "bot"))
        return
    clone, log, port = cloned(directory), directory / "log", free_port()
    async with made_to_run(clone, port, log) as make, asyncio.timeout(INSTALL_LIMIT_S) as limit:
        await ready(make, port, log)
        limit.reschedule(None)
        async with asyncio.timeout(PATIENCE_S):
            while not (found := re.findall(r"^Console: (\S+)", log.read_text(), re.MULTILINE)):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        yield Newcomers(clone, f"http://127.0.0.1:{port}", found[0], (str(clone / ".venv/bin/hubbub"),))


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]
