"""Drives a simulator that runs in another process."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp

from tests.patience import PATIENCE_S


class ControlError(Exception):
    """The simulator refused an operation; the text says why."""


class SimulatorControl:
    """The control API as method calls: ``await control.call("user_sends_text", user_id=7, text="hi")``."""

    def __init__(self, control_url: str) -> None:
        self.control_url = control_url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # no connection is kept: one that idles while the caller is busy with a killed hub may be stale
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))
        return self

    async def __aexit__(self, *_exception: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(self, operation: str, **arguments: Any) -> Any:
        """An operation's result as plain JSON values.

        Raises ``TimeoutError`` when a wait runs out, ``LookupError`` for something unknown, else
        ``ControlError``.
        """
        if self._session is None:
            raise RuntimeError("use SimulatorControl as an async context manager")
        limit = aiohttp.ClientTimeout(total=float(arguments.get("timeout_s", 10.0)) + 20.0)
        url = f"{self.control_url}/{operation}"
        async with self._session.post(url, json=arguments, timeout=limit) as response:
            body = await response.json()
        if body["ok"]:
            return body["result"]
        error: str = body["error"]
        raise {404: LookupError, 408: TimeoutError}.get(response.status, ControlError)(error)


@asynccontextmanager
async def simulator_process(module: str, *options: str) -> AsyncIterator[tuple[str, SimulatorControl]]:
    """Runs a simulator (``python -m <module>``) with these options.

    Gives its URL and the control client.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *options,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            ready = json.loads(await process.stdout.readline())
        async with SimulatorControl(ready["control_url"]) as control:
            yield ready["url"], control
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
