"""Runs the simulator as a process: ``python -m tests.simulators.slack --port N --bot-token T``.

Prints one line of JSON when it is ready: ``{"url", "control_url", "pid"}``. Ends on SIGTERM or SIGINT.
"""

import argparse
import asyncio
import gc
import json
import os
import signal
import sys

from tests.simulators.slack.simulator import SlackSimulator


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulators.slack", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="port of everything an app sees (0: any)")
    parser.add_argument("--control-port", type=int, default=0, help="port of the control API (0: any)")
    parser.add_argument("--bot-token", help="installs an app with this bot token")
    parser.add_argument("--app-token", help="its token for sockets")
    parser.add_argument("--signing-secret", default="signing-secret")
    parser.add_argument("--mode", choices=("socket", "http"), default="socket")
    parser.add_argument("--command", action="append", default=[], help="a slash command; may be repeated")
    parser.add_argument("--user", action="append", default=[], help="a person's id; may be repeated")
    parser.add_argument("--log-limit", type=int, help="keep only this many of the newest requests")
    parser.add_argument("--enforce-rate-limits", action="store_true")
    return parser.parse_args()


async def _run(arguments: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    simulator = SlackSimulator(
        host=arguments.host,
        port=arguments.port,
        control_port=arguments.control_port,
        log_limit=arguments.log_limit,
        enforce_rate_limits=arguments.enforce_rate_limits,
    )
    if arguments.bot_token:
        simulator.add_app(
            arguments.bot_token,
            arguments.app_token,
            arguments.signing_secret,
            mode=arguments.mode,
            commands=arguments.command,
        )
    for user_id in arguments.user:
        simulator.add_user(user_id, name=user_id.lower())
    async with simulator:
        ready = {"url": simulator.url, "control_url": simulator.control_url, "pid": os.getpid()}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        gc.freeze()
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(_run(_arguments()))
