"""`hubbub run`, also recorded or replaying, and `hubbub replay check`."""

import asyncio
import contextlib
import logging
import os
import sys
import tempfile
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


def load_or_complain(path: Path | None, *, secrets: bool = True) -> Loaded | None:
    """Return the configuration, or None after printing its problems. `secrets`: see `load`."""
    try:
        return load(path, secrets=secrets)
    except ConfigError as error:
        complain(str(error))
        return None


def models_in_words(loaded: Loaded) -> str:
    """Return the models as text, such as `main (openai), spare (demo)`."""
    return ", ".join(f"{model.name} ({model.provider})" for model in loaded.config.models)


def run_hub(path: Path | None, record: Path | None = None) -> int:
    """Run until interrupted; the exit code. `record`: the directory of a recording."""
    loaded = load_or_complain(path)
    if loaded is None:
        return USAGE
    from bot.app import App, Seams, serve

    def ready(app: App) -> None:
        _say(_banner(app.url, app.login_url(), loaded))

    if record is None:
        return _ran(loaded, serve(loaded, ready=ready))
    from bot.recordings.recorder import recording

    with recording(record, Seams()) as seams:
        return _ran(loaded, serve(loaded, seams, ready))


def replay_hub(path: Path | None, recording: Path, own: Path | None, *, stays: bool) -> int:
    """Replay a recording; the exit code, 0 if all was as recorded.

    `own`: the directory for the replay's data and workspace, by default a temporary one. `stays`: afterwards
    serve the console until interrupted."""
    loaded = load_or_complain(path, secrets=False)  # nothing is sent anywhere
    if loaded is None:
        return USAGE
    from bot.app import App
    from bot.recordings.replayer import replay

    def ready(app: App) -> None:
        if stays:
            _say(f"Replaying {recording} on {app.url}. Console: {app.login_url()}. Ctrl-C stops the hub.")

    with contextlib.ExitStack() as opened:
        place = own or Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="hubbub-replay-")))
        found: list[str] = []

        async def run() -> None:
            script = await replay(loaded, recording, place, stays=stays, ready=ready)
            found.append(script.difference or "")
            if not script.difference:
                _say(f"{recording}: as recorded ({len(script.inputs)} messages and presses)")

        code = _ran(loaded, run(), quiet=not stays, to_the_end=False)
        if code == OK and found != [""]:
            complain(f"{recording}: {''.join(found)}")
            return FAILED
        return code


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _ran(
    loaded: Loaded, serving: Coroutine[Any, Any, None], *, quiet: bool = False, to_the_end: bool = True
) -> int:
    """Run a hub; the exit code. `quiet`: log warnings only. `to_the_end`: end the process with it."""
    from bot.ops.logs import configure

    log = loaded.config.log
    configure("warning" if quiet else log.level, log.format, secrets=secret_values(loaded.config))
    try:
        if to_the_end:
            run_to_the_end(serving, quicker_loop())
        else:
            asyncio.run(serving)
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
