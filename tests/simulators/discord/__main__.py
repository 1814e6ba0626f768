"""Runs the simulator as a process: ``python -m tests.simulators.discord --port N --token T``.

Prints one line of JSON when it is ready: ``{"url", "api_base_url", "gateway_url", "control_url", "pid"}``.
Ends on SIGTERM or SIGINT.
"""

import argparse
import asyncio
import gc
import json
import os
import signal
import sys

from tests.simulators.discord.simulator import DiscordSimulator


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulators.discord", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="port of REST and gateway (0: any)")
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
    return parser.parse_args()


async def _run(arguments: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    simulator = DiscordSimulator(
        host=arguments.host,
        port=arguments.port,
        control_port=arguments.control_port,
        log_limit=arguments.log_limit,
        enforce_rate_limits=arguments.enforce_rate_limits,
    )
    for number, token in enumerate(arguments.token):
        simulator.add_bot(token, username="hub_bot" if number == 0 else f"hub_bot{number + 1}")
    for user_id in arguments.user:
        simulator.add_user(user_id)
    async with simulator:
        names = ("url", "api_base_url", "gateway_url", "control_url")
        ready = {name: getattr(simulator, name) for name in names} | {"pid": os.getpid()}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        gc.freeze()
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(_run(_arguments()))
