"""Try the hub with no account anywhere: `python -m tests.simulators`.

Starts a simulated Telegram (port 8081) and a simulated model provider (port 8082), writes a `hubbub.toml`
into the data directory, starts a hub with it and gives you a small chat in the terminal; `--also slack` and
`--also discord` bring those platforms too (ports 8083 and 8084). Without a terminal on standard input
everything simply runs until SIGINT or SIGTERM.
"""

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path

from tests.simulators.stage import HubFailed, Settings, Stage
from tests.simulators.terminal import HELP, Terminal


def parse(arguments: list[str] | None = None) -> tuple[Settings, bool]:
    """The settings, and whether to start a hub."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulators", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data/simulators"), help="where everything is kept")
    parser.add_argument("--config", type=Path, help="the file to write; default: hubbub.toml in the data")
    parser.add_argument("--telegram-port", type=int, default=8081, help="0 takes a free one")
    parser.add_argument("--model-port", type=int, default=8082, help="0 takes a free one")
    parser.add_argument(
        "--also", choices=("slack", "discord"), action="append", default=[], help="may repeat"
    )
    parser.add_argument("--slack-port", type=int, default=8083, help="0 takes a free one")
    parser.add_argument("--discord-port", type=int, default=8084, help="0 takes a free one")
    parser.add_argument("--hub-port", type=int, default=8765, help="0 takes a free one")
    parser.add_argument("--direct", choices=("allowlist", "open", "pairing"), default="allowlist")
    parser.add_argument("--no-hub", action="store_true", help="write the configuration, start no hub")
    given = parser.parse_args(arguments)
    settings = Settings(
        data=given.data,
        config=given.config or given.data / "hubbub.toml",
        telegram_port=given.telegram_port,
        model_port=given.model_port,
        hub_port=given.hub_port,
        direct=given.direct,
        also=tuple(given.also),
        slack_port=given.slack_port,
        discord_port=given.discord_port,
    )
    return settings, not given.no_hub


async def run(settings: Settings, with_hub: bool) -> int:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    try:
        async with Stage(settings) as stage:
            stage.write_config()
            _say(f"Telegram  {stage.telegram.url}   (control {stage.telegram.control_url})")
            if stage.slack is not None:
                _say(f"Slack     {stage.slack.url}   (control {stage.slack.control_url})")
            if stage.discord is not None:
                _say(f"Discord   {stage.discord.url}   (control {stage.discord.control_url})")
            _say(f"model     {stage.model.openai_base_url}   (control {stage.model.url}/_control)")
            _say(f"config    {settings.config}")
            if with_hub:
                await stage.start_hub()
                _say(f"hub       running, log in {stage.log_path}")
                _say(f"console   {await stage.console_link()}   (works once, within 15 minutes)")
            await _until_stopped(stage, stopping)
    except HubFailed as failure:
        _say(str(failure))
        return 1
    except OSError as error:
        _say(f"{error}\nPorts and files can be chosen: see --help.")
        return 2
    return 0


async def _until_stopped(stage: Stage, stopping: asyncio.Event) -> None:
    """Return when asked to stop; raises HubFailed when the hub ends by itself."""
    terminal = Terminal(stage.desks, lambda line: _say(line, terminal)) if sys.stdin.isatty() else None
    if terminal is not None:
        _say(HELP)
        _read_lines(terminal, stopping)
    tasks = [asyncio.create_task(stopping.wait()), asyncio.create_task(stage.hub_ended())]
    if terminal is not None:
        tasks.append(asyncio.create_task(terminal.watch()))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        if terminal is not None:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError, HubFailed):
            await asyncio.gather(*tasks)


def _read_lines(terminal: Terminal, stopping: asyncio.Event) -> None:
    """Give each line of the terminal, which hands out whole lines, to the chat."""

    def readable() -> None:
        line = sys.stdin.readline()
        if not line or not terminal.take(line):
            stopping.set()
            return
        print(terminal.prompt, end="", flush=True)

    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), readable)
    print(terminal.prompt, end="", flush=True)


def _say(text: str, terminal: Terminal | None = None) -> None:
    """Print a line, over a prompt that may stand there and with a new one under it."""
    print(f"\r{text}", end=f"\n{terminal.prompt}" if terminal is not None else "\n", flush=True)


if __name__ == "__main__":
    sys.exit(asyncio.run(run(*parse())))
