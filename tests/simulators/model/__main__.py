"""Runs the simulator as its own process: `python -m tests.simulators.model [--port N] [--api-key K]`.

Prints one line of JSON, `{"url", "openai_base_url", "anthropic_base_url", "pid"}`, once it accepts
connections, and serves until SIGINT or SIGTERM.
"""

import argparse
import asyncio
import json
import os
import signal

from tests.simulators.model.simulator import ModelSimulator


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulators.model", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--api-key", default="test-key")
    parser.add_argument("--model", action="append", help="a model's name; repeat for several")
    parser.add_argument("--context-tokens", type=int, default=128_000)
    parser.add_argument("--log-limit", type=int, default=10_000, help="how many requests the log keeps")
    return parser.parse_args()


async def serve(options: argparse.Namespace) -> None:
    simulator = ModelSimulator(
        api_key=options.api_key,
        models=tuple(options.model or ("sim-1", "sim-2")),
        context_tokens=options.context_tokens,
        host=options.host,
        port=options.port,
        log_limit=options.log_limit,
    )
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    async with simulator:
        ready = {
            "url": simulator.url,
            "openai_base_url": simulator.openai_base_url,
            "anthropic_base_url": simulator.anthropic_base_url,
            "pid": os.getpid(),
        }
        print(json.dumps(ready), flush=True)
        await stopping.wait()


if __name__ == "__main__":
    asyncio.run(serve(parse()))
