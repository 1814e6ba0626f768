"""Runs the simulator as a process: ``python -m tests.simulators.discord --port N --token T``.

Prints one line of JSON when it is ready: ``{"url", "api_base_url", "gateway_url", "control_url", "pid"}``.
Ends on SIGTERM or SIGINT.
"""

import argparse
import asyncio

from tests.simulators.discord.simulator import DiscordSimulator
from tests.simulators.process import arguments_of, common, serve


def _arguments() -> argparse.Namespace:
    parser = arguments_of("discord", __doc__, "REST and gateway")
    parser.add_argument(
        "--token", action="append", default=[], help="a bot's token; may be given more than once"
    )
    parser.add_argument(
        "--user", action="append", default=[], type=int, help="a person's id; may be repeated"
    )
    return parser.parse_args()


async def _run(arguments: argparse.Namespace) -> None:
    simulator = DiscordSimulator(**common(arguments))
    for number, token in enumerate(arguments.token):
        simulator.add_bot(token, username="hub_bot" if number == 0 else f"hub_bot{number + 1}")
    for user_id in arguments.user:
        simulator.add_user(user_id)
    await serve(simulator, ("url", "api_base_url", "gateway_url", "control_url"))


if __name__ == "__main__":
    asyncio.run(_run(_arguments()))
