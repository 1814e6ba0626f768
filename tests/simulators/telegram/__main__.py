"""Runs the simulator as a process: ``python -m tests.simulators.telegram --port N --token T``.

Prints one line of JSON when it is ready: ``{"url", "control_url", "pid"}``. Ends on SIGTERM or SIGINT.
"""

import argparse
import asyncio
import gc
import json
import os
import signal
import sys

from tests.simulators.telegram.simulator import TelegramSimulator


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulators.telegram", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="port of the Bot API (0: any)")
    parser.add_argument("--control-port", type=int, default=0, help="port of the control API (0: any)")
    parser.add_argument(
        "--token", action="append", default=[], help="a bot's token; may be given more than once"
    )
    parser.add_argument(
        "--user", action="append", default=[], type=int, help="a person's id; may be repeated"
    )
    parser.add_argument(
        "--log-limit", type=int, default=None, help="keep only this many of the newest requests"
    )
    parser.add_argument("--enforce-rate-limits", action="store_true")
    parser.add_argument("--enforce-poll-pacing", action="store_true")
    return parser.parse_args()


async def _run(arguments: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    simulator = TelegramSimulator(
        host=arguments.host,
        port=arguments.port,
        control_port=arguments.control_port,
        log_limit=arguments.log_limit,
        enforce_rate_limits=arguments.enforce_rate_limits,
        enforce_poll_pacing=arguments.enforce_poll_pacing,
    )
    for token in arguments.token:
        simulator.add_bot(token)
    for user_id in arguments.user:
        simulator.add_user(user_id)
    async with simulator:
        ready = {"url": simulator.url, "control_url": simulator.control_url, "pid": os.getpid()}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        gc.freeze()
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(_run(_arguments()))
