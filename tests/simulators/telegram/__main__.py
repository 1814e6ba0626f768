"""Runs the simulator as a process: ``python -m tests.simulators.telegram --port N --token T``.

Prints one line of JSON when it is ready: ``{"url", "control_url", "pid"}``. Ends on SIGTERM or SIGINT.
"""

import argparse
import asyncio

from tests.simulators.process import arguments_of, common, serve
from tests.simulators.telegram.simulator import TelegramSimulator


def _arguments() -> argparse.Namespace:
    parser = arguments_of("telegram", __doc__, "the Bot API")
    parser.add_argument(
        "--token", action="append", default=[], help="a bot's token; may be given more than once"
    )
    parser.add_argument(
        "--user", action="append", default=[], type=int, help="a person's id; may be repeated"
    )
    parser.add_argument("--enforce-poll-pacing", action="store_true")
    return parser.parse_args()


async def _run(arguments: argparse.Namespace) -> None:
    simulator = TelegramSimulator(**common(arguments), enforce_poll_pacing=arguments.enforce_poll_pacing)
    for token in arguments.token:
        simulator.add_bot(token)
    for user_id in arguments.user:
        simulator.add_user(user_id)
    await serve(simulator)


if __name__ == "__main__":
    asyncio.run(_run(_arguments()))
