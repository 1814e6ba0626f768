"""`hubbub run`, also recorded or replaying, and `hubbub replay check`."""

import asyncio
import contextlib
import json
import logging
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.config.keys import write_for_its_user
from bot.config.place import FILE_NAME
from bot.runtime import FAILED, OK, PACKAGE, USAGE, ConfigError, StartError, complain
from core.lazy import LazyModule

if TYPE_CHECKING:
    from bot.config import load, schema
    from bot.config.load import Loaded
else:
    # A terminal at a running hub needs none of these.
    load, schema = LazyModule("bot.config.load"), LazyModule("bot.config.schema")

logger = logging.getLogger(__name__)

LAST_THREADS_S = 0.5


def load_or_complain(path: Path | None, *, secrets: bool = True) -> "Loaded | None":
    """Return the configuration, or None after printing its problems. `secrets`: see `load`."""
    try:
        return load.load(path, secrets=secrets)
    except ConfigError as error:
        complain(str(error))
        return None


def models_in_words(loaded: "Loaded") -> str:
    """Return the models as text, such as `main (openai), spare (demo)`."""
    return ", ".join(f"{model.name} ({model.provider})" for model in loaded.config.models)


def run_hub(path: Path | None, record: Path | None = None, *, browser: bool = True) -> int:
    """Run until interrupted; the exit code. `record`: the directory of a recording; `browser`: whether a
    person who tries the hub gets the console opened."""
    loaded = load_or_complain(path)
    if loaded is None:
        return USAGE
    from bot.app import App, Seams, serve

    at_terminal = sys.stdout.isatty()
    with contextlib.ExitStack() as opened:

        def ready(app: App) -> None:
            link = app.login_url()
            _say(_banner(app.url, link, loaded))
            if browser and at_terminal and not loaded.config.channels:
                opened.enter_context(opened_in_browser(link, loaded))

        seams = Seams()
        if record is not None:
            from bot.recordings.recorder import recording

            seams = opened.enter_context(recording(record, seams))
        return _ran(loaded, serve(loaded, seams, ready), at_terminal=at_terminal)


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
    loaded: "Loaded",
    serving: Coroutine[Any, Any, None],
    *,
    quiet: bool = False,
    to_the_end: bool = True,
    at_terminal: bool = False,
) -> int:
    """Run a hub; the exit code.

    `quiet`: log warnings only. `to_the_end`: end the process with it. `at_terminal`: a person reads standard
    error, and gets only warnings where a log file has the rest."""
    from bot.ops.logs import configure

    log = loaded.config.log
    configure("warning" if quiet else log.level, log.format, secrets=schema.secret_values(loaded.config))
    if at_terminal and log.file_limit_mb:
        for handler in logging.getLogger().handlers:
            handler.setLevel(logging.WARNING)
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


def own_name() -> str:
    """Return the words that start this command again: `hubbub`, or its path where PATH lacks it."""
    started = sys.argv[0]
    if Path(started).name != PACKAGE or shutil.which(PACKAGE) == os.path.realpath(started):
        return PACKAGE
    here = os.path.relpath(started)
    return started if here.startswith("..") else here


def _banner(url: str, login_url: str, loaded: "Loaded") -> str:
    """Return the start message: the hub's address, and three ways to go on from here."""
    config, name = loaded.config, own_name()
    option = f" --config {loaded.source}" if loaded.source and loaded.source != Path(FILE_NAME) else ""
    if config.channels:
        following = f"send the bot a message on {' or '.join(config.channels)}"
    else:
        following = f"{name} init{option} sets up a real model and a chat app"
    log = f" Log: {name} logs -f." if config.log.file_limit_mb else ""
    return "\n".join(
        (
            f"hubbub is running on {url} (models: {models_in_words(loaded)}).{log} Ctrl-C stops it.",
            f"Console: {login_url} (works once, within 15 minutes; `{name} login` prints another link)",
            f"Terminal: {name} chat{option}",
            f"Next: {following}",
        )
    )


# The browser of the person who tries the hub.
#
# Other users of the machine can read the command lines of all programs. A link that logs in is therefore
# never on one: the browser is given a file that only its user can read, and that leads to the link.

BROWSER_PAGE_NAME = "console.html"
_BROWSER_PAGE = (
    '<!doctype html><meta charset="utf-8"><title>hubbub</title><script>location.replace({})</script>'
)


@contextlib.contextmanager
def opened_in_browser(link: str, loaded: "Loaded") -> Iterator[None]:
    """Open the link in a browser where there is one; the file that leads there ends with the context."""
    command = _browser(loaded.environment)
    if command is None:
        yield
        return
    page = loaded.config.hub.data_dir / BROWSER_PAGE_NAME
    try:
        write_for_its_user(page, _BROWSER_PAGE.format(json.dumps(link)))
        subprocess.Popen(  # noqa: S603 - the person's own choice of browser
            [*command, page.absolute().as_uri()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:  # the link is printed, too
        logger.info("browser.not_opened error=%s", error)
    try:
        yield
    finally:
        page.unlink(missing_ok=True)


def _browser(environment: Mapping[str, str]) -> Sequence[str] | None:
    """Return the command that opens a page; None without a screen, or over SSH, where it is another's."""
    if named := environment.get("BROWSER", ""):
        return shlex.split(named)
    screen = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    if "SSH_CONNECTION" in environment or not (sys.platform == "darwin" or screen):
        return None
    opener = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    return None if opener is None else [opener]
