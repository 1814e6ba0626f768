"""`hubbub run`."""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from bot.cli.exit_codes import FAILED, OK, USAGE, complain
from bot.config.load import Loaded, load
from bot.config.schema import secret_values
from bot.runtime import ConfigError, StartError

logger = logging.getLogger(__name__)

LAST_THREADS_S = 0.5


def load_or_complain(path: Path | None) -> Loaded | None:
    """Return the configuration, or None after printing its problems."""
    try:
        return load(path)
    except ConfigError as error:
        complain(str(error))
        return None


def models_in_words(loaded: Loaded) -> str:
    """Return the models as text, such as `main (openai), spare (demo)`."""
    return ", ".join(f"{model.name} ({model.provider})" for model in loaded.config.models)


def run_hub(path: Path | None) -> int:
    """Run until interrupted; the exit code."""
    loaded = load_or_complain(path)
    if loaded is None:
        return USAGE
    from bot.app import App, serve
    from bot.ops.logs import configure

    configure(loaded.config.log.level, loaded.config.log.format, secrets=secret_values(loaded.config))

    def ready(app: App) -> None:
        sys.stdout.write(f"{_banner(app.url, app.login_url(), loaded)}\n")
        sys.stdout.flush()

    try:
        run_to_the_end(serve(loaded, ready=ready), quicker_loop())
    except StartError as error:
        complain(f"hubbub: {error}")
        return FAILED
    except Exception:  # the trace goes to the log, where secrets are struck out
        logger.exception("hub.crashed")
        return FAILED
    return OK


LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def quicker_loop() -> LoopFactory | None:
    """Return libuv's loop (the extra `fast`) if it is installed: a tenth less CPU for a message. None:
    Python's own.

    Not for terminals: it leaves standard input non-blocking for the programs that read it next.
    """
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def run_to_the_end(serving: Coroutine[Any, Any, None], loop_factory: LoopFactory | None = None) -> None:
    """Run like `asyncio.run`, but end the process soon after `serving` is over, whatever its threads do.

    A name lookup without an answer cannot be interrupted, and Python waits for the thread it blocks.
    """

    async def serve_then_end() -> None:
        await serving
        ending = threading.Timer(LAST_THREADS_S, os._exit, [OK])
        ending.daemon = True
        ending.start()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(serve_then_end())


def _banner(url: str, login_url: str, loaded: Loaded) -> str:
    """Return the start message: the hub's addresses, and the next steps."""
    lines = [
        f"hubbub is running on {url} (status: {url}/readyz). Models: {models_in_words(loaded)}.",
        f"Console: {login_url} (works once, within 15 minutes; `hubbub login` prints another link)",
    ]
    if loaded.config.channels:
        lines.append(
            f"Channels: {', '.join(loaded.config.channels)}. Send the bot a message. Ctrl-C stops the hub."
        )
    else:
        lines += [
            "No channel is configured: use the console.",
            "To use it from a chat app, run `hubbub init`, or:",
            f"  1. copy config.example.toml to {loaded.source or 'hubbub.toml'} and keep the parts you need,",
            "  2. set a bot token in [channels.telegram] and your account in [hub] owner_identities,",
            "  3. start again.",
            "To try a chat app without an account: make install-dev; .venv/bin/python -m tests.simulators",
        ]
    return "\n".join(lines)
