"""A simulator as a process of its own."""

import argparse
import asyncio
import gc
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any


def arguments_of(platform: str, told: str | None, port_of: str) -> argparse.ArgumentParser:
    """The arguments that every platform's process takes. ``port_of``: what listens on its port."""
    parser = argparse.ArgumentParser(prog=f"python -m tests.simulators.{platform}", description=told)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help=f"port of {port_of} (0: any)")
    parser.add_argument("--control-port", type=int, default=0, help="port of the control API (0: any)")
    parser.add_argument("--log-limit", type=int, help="keep only this many of the newest requests")
    parser.add_argument("--enforce-rate-limits", action="store_true")
    return parser


def common(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what every platform's simulator takes, by name."""
    names = ("host", "port", "control_port", "log_limit", "enforce_rate_limits")
    return {name: getattr(arguments, name) for name in names}


async def serve(
    simulator: AbstractAsyncContextManager[Any], names: Sequence[str] = ("url", "control_url")
) -> None:
    """Run until SIGTERM or SIGINT. Once it is ready, a line of JSON says its ``names`` and its pid."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with simulator:
        ready = {name: getattr(simulator, name) for name in names} | {"pid": os.getpid()}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        gc.freeze()
        await stop.wait()
