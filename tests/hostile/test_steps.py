"""Bounds that keep one text from holding the event loop: doors that refuse it unread, bounds on Markdown, a
thread
for whatever is long."""

import asyncio
import contextlib
import gzip
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.mcp.build import StdioConnector
from bot.mcp.http import HttpConnector
from bot.web.items import Presenter
from channels.channel import Channel, Payload
from channels.delivery import ChannelSession
from channels.discord import gateway
from channels.discord.client import DiscordClient, Server
from channels.slack.client import SlackClient
from channels.text.blocks import Block, Paragraph, Table, weight
from channels.text.markdown import MAX_CHARS, MAX_OPEN_BRACKETS, parse
from core.clock import SystemClock
from core.errors import InvalidArguments
from core.hooks.chain import HookEvent, Point
from core.hooks.points import AskingWebhook, Target, WebhookSender
from core.ids import RandomIds
from core.inbound.credentials import InboundCredentials
from core.inbound.hub import within_size
from core.messages import Address, ChoiceAnswer, InboundMessage, Markdown, Message, Plain, Unreadable
from core.model.base import ModelAbilities, ModelReply, ModelRequest, ReplyDelta
from core.model.openai import OpenAIModel
from core.off_loop import ValueCount, json_with_breaks, off_loop
from core.runs.attempts import RunModels
from core.runs.model_list import ConfiguredModel, ModelList
from core.runs.unseen_models import UnseenModels
from core.safety.fencing import ResultLimits, read_arguments
from core.store.feed import CallShown, FeedItem
from core.store.rows import CallState
from core.tool import CallContext
from core.tools.builtin.basics import json_tool
from core.tools.definition import tool
from core.tools.execution import run_call
from core.tools.mcp.connection import Connection, ServerFailed
from core.transcript import AssistantSaid, Origin, ToolCalled, UserSaid
from core.usage import CallKind, Payer, Usage
from core.web import UNINTERCEPTED
from tests.clock import ManualClock
from tests.core.runs.models_bench import unrecorded
from tests.core.tools.support import Call, place
from tests.harness.simulators import DISCORD_TOKEN
from tests.harness.telegram_hub import OWNER, open_hub
from tests.hostile.watched import LONG, SHORT, TEXTS, Watched, parsed_here
from tests.hostile.works import message, person
from tests.patience import PATIENCE_S
from tests.simulators.discord import DiscordSimulator
from tests.simulators.mcp import raw
from tests.simulators.mcp.web import open_web_server
from tests.simulators.slack import SlackSimulator


def text_of(blocks: tuple[Block, ...]) -> str:
    """Of a document that is one paragraph."""
    (block,) = blocks
    assert isinstance(block, Paragraph)
    assert block.content.spans == ()
    return block.content.text


# --- Markdown -----------------------------------------------------------------------------------------------
def test_a_document_over_its_size_is_shown_as_it_was_written() -> None:
    assert text_of(parse("**a** " * (MAX_CHARS // 6 + 1))) == "**a** " * (MAX_CHARS // 6 + 1)
    assert len(parse("**a**\n\n" * 10)) == 10


@pytest.mark.parametrize("unit", ["[", "![", "[a", "[[]", "[[[a](b)", "[" * MAX_OPEN_BRACKETS + "]"])
def test_a_paragraph_with_too_many_open_brackets_is_shown_as_it_was_written(unit: str) -> None:
    written = unit * (MAX_OPEN_BRACKETS + 1) + " **a** [b](http://c.example)"
    assert text_of(parse(written)) == written
    closed_before = "]" * 1_000 + written
    assert text_of(parse(closed_before)) == closed_before
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
    "blocks, in_a_thread",
    [
        ((Plain(SHORT),), False),
        ((Markdown(SHORT),), False),
        ((Plain(LONG),), True),
        ((Markdown("[" * 1_000),), True),
        ((Plain(SHORT[:50]),) * 100, True),
    ],
)
async def test_long_texts_are_rendered_in_a_thread(
    blocks: tuple[Plain | Markdown, ...], in_a_thread: bool
) -> None:
    channel = Drawing()
    session = ChannelSession(cast("Channel", channel), lambda _: None)
    said = Message(blocks)
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
        says = ConfiguredModel("says", "test", 1000, (Says(text),))
        models = ModelList([says], SystemClock(), unrecorded())
        meter = models.metering.run(Payer(CallKind.CHAT, "run", "ada"))
        run = RunModels(models, leaks, lambda _: None, meter)
        reply = await run.reply(lambda _: ModelRequest("", ()), lambda _: None)
        assert reply.text.strip() == text.strip()
        assert any(one != threading.get_ident() for one in leaks.threads) is in_a_thread
        assert leaks.longest_here <= 4_096  # a word that was held back is searched here


@pytest.mark.parametrize("texts, in_a_thread", TEXTS)
async def test_a_long_prompt_of_a_run_is_looked_through_in_a_thread(
    texts: tuple[str, ...], in_a_thread: bool
) -> None:
    leaks = Watched()
    says = ConfiguredModel("says", "test", 1000, (Says("."),))
    models = UnseenModels(ModelList([says], SystemClock(), unrecorded()), leaks)
    run = models.begin(lambda _: None, Payer(CallKind.ROUTINE, "run", "ada"))
    await run.reply(ModelRequest("", tuple(map(UserSaid, texts))))
    assert any(one != threading.get_ident() for one in leaks.threads) is in_a_thread
    assert leaks.longest_here <= 4_096


async def test_a_long_result_of_a_tool_is_looked_through_in_a_thread(tmp_path: Path) -> None:
    for text, in_a_thread in ((SHORT, False), (LONG, True)):
        leaks = Watched()

        @tool(name="say")
        async def say(call: CallContext, said: str = text) -> str:
            """Says it."""
            return said

        call, limits = Call(workspace=place(tmp_path)), ResultLimits(100_000, leaks)
        assert LONG[:100] in (await run_call("c1", say, {}, call, ManualClock(), limits)).text
        assert {one != threading.get_ident() for one in leaks.threads} == {in_a_thread}


@pytest.mark.parametrize("texts, in_a_thread", TEXTS)
async def test_a_long_thread_is_made_ready_for_the_console_in_a_thread(
    texts: tuple[str, ...], in_a_thread: bool
) -> None:
    threads: set[int] = set()

    def sensitive(_tool: str) -> frozenset[str]:
        threads.add(threading.get_ident())
        return frozenset()

    called = CallShown(ToolCalled("c1", "echo", "{}"), CallState.ENDED)
    said = [FeedItem(seq, 0, "t", AssistantSaid(text)) for seq, text in enumerate(texts, 2)]
    shown = (FeedItem(1, 0, "t", called), *said)
    assert len(await Presenter(sensitive, {}).items("thread", shown)) == len(shown)
    assert {one != threading.get_ident() for one in threads} == {in_a_thread}


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


def openai(client: httpx.AsyncClient) -> OpenAIModel:
    return OpenAIModel(
        name="m", model="m", base_url="http://h/v1", api_key="", client=client, clock=SystemClock()
    )


# --- what is parsed on the loop ---------------------------------------------------------------------------
@pytest.mark.parametrize("chars, most", [(2_000, 4_096), (40_000, 4_096), (900_000, 4_096)])
async def test_a_long_event_of_a_models_stream_is_parsed_in_a_thread(chars: int, most: int) -> None:
    event = {"choices": [{"index": 0, "delta": {"content": "z" * chars}, "finish_reason": "stop"}]}
    body = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()
    headers = {"content-type": "text/event-stream"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=body))
    async with httpx.AsyncClient(transport=transport) as client:
        with parsed_here() as lengths:
            pieces = [piece async for piece in openai(client).reply(ModelRequest("", ()))]
    assert isinstance(pieces[-1], ModelReply)
    assert len(pieces[-1].text) == chars
    assert max(lengths, default=0) <= most


async def test_other_work_continues_while_a_compressed_stream_is_read() -> None:
    """53 kB of it can become 22 MB."""
    events, turns = b'data: {"choices": []}\n\n' * 100_000, 0
    last = b'data: {"choices": [{"index": 0, "delta": {"content": "."}, "finish_reason": "stop"}]}\n\n'
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    body = gzip.compress(events + last + b"data: [DONE]\n\n")
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, content=body))

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with httpx.AsyncClient(transport=transport) as client:
        working = asyncio.create_task(other())
        pieces = [piece async for piece in openai(client).reply(ModelRequest("", ()))]
        working.cancel()
    assert isinstance(pieces[-1], ModelReply)
    assert pieces[-1].text == "."
    assert turns >= len(events) // 65_536


# From outside: valid, and nothing else reads it.
LONG_PAGE = "{}".ljust(200_000)


async def _page_of_discord() -> None:
    async with DiscordSimulator() as discord:
        discord.add_bot(DISCORD_TOKEN)
        discord.add_user("7")
        room = discord.dm_channel("7").id
        for _ in range(100):
            discord.user_sends_text("7", "z" * 2_000)
        client = DiscordClient(DISCORD_TOKEN, discord.api_base_url, None)
        page = await client.newest(str(room))
        await client.close()
    assert [message["content"] for message in page] == ["z" * 2_000] * 100


async def _page_of_slack() -> None:
    async with SlackSimulator() as slack:
        slack.add_app("xoxb-1", "xapp-1")
        slack.add_user("U0ANN", name="ann")
        for _ in range(100):
            slack.user_sends_text("U0ANN", "z" * 2_000)
        client = SlackClient("xoxb-1", f"{slack.url}/api/", None)
        page = await client.history(slack.direct_channel("U0ANN").id, oldest="0", limit=100)
        await client.close()
    assert [message["text"] for message in page] == ["z" * 2_000] * 100


async def _event_of_discord() -> None:
    heard: list[object] = []
    sdk = gateway._Sdk(heard.append, lambda: None, Server("http://h", "ws://h"), None)
    await sdk.on_socket_raw_receive(LONG_PAGE)
    assert heard == [{}]


class SaysMuch:
    """As much of a sender as a hook takes that waits for an answer."""

    async def send(self, _target: object, _page: object) -> bytes:
        return LONG_PAGE.encode()


async def _answer_of_a_hook() -> None:
    hook = AskingWebhook(cast("WebhookSender", SaysMuch()), cast("Target", None))
    await hook(HookEvent(Point.BEFORE_INBOUND))


async def _text_of_the_json_tool() -> None:
    assert await json_tool().run(Call(), {"text": LONG_PAGE, "pointer": ""}) == "{}"


async def _reply_in_one_piece() -> None:
    said = {"message": {"role": "assistant", "content": "z" * 200_000}, "index": 0, "finish_reason": "stop"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=json.dumps({"choices": [said]})))
    async with httpx.AsyncClient(transport=transport) as client:
        pieces = [piece async for piece in openai(client).reply(ModelRequest("", ()))]
    assert isinstance(pieces[-1], ModelReply)
    assert len(pieces[-1].text) == 200_000


READERS = (
    _page_of_discord,
    _page_of_slack,
    _event_of_discord,
    _answer_of_a_hook,
    _text_of_the_json_tool,
    _reply_in_one_piece,
)


@pytest.mark.parametrize("read", READERS)
async def test_a_long_text_from_outside_is_parsed_in_a_thread(read: Callable[[], Awaitable[None]]) -> None:
    with parsed_here() as lengths:
        await read()
    assert max(lengths, default=0) <= 4_096


@given(values, st.lists(st.integers(0, 400)), st.sampled_from(["", ': "\n', '"\r', '\\\n"\n']))
def test_the_values_of_a_text_in_pieces_are_counted(value: object, cuts: list[int], before: str) -> None:
    """Nothing in a string counts, however it is cut; a line before the text hides nothing of it."""

    def numbered(value: object) -> int:
        match value:
            case list():
                return 1 + sum(map(numbered, cast("list[object]", value))) + (not value)
            case dict():
                return 1 + sum(map(numbered, cast("dict[str, object]", value).values())) + (not value)
            case _:
                return 1

    data = (before + json.dumps(value)).encode()
    count, at = ValueCount(), 0
    found = 0
    for cut in sorted(cuts):
        found += count.add(data[at:cut])
        at = max(at, cut)
    # each value but the first follows a bracket or a comma; an empty list or object has a bracket alone
    assert found + count.add(data[at:]) == numbered(value) - 1


@contextlib.asynccontextmanager
async def mcp_server(way: str, mode: str, tmp_path: Path) -> AsyncIterator[Connection]:
    if way == "stdio":
        argv = [sys.executable, raw.__file__, str(tmp_path), mode]
        async with StdioConnector("raw", argv, os.environ, str(tmp_path), str(tmp_path), 30).open() as opened:
            yield opened
        return
    async with open_web_server() as web:
        web.mode = mode
        async with HttpConnector(web.url, {}, 30, UNINTERCEPTED).open() as opened:
            yield opened


@pytest.mark.parametrize("way, mode", [("stdio", "values"), ("http", "values"), ("http", "events")])
async def test_an_mcp_answer_of_too_many_values_ends_the_connection(
    way: str, mode: str, tmp_path: Path
) -> None:
    with pytest.raises(ServerFailed, match="its response is too large"):
        async with mcp_server(way, mode, tmp_path) as connection, asyncio.timeout(PATIENCE_S):
            await connection.call("note", {"text": "z"}, "key")


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_of_an_mcp_result_with_too_many_parts_the_first_are_read(way: str, tmp_path: Path) -> None:
    async with mcp_server(way, "blocks", tmp_path) as connection:
        with parsed_here() as lengths:
            reply = await connection.call("note", {"text": "z"}, "key")
    assert reply.text.split("\n") == ["z"] * 1_000 + ["[4000 more parts, not shown]"]
    # By HTTP a library parses it.
    assert way == "http" or max(lengths, default=0) <= 4_096, "a long line is parsed in a thread"


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


async def test_an_oversized_message_is_refused_and_not_stored(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        house.telegram.user_sends_text(OWNER, "zebra " * 20_000)
        await house.telegram.wait_text(OWNER, "more than 100,000 characters")
        house.telegram.user_sends_text(OWNER, "hi")
        await house.telegram.wait_text(OWNER, "You said: hi")
        assert len(house.model.log) == 1
        await house.stop()
        assert b"zebra" not in b"".join(path.read_bytes() for path in (tmp_path / "data").glob("hub.db*"))
