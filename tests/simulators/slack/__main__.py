"""Runs the simulator as a process: ``python -m tests.simulators.slack --port N --bot-token T``.

Prints one line of JSON when it is ready: ``{"url", "control_url", "pid"}``. Ends on SIGTERM or SIGINT.
"""

import argparse
import asyncio

from tests.simulators.process import arguments_of, common, serve
from tests.simulators.slack.simulator import SlackSimulator


def _arguments() -> argparse.Namespace:
    parser = arguments_of("slack", __doc__, "everything an app sees")
    parser.add_argument("--bot-token", help="installs an app with this bot token")
    parser.add_argument("--app-token", help="its token for sockets")
    parser.add_argument("--signing-secret", default="signing-secret")
    parser.add_argument("--mode", choices=("socket", "http"), default="socket")
    parser.add_argument("--command", action="append", default=[], help="a slash command; may be repeated")
    parser.add_argument("--user", action="append", default=[], help="a person's id; may be repeated")
    return parser.parse_args()


async def _run(arguments: argparse.Namespace) -> None:
    simulator = SlackSimulator(**common(arguments))
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
    await serve(simulator)


if __name__ == "__main__":
    asyncio.run(_run(_arguments()))
