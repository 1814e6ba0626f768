"""The line editor and what stands around it, without a hub and without a screen: keys in, bytes out."""

import asyncio
import contextlib
import io
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.application.current import AppSession
from prompt_toolkit.data_structures import Size
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output

from bot.terminal.talk import (
    Asked,
    Author,
    Began,
    Card,
    CardChoice,
    Event,
    Feed,
    Said,
    Settled,
    Standing,
    Stepped,
    StepState,
)
from bot.terminal.terminal import HISTORY_NAME, ChatTerminal, kept_history
from channels.text.markdown import parse
from tests.bot.terminal.test_view import APPROVAL
from tests.patience import PATIENCE_S

LIMIT_S = PATIENCE_S
ROWS, COLUMNS = 40, 60
ESC, BACKSPACE = "\x1b", "\x7f"
COLOUR = re.compile(r"\x1b\[[0-9;]*\b(?:3[0-8]|4[0-8]|9\d|10\d)[0-9;]*m")
STEERING = "\x1b]0;owned\x07\x1b[8m\x1b[2J\x9b31m\u202etxt.exe\x00"
"""A title, hidden text, an empty screen, a colour in one character, and words that are read backwards."""
CREDENTIAL = Card(
    "s", parse("Please send me the credential."), (CardChoice("Cancel"),), free_text=True, secret=True
)
QUESTION = Card("q", parse("Which colour?"), (CardChoice("red"), CardChoice("dark green")), free_text=True)


class MemoryTalk:
    """See bot.terminal.talk.Talk: what the person did is kept in order; what the hub does is `put`."""

    def __init__(self) -> None:
        self._feed = Feed()
        self._more = asyncio.Condition()
        self.done: list[object] = []
        self.withheld: set[str] = set()

    def put(self, *events: Event) -> None:
        """The hub does these."""
        for event in events:
            self._feed.put(event)

    async def say(self, text: str) -> bool:
        """See Talk."""
        await self._did(text)
        return text not in self.withheld

    async def decide(self, gate_id: str, choice: int) -> str:
        """See Talk."""
        await self._did((gate_id, choice))
        return "done"

    async def approve_edited(self, gate_id: str, arguments: Mapping[str, Any], choice: int) -> str:
        """See Talk."""
        await self._did((gate_id, dict(arguments), choice))
        return "done"

    async def next(self) -> Event:
        """See Talk."""
        return await self._feed.get()

    async def standing(self) -> Standing | None:
        """See Talk."""
        return Standing.IDLE

    async def did(self, *wanted: object) -> None:
        """Until the person did all of this, and nothing else."""
        async with asyncio.timeout(LIMIT_S), self._more:
            await self._more.wait_for(lambda: len(self.done) >= len(wanted))
        assert self.done == list(wanted)

    async def _did(self, what: object) -> None:
        async with self._more:
            self.done.append(what)
            self._more.notify_all()


class Screen(io.StringIO):
    """Takes what is written to the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self._more = asyncio.Event()

    def write(self, text: str) -> int:
        """See StringIO."""
        self._more.set()
        return super().write(text)

    async def until(self, holds: Callable[[], bool], wanted: str) -> None:
        """Until something that writing brings about is so."""
        try:
            async with asyncio.timeout(LIMIT_S):
                while not holds():
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            raise AssertionError(f"{wanted!r} was not shown, but {self.getvalue()[-3000:]!r}") from None

    async def shows(self, wanted: str) -> str:
        """Until this was written in one piece; everything written by then."""
        await self.until(lambda: wanted in self.getvalue(), wanted)
        return self.getvalue()


class Output(Vt100_Output):
    """A terminal that says how much room there is, without being asked by escape sequences."""

    def get_rows_below_cursor_position(self) -> int:
        """See Output."""
        return ROWS


class Seat:
    """A person at a terminal."""

    def __init__(self, keys: PipeInput, *, colours: bool) -> None:
        self.talk = MemoryTalk()
        self.screen = Screen()
        self._keys = keys
        depth = ColorDepth.DEPTH_4_BIT if colours else ColorDepth.DEPTH_1_BIT
        self.output = Output(
            self.screen, lambda: Size(ROWS, COLUMNS), default_color_depth=depth, enable_cpr=False
        )
        self.session: AppSession | None = None
        self.running: asyncio.Task[None] | None = None

    def types(self, text: str) -> None:
        """Press these keys."""
        self._keys.send_text(text)

    async def sees(self, card: Card) -> None:
        """The hub shows a card."""
        self.talk.put(Asked(card))
        await self.reads("waiting for you")

    async def reads(self, wanted: str) -> None:
        """Until this stands on the line that is written or on the one of state below."""
        await self.screen.until(lambda: wanted in self._line(), wanted)

    async def left(self) -> None:
        """Until the program has ended by itself."""
        assert self.running is not None
        async with asyncio.timeout(LIMIT_S):
            await self.running

    def _line(self) -> str:
        app = self.session.app if self.session is not None else None
        drawn = app.renderer.last_rendered_screen if app is not None else None
        if drawn is None:
            return ""
        rows = (drawn.data_buffer[row] for row in range(drawn.height))
        return "\n".join("".join(row[column].char for column in range(COLUMNS)) for row in rows)


@contextlib.asynccontextmanager
async def seat(history: History | None = None, *, colours: bool = True) -> AsyncIterator[Seat]:
    """A terminal that is left when the block ends, if it was not before."""
    with create_pipe_input() as keys:
        seat = Seat(keys, colours=colours)
        with create_app_session(input=keys, output=seat.output) as seat.session:
            terminal = ChatTerminal(seat.talk, history or InMemoryHistory(), "demo", colours=colours)
            seat.running = running = asyncio.create_task(terminal.run(), name="terminal")
            try:
                await seat.reads("hubbub · demo")
                yield seat
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("key", ["e", "e\r"])
async def test_edited_arguments_are_approved_as_edited(key: str) -> None:
    async with seat() as at:
        await at.sees(APPROVAL)
        at.types(key)
        await at.reads('"command": "ls"')
        at.types(BACKSPACE + "\r")
        await at.screen.shows("this is not JSON")
        assert at.talk.done == []
        at.types(BACKSPACE * len('{\n  "command": "ls"\n') + '{"command": "ls -l"}\r')
        await at.talk.did((APPROVAL.gate_id, {"command": "ls -l"}, APPROVAL.first_choice))


async def test_leaving_the_editor_approves_nothing_and_keeps_the_card_open() -> None:
    async with seat() as at:
        await at.sees(APPROVAL)
        at.types("e\r")
        await at.reads("Edit the arguments.")
        at.types(ESC)
        await at.reads("waiting for you")
        at.types("d\r")
        await at.talk.did((APPROVAL.gate_id, 1))


async def test_a_question_takes_a_number_alone_or_any_words() -> None:
    async with seat() as at:
        await at.sees(QUESTION)
        at.types("2")
        await at.talk.did(("q", 1))
        at.types("22 shades of it\r")
        await at.talk.did(("q", 1), "22 shades of it")


async def test_a_credential_that_is_asked_for_is_neither_echoed_nor_in_the_history(tmp_path: Path) -> None:
    async with seat(kept_history(tmp_path)) as at:
        at.types("before\r")
        await at.talk.did("before")
        await at.sees(CREDENTIAL)
        at.types("swordfish 12\r")
        await at.talk.did("before", "swordfish 12")
        await at.screen.shows("•••")
        at.talk.withheld.add("hunter 22")
        at.talk.put(Settled("s", "Stopped"))
        at.types("hunter 22\r")
        await at.talk.did("before", "swordfish 12", "hunter 22")
    assert "before" in (tmp_path / HISTORY_NAME).read_text()
    assert "hunter" not in (tmp_path / HISTORY_NAME).read_text()
    assert "swordfish" not in (tmp_path / HISTORY_NAME).read_text()


async def test_a_word_that_begins_with_a_key_is_sent_as_a_word() -> None:
    async with seat() as at:
        await at.sees(APPROVAL)
        at.types("also this\r")
        await at.talk.did("also this")


async def test_a_card_that_settled_elsewhere_takes_no_key() -> None:
    async with seat() as at:
        await at.sees(APPROVAL)
        at.talk.put(Settled(APPROVAL.gate_id, "Denied by Ann"))
        await at.screen.shows("Denied by Ann")
        at.types("a\r")
        await at.talk.did("a")


async def test_ctrl_c_stops_what_runs_and_the_second_one_leaves() -> None:
    async with seat() as at:
        at.talk.put(Began())
        await at.reads("working…  Ctrl-C")
        await at.reads("working… 2 s  Ctrl-C")
        at.types("\x03")
        await at.talk.did("/stop")
        await at.reads("Ctrl-C again")
        at.types("\x03")
        await at.left()


@pytest.mark.parametrize("typed", ["/quit\r", "\x04", "  /quit \r"])
async def test_leaving_sends_nothing_to_the_hub(typed: str) -> None:
    async with seat() as at:
        at.types(typed)
        await at.left()
        assert at.talk.done == []


@pytest.mark.parametrize("colours", [True, False])
async def test_colours_are_shown_or_not(*, colours: bool) -> None:
    async with seat(colours=colours) as at:
        at.talk.put(Said(Author.ASSISTANT, parse("`code` and **bold**")))
        await at.sees(APPROVAL)
        shown = at.screen.getvalue()
        assert bool(COLOUR.search(shown)) is colours


async def test_no_message_can_control_the_terminal() -> None:
    """In an answer, a name, a file's name, a call, an outcome and a card."""
    async with seat() as at:
        words = parse(f"safe{STEERING} `{STEERING}`\n\n```\n{STEERING}\n```")
        at.talk.put(
            Said(Author.ASSISTANT, words),
            Said(Author.PERSON, words, name=STEERING, files=(STEERING,)),
            Stepped("c", STEERING, StepState.ENDED, STEERING, STEERING),
            Asked(Card("p", words, (CardChoice(STEERING),), arguments={STEERING: STEERING})),
            Settled("p", STEERING),
            Said(Author.HUB, parse("the end")),
        )
        shown = await at.screen.shows("the end")
        for part in ("\x1b]", "\x07", "\x1b[8m", "\x9b", "\u202e", "\x00"):
            assert part not in shown
        assert "\x1b[2J" not in shown.partition("safe")[2]
