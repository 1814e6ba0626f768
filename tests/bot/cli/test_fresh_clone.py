"""`make run` in a fresh clone: from nothing to a hub that serves, and what it says then."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.tree import ROOT

LIMIT_S = 120.0
PATIENCE_S = 400.0
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


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_make_run_serves_within_two_minutes_and_says_what_is_next(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    limit_s = profile.pick(test=PATIENCE_S, proof=LIMIT_S)
    clone, log = cloned(tmp_path), tmp_path / "log"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    began = time.monotonic()
    async with made_to_run(clone, port, log) as make:
        try:
            async with asyncio.timeout(limit_s):
                body = await ready(make, port, log)
        except TimeoutError as error:
            raise AssertionError(f"nothing serves after {limit_s} s: {log.read_text()[-2000:]}") from error
        took_s = round(time.monotonic() - began, 1)
        assert body["ready"] is True
        os.killpg(make.pid, signal.SIGINT)
        async with asyncio.timeout(10):
            await make.wait()
    said = log.read_text()
    assert f"http://127.0.0.1:{port}/login#code=" in said
    assert "demo" in said
    assert "Next: .venv/bin/hubbub init" in said
    assert re.search(r"library 20 of \d+: \S+", said), "it shows how far it is"
    assert "Traceback" not in said
    proof_record("fresh-clone", serves_after_s=took_s, limit_s=limit_s)
