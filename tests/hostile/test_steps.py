"""What keeps one text from holding the event loop: doors that refuse it unread, bounds on Markdown, a thread
for whatever is long."""

import json
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.channel import Channel, Payload
from channels.delivery import ChannelSession
from channels.text.blocks import Block, Paragraph, Table, weight
from channels.text.markdown import MAX_CHARS, MAX_OPEN_BRACKETS, parse
from core.clock import SystemClock
from core.errors import InvalidArguments
from core.ids import RandomIds
from core.inbound.credentials import InboundCredentials
from core.inbound.hub import within_size
from core.messages import Address, ChoiceAnswer, InboundMessage, Markdown, Message, Plain, Unreadable
from core.model.base import ModelAbilities, ModelReply, ModelRequest, ReplyDelta, Usage
from core.off_loop import json_with_breaks, off_loop
from core.runs.attempts import RunModels
from core.runs.model_list import ConfiguredModel, ModelList
from core.safety.fencing import read_arguments
from core.safety.leaks import Leak, LeakDetector
from core.transcript import Origin
from tests.harness.telegram_hub import OWNER, open_hub
from tests.hostile.works import message, person

SHORT, LONG = "word " * 800, "word " * 900


def text_of(blocks: tuple[Block, ...]) -> str:
    """Of a document that is one paragraph."""
    (block,) = blocks
    assert isinstance(block, Paragraph)
    assert block.content.spans == ()
    return block.content.text


class Watched(LeakDetector):
    """Notes the threads it is asked in."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def find(self, text: str) -> tuple[Leak, ...]:
        self.threads.add(threading.get_ident())
        return super().find(text)


# --- Markdown -----------------------------------------------------------------------------------------------
def test_a_document_over_its_size_is_shown_as_it_was_written() -> None:
    assert text_of(parse("**a** " * (MAX_CHARS // 6 + 1))) == "**a** " * (MAX_CHARS // 6 + 1)
    assert len(parse("**a**\n\n" * 10)) == 10


@pytest.mark.parametrize("unit", ["[", "![", "[a"])
def test_a_paragraph_with_too_many_open_brackets_is_shown_as_it_was_written(unit: str) -> None:
    written = unit * (MAX_OPEN_BRACKETS + 1) + " **a** [b](http://c.example)"
    assert text_of(parse(written)) == written
    (shown,) = parse(f"[b](http://c.example) {'[x] ' * 100}")
    assert isinstance(shown, Paragraph)
    assert len(shown.content.spans) == 1


def test_a_table_of_many_more_cells_than_characters_is_shown_as_it_was_written() -> None:
    columns, rows = 100, 200
    table = f"{'|a' * columns}|\n{'|-' * columns}|\n" + "|\n" * rows
    assert not any(isinstance(block, Table) for block in parse(table))
    (usual,) = parse("|a|b|\n|-|-|\n" + "|1|2|\n" * rows)
    assert isinstance(usual, Table)
    (wide,) = parse(f"{'|a' * 50}|\n{'|-' * 50}|\n" + f"{'|1' * 50}|\n" * rows)
    assert isinstance(wide, Table)


# --- threads ------------------------------------------------------------------------------------------------
async def test_long_work_is_done_in_a_thread_and_short_work_is_not() -> None:
    here = threading.get_ident()
    assert await off_loop(len(SHORT), threading.get_ident) == here
    assert await off_loop(len(LONG), threading.get_ident) != here


class Drawing:
    """As much of a channel as drawing takes."""

    name = "drawing"

    def __init__(self) -> None:
        self.threads: list[int] = []

    def render(self, message: Message) -> tuple[Payload, ...]:
        del message
        self.threads.append(threading.get_ident())
        return ({},)


@pytest.mark.parametrize(
    "block, in_a_thread",
    [(Plain(SHORT), False), (Markdown(SHORT), False), (Plain(LONG), True), (Markdown("[" * 1_000), True)],
)
async def test_what_takes_long_to_draw_is_drawn_in_a_thread(
    block: Plain | Markdown, in_a_thread: bool
) -> None:
    channel = Drawing()
    session = ChannelSession(cast("Channel", channel), lambda _: None)
    said = Message((block,))
    session.prerender(said)
    assert len(channel.threads) == (0 if in_a_thread else 1)
    assert await session.rendered(cast("Channel", channel), said) == ({},)
    assert [one != threading.get_ident() for one in channel.threads] == [in_a_thread]
    assert (weight(said.blocks) > 4_096) is in_a_thread


async def test_long_texts_are_looked_through_in_a_thread() -> None:
    for text, in_a_thread in ((SHORT, False), (LONG, True)):
        leaks = Watched()
        await InboundCredentials(leaks, None, RandomIds()).take_out(message(text))
        assert {one != threading.get_ident() for one in leaks.threads} == {in_a_thread}


class Says:
    """A model that says one thing, in one piece."""

    name = "says"
    abilities = ModelAbilities()

    def __init__(self, text: str) -> None:
        self._text = text

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        del request
        yield ReplyDelta(self._text)
        yield replace(_REPLY, text=self._text)


_REPLY = ModelReply("", (), Usage(), Origin("", "", ""))


async def test_a_long_reply_is_looked_through_in_a_thread() -> None:
    for text, in_a_thread in ((SHORT, False), (LONG, True)):
        leaks = Watched()
        models = ModelList([ConfiguredModel("says", "test", 1000, (Says(text),))], SystemClock())
        run = RunModels(models, leaks, lambda _: None, lambda _: None)
        reply = await run.reply(lambda _: ModelRequest("", ()), lambda _: None)
        assert reply.text == text
        assert {one != threading.get_ident() for one in leaks.threads} == {in_a_thread}


# --- JSON ---------------------------------------------------------------------------------------------------
LONG_CHARS = 131_073
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_a_long_json_text_means_the_same(value: object) -> None:
    text = json.dumps(value).ljust(LONG_CHARS)
    assert json_with_breaks(text) == value
    assert json_with_breaks(text.encode()) == value


@pytest.mark.parametrize("text", ["", "{", "[1,]", '{"a"}', "[1 2]", "nul", '"\x01"', "[" * 200_000])
def test_a_long_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises((ValueError, RecursionError)):
        json_with_breaks(text.ljust(LONG_CHARS))


def test_other_threads_run_while_a_long_json_text_is_parsed() -> None:
    """Python lets go of its interpreter between two calls of its own functions, and in none of C."""
    calls = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    text = f"[{'[[]],' * 30_000}{{}}]"
    sys.setprofile(called)
    try:
        assert len(json_with_breaks(text)) == 30_001
    finally:
        sys.setprofile(None)
    assert calls > 30_000


def test_a_long_json_text_of_many_values_is_refused() -> None:
    assert len(json_with_breaks(f"[{'1,' * 249_999}1]")) == 250_000
    for unit, times in (("1,", 250_000), ("[[[]]],", 90_000), ('{"a":{}},', 130_000)):
        with pytest.raises(ValueError, match="too many values"):
            json_with_breaks(f"[{unit * times}1]")
    with pytest.raises(InvalidArguments, match="too many values"):
        read_arguments(f'{{"text": [{"1," * 80_000}1]}}')


# --- doors --------------------------------------------------------------------------------------------------
def test_names_are_cut_and_texts_over_their_size_not_taken() -> None:
    long = within_size(message("hi", "n" * 201))
    assert isinstance(long, InboundMessage)
    assert (len(long.sender.name), len(long.sender.username or ""), len(long.attachments[0].name)) == (
        200,
    ) * 3
    most = message("x" * 100_000)
    assert within_size(most) is most
    over = within_size(message("x" * 100_001))
    assert isinstance(over, InboundMessage)
    assert (over.text, over.not_understood) == ("", "a message of more than 100,000 characters")
    assert isinstance(within_size(replace(message("x" * 100_001), edits="k0")), Unreadable)
    press = ChoiceAnswer("k", "telegram", Address("7"), person(), "P", 0, 0, form="x" * 100_001)
    assert isinstance(within_size(press), Unreadable)
    assert within_size(replace(press, form="x")) == replace(press, form="x")


async def test_whoever_sends_too_long_a_message_is_told_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        house.telegram.user_sends_text(OWNER, "zebra " * 20_000)
        await house.telegram.wait_text(OWNER, "more than 100,000 characters")
        house.telegram.user_sends_text(OWNER, "hi")
        await house.telegram.wait_text(OWNER, "You said: hi")
        assert len(house.model.log) == 1
        await house.stop()
        assert b"zebra" not in b"".join(path.read_bytes() for path in (tmp_path / "data").glob("hub.db*"))
