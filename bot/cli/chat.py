"""`hubbub chat`."""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bot.chat.talk import TalkFailed
from bot.cli.ending import FAILED, OK, USAGE
from bot.cli.running import load_or_complain, models_in_words, run_to_the_end
from bot.config import Loaded
from bot.config_secrets import secret_values
from bot.errors import StartError, needed_to_start

if TYPE_CHECKING:
    from bot.chat.here import Conversation

logger = logging.getLogger(__name__)

Front = Callable[["Conversation"], Awaitable[bool]]
"""Holds a conversation; whether it came to an end with nothing left to do for a person."""
LOG_NAME = "chat.log"
SAYS_NOTHING = "Standard input is empty; write a message to it, or run `hubbub chat` in a terminal."


def chat(path: Path | None, *, as_json: bool) -> int:
    """Talk until the person leaves, or the input ends; the exit code."""
    loaded = load_or_complain(path)
    if loaded is None:
        return USAGE
    ended = _Ended()
    try:
        front = _front(loaded, as_json=as_json)
        with _log_aside(loaded):
            run_to_the_end(_chat(loaded, front, ended))
    except (StartError, TalkFailed) as error:
        typer.echo(f"hubbub: {error}", err=True)
        return FAILED
    except Exception as error:  # the trace goes to the log, where secrets are struck out
        if _is_of_a_reader_that_has_gone(error):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains at its end
            return FAILED
        logger.exception("the chat broke down")
        typer.echo(f"hubbub: something broke; see {loaded.config.hub.data_dir / LOG_NAME}", err=True)
        return FAILED
    return ended.code


def _is_of_a_reader_that_has_gone(error: Exception) -> bool:
    if isinstance(error, ExceptionGroup):
        return all(map(_is_of_a_reader_that_has_gone, error.exceptions))
    return isinstance(error, BrokenPipeError)


class _Ended:
    """How the chat ended."""

    code = OK


@contextlib.contextmanager
def _log_aside(loaded: Loaded) -> Iterator[None]:
    """The log of the last chat lies in the data directory: the terminal is for the conversation."""
    from bot.logs import configure

    config = loaded.config
    with needed_to_start(config.hub.data_dir, "make it writable, or set another [hub] data_dir"):
        config.hub.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(config.hub.data_dir / LOG_NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as stream:
        configure(config.log.level, config.log.format, secrets=secret_values(config), stream=stream)
        yield


async def _chat(loaded: Loaded, front: Front, ended: _Ended) -> None:
    from bot.chat.here import conversation

    stop = asyncio.Event()
    async with conversation(loaded, stop) as held:
        talking = asyncio.ensure_future(front(held))
        stopping = asyncio.create_task(stop.wait(), name="stop")
        await asyncio.wait([talking, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        talking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            ended.code = OK if await talking else FAILED


def _front(loaded: Loaded, *, as_json: bool) -> Front:
    """How this terminal, or what stands in for one, holds a conversation."""
    if as_json:
        return _lines
    if sys.stdin.isatty() and sys.stdout.isatty():
        return lambda held: _at_terminal(held, loaded)
    from bot.chat.pipe import INPUT_LIMIT_BYTES, PipeTalk

    text = sys.stdin.buffer.read(INPUT_LIMIT_BYTES).decode("utf-8", "replace")
    if not text.strip():
        raise TalkFailed(SAYS_NOTHING)
    # The line ends that `echo` and editors put behind a text are none of it, as in the shell's $(...).
    return lambda held: PipeTalk(held.talk, _write).one_message(text.rstrip("\r\n"))


async def _lines(held: "Conversation") -> bool:
    from bot.chat.pipe import PipeTalk, lines_of

    return await PipeTalk(held.talk, _write).lines(lines_of(sys.stdin.buffer))


async def _at_terminal(held: "Conversation", loaded: Loaded) -> bool:
    from bot.chat.history import kept_history
    from bot.chat.terminal import ChatTerminal

    colours = _colours(loaded.environment)
    where = models_in_words(loaded) if held.own_hub else "the hub that runs"
    await ChatTerminal(held.talk, kept_history(loaded.config.hub.data_dir), where, colours=colours).run()
    return True


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _colours(environment: Mapping[str, str]) -> bool:
    """See https://no-color.org; a dumb terminal shows no sequences."""
    return not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"
