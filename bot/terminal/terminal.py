"""The conversation in a terminal with a line editor: what comes is printed above the line being written."""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import ANSI, FormattedText, merge_formatted_text
from prompt_toolkit.formatted_text.base import AnyFormattedText
from prompt_toolkit.history import FileHistory, History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from rich.text import Text as Line

from bot.terminal.talk import Asked, Began, Card, Talk, TalkFailed
from bot.terminal.view import EDIT_KEY, View, keys_of
from channels.terminal import DIM, marked, painted, prefixed, styled, visible, wrapped
from core.safety.leaks import LeakDetector
from core.texts import COMMANDS

# Completion of what is typed: commands, and the ids they take.

LEAVE = "quit"
OWN_COMMANDS: tuple[tuple[str, str], ...] = ((LEAVE, "exit this terminal"),)
_TAKE_IDS = ("/approve ", "/deny ")


class CommandCompleter(Completer):
    """Completion of commands. `waiting` returns the ids of the open gates."""

    def __init__(self, waiting: Callable[[], Sequence[str]]) -> None:
        self._waiting = waiting

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        del complete_event
        text = document.text_before_cursor
        for command in _TAKE_IDS:
            if text.startswith(command):
                typed = text.removeprefix(command)
                found = [gate_id for gate_id in self._waiting() if gate_id.startswith(typed)]
                yield from (Completion(gate_id, -len(typed)) for gate_id in found)
        if text.startswith("/") and not any(character.isspace() for character in text):
            for name, told in (*COMMANDS, *OWN_COMMANDS):
                if name.startswith(text[1:]):
                    yield Completion(f"/{name}", -len(text), display_meta=told)


# Earlier input, for the line editor: a file of its own, readable by its user only.

HISTORY_NAME = "chat_history"
HISTORY_LIMIT_BYTES = 256 * 1024
"""A longer file is cut to its newer half when a terminal is opened."""


def kept_history(data_dir: Path) -> FileHistory:
    """Open the history in the data directory. Raises OSError if it can't be stored there."""
    path = data_dir / HISTORY_NAME
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    path.chmod(0o600)
    if path.stat().st_size > HISTORY_LIMIT_BYTES:
        _shorten(path)
    return _CleanHistory(path)


class _CleanHistory(FileHistory):
    """Earlier input, without secrets: the hub itself stores none, either."""

    def store_string(self, string: str) -> None:
        super().store_string(LeakDetector().redacted(string))


class WithholdingHistory(History):
    """A history that writes down only what the hub kept, too: any text may be a credential until it says."""

    def __init__(self, kept: History) -> None:
        super().__init__()
        self._kept = kept

    def load_history_strings(self) -> Iterable[str]:
        return self._kept.load_history_strings()

    def store_string(self, string: str) -> None:
        """Hold a line in memory only."""

    def keep(self, string: str) -> None:
        """Write down a line that the hub has taken and kept."""
        self._kept.store_string(string)


def _shorten(path: Path) -> None:
    """Drop the older half. An entry is lines that begin with "+", after a comment and an empty line."""
    newer = path.read_bytes()[-HISTORY_LIMIT_BYTES // 2 :]
    _, _, whole = newer.partition(b"\n\n")
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(b"\n" + whole)
    unfinished.rename(path)


# Answering a card with one key, without taking the first letter of a sentence for consent.
#
# A key counts if it is all there is on the line, and stays so for a moment, or is sent with Enter; and if
# the line was empty once since the card appeared.

SETTLES_S = 0.4
"""People who write a sentence type their second letter within this time."""


class Timer(Protocol):
    """Something that is going to happen."""

    def cancel(self) -> None: ...


class CardKeys:
    """Key handler of the line. `pressed` is called with the card and the position of its choice, None for
    editing; `later`
    calls a function after a delay, unless it is cancelled."""

    def __init__(
        self,
        buffer: Buffer,
        card: Callable[[], Card | None],
        pressed: Callable[[Card, int | None], None],
        later: Callable[[float, Callable[[], None]], Timer],
    ) -> None:
        self._later = later
        self._buffer = buffer
        self._card = card
        self._pressed = pressed
        self._armed = True
        self._settling: Timer | None = None
        buffer.on_text_changed += self._changed

    def shown(self) -> None:
        """Note that a card has appeared."""
        self._armed = not self._buffer.text

    def answers(self, text: str) -> bool:
        """Return whether a line that was sent is a key, which counts then."""
        card = self._card()
        if card is None or not self._armed or not _is_key(card, text):
            return False
        self._count(card, text)
        return True

    def _changed(self, buffer: Buffer) -> None:
        if self._settling is not None:
            self._settling.cancel()
            self._settling = None
        if not buffer.text:
            self._armed = True
        card = self._card()
        if card is not None and self._armed and _is_key(card, buffer.text):
            gate_id, key = card.gate_id, buffer.text
            self._settling = self._later(SETTLES_S, lambda: self._settled(gate_id, key))

    def _settled(self, gate_id: str, key: str) -> None:
        card = self._card()
        if card is not None and card.gate_id == gate_id and self._buffer.text == key:
            self._buffer.reset()
            self._count(card, key)

    def _count(self, card: Card, key: str) -> None:
        self._pressed(card, None if key == EDIT_KEY else keys_of(card).index(key))


def _is_key(card: Card, text: str) -> bool:
    return text in keys_of(card) or (text == EDIT_KEY and card.arguments is not None)


logger = logging.getLogger(__name__)

REFRESH_S = 0.5
LONG_S = 2
"""The time from which the line of state says how long a turn has run."""
ROWS_KEPT_FREE = 8
"""Of the screen's rows, for the line editor, its menu and the line of state below."""
GREETING = "Type a message and press Enter. Type /help for the commands."
EDITING_HINT = "Edit the arguments. Enter approves the edited call; Esc discards your changes."


class ChatTerminal:
    """One person at one terminal. `colours`: whether it shows any; `where`: which hub, in a few words."""

    def __init__(self, talk: Talk, history: History, where: str, *, colours: bool) -> None:
        self._talk = talk
        self._view = View()
        self._where = where
        self._colours = colours
        self._tasks: asyncio.TaskGroup | None = None
        self._editing: Card | None = None
        self._interrupted = False
        self._draft = ""
        self._began_s = 0.0
        self._history = WithholdingHistory(history)
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            history=self._history,
            completer=CommandCompleter(lambda: list(self._view.cards)),
            complete_while_typing=True,
            multiline=True,
            prompt_continuation="  ",
            key_bindings=self._bindings(),
            bottom_toolbar=self._toolbar,
            refresh_interval=REFRESH_S,
            erase_when_done=True,
        )
        self._keys = CardKeys(self._session.default_buffer, lambda: self._view.card, self._pressed, _later)

    async def run(self) -> None:
        """Run until the person leaves."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            await self._print([styled(GREETING, DIM), Line()])
            following = tasks.create_task(self._follow(), name="conversation")
            try:
                while (text := await self._typed()) is not None and text.strip() != f"/{LEAVE}":
                    await self._entered(text)
            finally:
                self._tasks = None
                following.cancel()

    def leave(self) -> None:
        """End, as Ctrl-D does."""
        if self._session.app.is_running:
            self._session.app.exit(exception=EOFError)

    async def _typed(self) -> str | None:
        try:
            return await self._session.prompt_async(default=self._draft, handle_sigint=False)
        except EOFError:
            return None

    # --- what comes --------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            event = await self._talk.next()
            lines = self._view.take(event, self._columns())
            if lines:
                await self._print(lines)
            if isinstance(event, Asked):
                self._keys.shown()
            elif isinstance(event, Began):
                self._began_s = asyncio.get_running_loop().time()
            self._session.app.invalidate()

    async def _print(self, lines: list[Line]) -> None:
        text = painted(lines, colours=self._colours)
        output = self._session.app.output

        def write() -> None:
            output.write_raw(text.replace("\n", "\r\n"))
            output.flush()

        await run_in_terminal(write)

    def _columns(self) -> int:
        return self._session.app.output.get_size().columns

    # --- what is typed -----------------------------------------------------------------------------------

    async def _entered(self, text: str) -> None:
        self._interrupted = False
        self._draft = ""
        if self._editing is not None:
            await self._edited(self._editing, text)
        elif not self._keys.answers(text) and text.strip():
            shown = "•••" if self._view.confides and not text.startswith("/") else text
            await self._print([*_typed_lines(shown), Line()])
            self._ask(self._say(text, confided=self._view.confides))

    async def _say(self, text: str, *, confided: bool) -> None:
        """Say something; it is written into the history once the hub has kept it as an ordinary message."""
        if await self._talk.say(text) and not confided:
            self._history.keep(text)

    def _pressed(self, card: Card, choice: int | None) -> None:
        """Handle a card's key. `choice` None: edit its arguments."""
        if card.menu:
            self._view.menu = None
        if choice is not None:
            self._ask(self._talk.decide(card.gate_id, card.first_choice + choice))
        elif card.arguments is not None:
            self._editing = card
            self._write_on_the_line(json.dumps(dict(card.arguments), indent=2, ensure_ascii=False))

    def _write_on_the_line(self, text: str) -> None:
        """Write on the current input line, or on the next one if that was just sent."""
        self._draft = text
        self._session.default_buffer.document = Document(text)

    async def _edited(self, card: Card, text: str) -> None:
        try:
            arguments = _object(text)
        except ValueError as error:
            await self._complain(f"{error}; fix it, or press Esc to discard your changes")
            self._draft = text
            return
        self._editing = None
        self._ask(self._talk.approve_edited(card.gate_id, arguments, card.first_choice))

    def _ask(self, request: Awaitable[object]) -> None:
        """Send a request to the hub in the background; its refusal is shown."""

        async def ask() -> None:
            try:
                await request
            except TalkFailed as error:
                await self._complain(str(error))

        if self._tasks is not None:
            self._tasks.create_task(ask(), name="request")

    async def _complain(self, text: str) -> None:
        await self._print(wrapped(styled(text, "bold"), self._columns()))

    # --- keys --------------------------------------------------------------------------------------------

    def _bindings(self) -> KeyBindings:
        bindings = KeyBindings()
        keys: Mapping[tuple[str, ...], Callable[[KeyPressEvent], None]] = {
            ("enter",): lambda event: event.current_buffer.validate_and_handle(),
            ("escape", "enter"): lambda event: event.current_buffer.insert_text("\n"),
            ("c-j",): lambda event: event.current_buffer.insert_text("\n"),
            ("c-c",): lambda event: self._interrupt(event.current_buffer),
            ("c-d",): lambda event: self._end_of_input(event.current_buffer),
            ("escape",): lambda event: self._escape(event.current_buffer),
        }
        for sequence, act in keys.items():
            bindings.add(*sequence)(act)
        return bindings

    def _interrupt(self, buffer: Buffer) -> None:
        """Stop the current run; discard the line; the second time, leave."""
        if self._interrupted:
            self.leave()
            return
        self._interrupted = True
        self._editing = None
        if buffer.text:
            buffer.reset()
        elif self._view.running or self._view.cards:
            self._ask(self._talk.say("/stop"))

    def _end_of_input(self, buffer: Buffer) -> None:
        if buffer.text:
            buffer.delete()
        else:
            self.leave()

    def _escape(self, buffer: Buffer) -> None:
        if self._editing is not None:
            self._editing = None
            buffer.reset()

    # --- what is shown around the line -------------------------------------------------------------------

    def _message(self) -> AnyFormattedText:
        rows = self._session.app.output.get_size().rows
        live = self._view.live(self._columns() - 1, rows - ROWS_KEPT_FREE)
        shown = ANSI(painted(live, colours=self._colours))
        return merge_formatted_text([shown, FormattedText([("bold", "› ")])])

    def _toolbar(self) -> AnyFormattedText:
        line = self._state()
        line.truncate(max(1, self._columns() - 1), overflow="ellipsis")
        return ANSI(painted([line], colours=self._colours).rstrip("\n"))

    def _state(self) -> Line:
        view = self._view
        if view.trouble:
            return styled(view.trouble)
        if self._interrupted:
            return Line("Press Ctrl-C again or Ctrl-D to exit")
        if self._editing is not None:
            return Line(EDITING_HINT)
        if view.card is not None:
            asked = "press a number:  " if view.card.menu else "waiting for your answer:  "
            return Line(asked) + view.choices(view.card)
        if view.running:
            took_s = int(asyncio.get_running_loop().time() - self._began_s)
            return Line(f"working…{f' {took_s} s' if took_s >= LONG_S else ''}  Ctrl-C: stop")
        return styled(f"hubbub  ·  {self._where}  ·  /help  ·  Alt-Enter: new line  ·  Ctrl-D: exit", DIM)


def _later(seconds: float, act: Callable[[], None]) -> asyncio.TimerHandle:
    return asyncio.get_running_loop().call_later(seconds, act)


def _typed_lines(text: str) -> list[Line]:
    first, *rest = Line(visible(text)).split(allow_blank=True)
    return [marked("› ", "bold") + first, *prefixed(rest, Line("  "))]


def _object(text: str) -> Mapping[str, Any]:
    """Return arguments as typed. Raises ValueError with the problem."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"this is not JSON: {error}") from error
    match found:
        case dict():
            return cast("Mapping[str, Any]", found)
        case _:
            raise ValueError('this is not a JSON object; use {"name": value}')
