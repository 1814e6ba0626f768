"""The `hubbub chat` command: in a terminal or through a pipe, with the running hub or one of its own."""

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, assert_never, cast

import typer

from bot.cli.conventions import data_dir_of
from bot.cli.serve import models_in_words, run_to_the_end
from bot.config.place import ApiAccess, process_environment, read_access
from bot.runtime import FAILED, OK, USAGE, ConfigError, StartError, complain, needed_to_start
from bot.terminal.remote import RemoteTalk
from bot.terminal.talk import (
    Asked,
    Began,
    Card,
    Cut,
    Event,
    HubApi,
    ModelFailed,
    Moved,
    Rested,
    Resumed,
    Said,
    Settled,
    Standing,
    Stepped,
    Talk,
    TalkFailed,
    Wrote,
)
from bot.terminal.view import View
from channels.terminal import painted, render
from channels.text.blocks import Block
from core.errors import StoreLocked
from core.events import Output
from core.ids import RandomIds
from core.lazy import LazyModule, dataclass
from core.store.lease import is_held

if TYPE_CHECKING:
    from bot import app as hub_program
    from bot.config import load, schema
    from bot.config.load import Loaded
    from bot.ops import logs
    from bot.terminal import terminal
else:
    # Most of the start, and a running hub needs none of it here.
    hub_program = LazyModule("bot.app")
    load, schema = LazyModule("bot.config.load"), LazyModule("bot.config.schema")
    logs = LazyModule("bot.ops.logs")
    terminal = LazyModule("bot.terminal.terminal")

logger = logging.getLogger(__name__)

Front = Callable[["Conversation"], Awaitable[bool]]
"""Holds a conversation; whether it came to an end with nothing left to do for a person."""
LOG_NAME = "chat.log"
SAYS_NOTHING = "Standard input is empty; pipe in a message, or run `hubbub chat` in a terminal."


@dataclass(frozen=True, slots=True)
class Place:
    """Where to talk. `loaded`: the configuration for a hub of this process; None while one runs, which has
    read it."""

    data_dir: Path
    loaded: "Loaded | None"

    @classmethod
    def of(cls, path: Path | None) -> "Place":
        """Look for the hub of the configuration. Raises ConfigError."""
        data_dir = data_dir_of(path)
        return cls(data_dir, None if is_held(data_dir) else load.load(path))


def chat(path: Path | None, *, as_json: bool) -> int:
    """Talk until the person leaves, or the input ends; the exit code."""
    try:
        place = Place.of(path)
    except ConfigError as error:
        complain(str(error))
        return USAGE
    ended = _Ended()
    try:
        front = _front(place, as_json=as_json)
        with _log_aside(place):
            run_to_the_end(_chat(place, front, ended))
    except (StartError, TalkFailed) as error:
        typer.echo(f"hubbub: {error}", err=True)
        return FAILED
    except Exception as error:  # the trace goes to the log, where secrets are struck out
        if _is_of_a_reader_that_has_gone(error):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains at its end
            return FAILED
        logger.exception("chat.crashed")
        typer.echo(f"hubbub: something went wrong; see {place.data_dir / LOG_NAME}", err=True)
        return FAILED
    return ended.code


def _is_of_a_reader_that_has_gone(error: Exception) -> bool:
    if isinstance(error, ExceptionGroup):
        return all(map(_is_of_a_reader_that_has_gone, error.exceptions))
    return isinstance(error, BrokenPipeError)


class _Ended:
    """The end of the chat."""

    code = OK


@contextlib.contextmanager
def _log_aside(place: Place) -> Iterator[None]:
    """Write the log to a file in the data directory while the terminal shows the conversation. Only
    the last chat's log is kept."""
    with needed_to_start(place.data_dir, "make it writable, or set another [hub] data_dir"):
        place.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(place.data_dir / LOG_NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as stream:
        if place.loaded is None:
            logs.configure(stream=stream)
        else:
            config = place.loaded.config
            secrets = schema.secret_values(config)
            logs.configure(config.log.level, config.log.format, secrets=secrets, stream=stream)
        yield


async def _chat(place: Place, front: Front, ended: _Ended) -> None:

    stop = asyncio.Event()
    async with conversation(place, stop) as held:
        talking = asyncio.ensure_future(front(held))
        stopping = asyncio.create_task(stop.wait(), name="stop")
        await asyncio.wait([talking, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        talking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            ended.code = OK if await talking else FAILED


def _front(place: Place, *, as_json: bool) -> Front:
    """Return the front for this terminal, or for the pipe in its place."""
    if as_json:
        return _lines
    if sys.stdin.isatty() and sys.stdout.isatty():
        return lambda held: _at_terminal(held, place)

    text = sys.stdin.buffer.read(INPUT_LIMIT_BYTES).decode("utf-8", "replace")
    if not text.strip():
        raise TalkFailed(SAYS_NOTHING)
    # The line ends that `echo` and editors put behind a text are none of it, as in the shell's $(...).
    return lambda held: PipeTalk(held.talk, _write).one_message(text.rstrip("\r\n"))


async def _lines(held: "Conversation") -> bool:

    return await PipeTalk(held.talk, _write).lines(lines_of(sys.stdin.buffer))


async def _at_terminal(held: "Conversation", place: Place) -> bool:
    colours = _colours(process_environment())
    await terminal.ChatTerminal(
        held.talk, terminal.kept_history(place.data_dir), held.where, colours=colours
    ).run()
    return True


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _colours(environment: Mapping[str, str]) -> bool:
    """Return whether to use colors: not with NO_COLOR (https://no-color.org) and not on a dumb
    terminal."""
    return not environment.get("NO_COLOR") and environment.get("TERM", "dumb") != "dumb"


# Where a conversation is held: with the hub that runs, or with one in this process.

OPENS_WITHIN_S = 5.0
LOOK_AGAIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Conversation:
    """`where`: who answers, in words."""

    talk: Talk
    where: str


@contextlib.asynccontextmanager
async def conversation(place: Place, stop: asyncio.Event) -> AsyncIterator[Conversation]:
    """Open the owner's conversation; `stop` is set when a signal says to end.

    Uses the hub that holds the data directory, over its API; without one, a hub that has no platform
    and ends with the block. Raises StartError, or TalkFailed if the running hub can't be asked.
    """
    async with contextlib.AsyncExitStack() as opened:
        own_hub = None if is_held(place.data_dir) else place.loaded
        if own_hub is not None:
            try:
                await opened.enter_async_context(_hub_here(own_hub, stop))
            except StartError as error:
                if not isinstance(error.__cause__, StoreLocked):
                    raise
                own_hub = None
        if own_hub is None:
            _stop_when_told(stop)
        where = "the running hub" if own_hub is None else models_in_words(own_hub)
        yield Conversation(await opened.enter_async_context(_talk(place.data_dir)), where)


@contextlib.asynccontextmanager
async def _talk(data_dir: Path) -> AsyncIterator[Talk]:
    """Return the talk to the hub, the same in both cases, so that a conversation continues with either
    hub."""

    def access() -> ApiAccess | None:
        return read_access(data_dir)

    await _until_published(access)
    talk = RemoteTalk(HubApi(access), RandomIds().row_id)
    await talk.open()
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(talk.run(), name="following")
        yield talk
        following.cancel()


async def _until_published(access: Callable[[], ApiAccess | None]) -> None:
    """Wait until a starting hub has published its API's address. Raises TalkFailed."""
    for _ in range(int(OPENS_WITHIN_S / LOOK_AGAIN_S)):
        if access() is not None:
            return
        await asyncio.sleep(LOOK_AGAIN_S)
    raise TalkFailed(
        "another command, not a hub, is using the data directory; try again when it has finished"
    )


@contextlib.asynccontextmanager
async def _hub_here(loaded: "Loaded", stop: asyncio.Event) -> AsyncIterator[None]:
    serves: asyncio.Future[hub_program.App] = asyncio.get_running_loop().create_future()
    hub = asyncio.create_task(
        hub_program.serve(_alone(loaded), ready=serves.set_result, stop=stop), name="hub"
    )
    await asyncio.wait([hub, serves], return_when=asyncio.FIRST_COMPLETED)
    if hub.done():
        await hub  # raises why it could not start
    try:
        yield
    finally:
        stop.set()
        await hub


def _alone(loaded: "Loaded") -> "Loaded":
    """Return the same configuration without platforms, for this machine only, on any free port."""
    config = loaded.config
    http = config.http.model_copy(update={"host": "127.0.0.1", "port": 0, "public_url": ""})
    return replace(loaded, config=config.model_copy(update={"channels": {}, "http": http}))


def _stop_when_told(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)


# The conversation without a line editor: what comes in on one pipe goes to the hub, what comes back goes
# out on another.
#
# Plainly: all of the input is one message; the answers are printed as text, and the command ends when
# nothing goes on any more. With JSON: one object a line, in and out.

PIPE_LOOK_AGAIN_S = 0.2
"""The pause between two checks for running work, while no event comes."""
INPUT_LIMIT_BYTES = 1024 * 1024
WAITS = "This conversation needs an answer: `hubbub approvals decide {id} approve`, or open `hubbub chat`."
BAD_LINE = 'send {"text": "…"} or {"gate_id": "…", "choice": "approve"}, one object per line'


class PipeTalk:
    """Runs one conversation on pipes. `write` takes text for standard output."""

    def __init__(self, talk: Talk, write: Callable[[str], None]) -> None:
        self._talk = talk
        self._write = write
        self._view = View()
        # A program names what it answers, also after it went on in another conversation.
        self._asked: dict[str, Card] = {}

    async def one_message(self, text: str) -> bool:
        """Send the text and print the answer; return whether all is done, and no gate is open."""
        if text.strip():
            await self._talk.say(text)
        standing = await self._until_rest(self._print)
        if standing is Standing.WAITING and self._view.card is not None and not self._view.card.menu:
            self._write(WAITS.format(id=self._view.card.gate_id) + "\n")
        return standing is Standing.IDLE

    async def lines(self, source: AsyncIterator[str]) -> bool:
        """Do what each line says, and tell what happens, one object a line; as `one_message` at the end."""
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(self._follow(), name="conversation")
            async for line in source:
                if line.strip():
                    await self._do(line)
            following.cancel()
        return await self._until_rest(self._tell) is Standing.IDLE

    # --- out ---------------------------------------------------------------------------------------------

    async def _until_rest(self, show: Callable[[Event], None]) -> Standing:
        while True:
            standing = await self._talk.standing()
            if standing is Standing.IDLE or standing is Standing.WAITING:
                return standing
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PIPE_LOOK_AGAIN_S):
                    event = await self._talk.next()
                show(event)

    async def _follow(self) -> None:
        while True:
            self._tell(await self._talk.next())

    def _print(self, event: Event) -> None:
        lines = self._view.take(event, None)
        if isinstance(event, Asked) and event.card.menu:
            return  # no key is pressed here
        if lines and not (isinstance(event, Said) and event.past):
            self._write(painted(lines, colours=False))

    def _tell(self, event: Event) -> None:
        if isinstance(event, Asked):
            self._asked[event.card.gate_id] = event.card
        self._view.take(event, None)
        if isinstance(event, Wrote):
            return  # a program gets the whole reply: pieces of one that breaks off are replaced
        self._write(json.dumps(as_json(event), ensure_ascii=False) + "\n")

    # --- in ----------------------------------------------------------------------------------------------

    async def _do(self, line: str) -> None:
        try:
            await self._asked_for(line)
        except TalkFailed as error:
            self._write(json.dumps({"type": "error", "message": str(error)}, ensure_ascii=False) + "\n")

    async def _asked_for(self, line: str) -> None:
        try:
            page = json.loads(line)
        except ValueError as error:
            raise TalkFailed(f"{error}; {BAD_LINE}") from error
        match page:
            case {"text": str(text)}:
                await self._talk.say(text)
            case {"gate_id": str(gate_id), "arguments": dict(arguments)} | {
                "prompt_id": str(gate_id),
                "arguments": dict(arguments),
            }:
                changed = cast("Mapping[str, Any]", arguments)
                await self._talk.approve_edited(gate_id, changed, self._place(gate_id, 0))
            case {"gate_id": str(gate_id), "choice": int() | str() as choice} | {
                "prompt_id": str(gate_id),
                "choice": int() | str() as choice,
            }:
                await self._talk.decide(gate_id, self._place(gate_id, choice))
            case _:
                raise TalkFailed(BAD_LINE)

    def _place(self, gate_id: str, choice: int | str) -> int:
        card = self._asked.get(gate_id)
        if card is None:
            raise TalkFailed(f"no open request here has the ID {gate_id}")
        offered = _answers(card)
        if isinstance(choice, int) and 0 <= choice < len(offered):
            return card.first_choice + choice
        if choice in offered:
            return card.first_choice + offered.index(str(choice))
        raise TalkFailed(f"{choice} is not an answer to this request; use one of {', '.join(offered)}")


def as_json(event: Event) -> Mapping[str, object]:
    """Return an event for programs: `type` and its fields. Text is as it is printed."""
    page: Mapping[str, object]
    match event:
        case Said():
            page = {
                "by": event.author.value,
                "name": event.name,
                "text": _text(event.blocks),
                "files": list(event.files),
                "past": event.past,
            }
        case Asked(card):
            page = {
                "gate_id": card.gate_id,
                "prompt_id": card.gate_id,  # its old name, for one version
                "text": _text(card.blocks),
                "choices": _answers(card),
                "arguments": None if card.arguments is None else dict(card.arguments),
                "free_text": card.free_text,
                "secret": card.secret,
                "menu": card.menu,
            }
        case Settled(gate_id):
            page = {**asdict(event), "prompt_id": gate_id}
        case (
            Stepped() | Output() | Wrote() | ModelFailed() | Cut() | Began() | Rested() | Resumed() | Moved()
        ):
            page = asdict(event)
        case _:
            assert_never(event)
    return {"type": type(event).__name__.lower(), **page}


def _text(blocks: Sequence[Block]) -> str:
    return painted(render(blocks, None), colours=False).rstrip("\n")


def _answers(card: Card) -> Sequence[str]:
    return [choice.option or choice.label for choice in card.choices]


async def lines_of(file: BinaryIO) -> AsyncIterator[str]:
    """Yield the lines of a file or pipe as they come. A line that is too long is cut, so it is not
    valid JSON."""
    while line := await asyncio.to_thread(file.readline, INPUT_LIMIT_BYTES):
        yield line.decode("utf-8", "replace")
