"""Promises of every implementation of the Model port."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.clock import SystemClock
from core.model.anthropic import AnthropicModel
from core.model.base import (
    Model,
    ModelAbilities,
    ModelReply,
    ModelRequest,
    ReplyDelta,
    ThinkingStyle,
    ToolSpec,
    closing,
)
from core.model.demo import DemoModel
from core.model.openai import OpenAIModel
from core.model.provider_http import model_client
from core.transcript import (
    AssistantSaid,
    Note,
    Origin,
    ResultStatus,
    Said,
    Summary,
    ToolCalled,
    ToolResult,
    UserSaid,
)
from core.users import Thinking
from tests.core.model.test_cli import model_of as cli_model_of
from tests.patience import PATIENCE_S
from tests.simulators.agent_cli import AgentCli
from tests.simulators.model import ModelSimulator

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
SHELL = ToolSpec(
    "shell",
    "Run a command line.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
TIME = ToolSpec("time", "Tell the time.", {"type": "object", "properties": {}})
CALL_ID = "0190c6f2-7d0a-7cc3-98f4-3b1c5d2e6f7"


@dataclass(frozen=True, slots=True)
class Subject:
    """A model under test and the words that make it call the shell, with `{}` for the command."""

    model: Model
    run: str

    def request(self, *said: Said | str, tools: Sequence[ToolSpec] = (SHELL, TIME)) -> ModelRequest:
        conversation = [UserSaid(entry) if isinstance(entry, str) else entry for entry in said]
        return ModelRequest("Be kind.", conversation, tools)


@asynccontextmanager
async def openai(*, stream: bool = True) -> AsyncIterator[Subject]:
    async with ModelSimulator() as provider, model_client(tls=NO_TLS) as client:
        model = OpenAIModel(
            name="subject",
            model="sim-1",
            base_url=provider.openai_base_url,
            api_key="test-key",
            client=client,
            clock=SystemClock(),
            stream=stream,
        )
        yield Subject(model, "please run: {}")


@asynccontextmanager
async def anthropic(
    *, stream: bool = True, style: ThinkingStyle = ThinkingStyle.NONE
) -> AsyncIterator[Subject]:
    async with ModelSimulator() as provider, model_client(tls=NO_TLS) as client:
        model = AnthropicModel(
            name="subject",
            model="sim-1",
            base_url=provider.anthropic_base_url,
            api_key="test-key",
            client=client,
            clock=SystemClock(),
            stream=stream,
            abilities=ModelAbilities(thinking=style, max_temperature=1.0),
            thinking=Thinking.LOW,
        )
        yield Subject(model, "please run: {}")


@asynccontextmanager
async def demo() -> AsyncIterator[Subject]:
    yield Subject(DemoModel("subject"), "run: {}")


@asynccontextmanager
async def agent_cli() -> AsyncIterator[Subject]:
    with TemporaryDirectory() as place:
        yield Subject(cli_model_of(AgentCli(), Path(place), "subject"), "please run: {}")


SUBJECTS = {
    "demo": demo,
    "cli": agent_cli,
    "openai": openai,
    "openai-whole": lambda: openai(stream=False),
    "anthropic": anthropic,
    "anthropic-whole": lambda: anthropic(stream=False),
    "anthropic-adaptive": lambda: anthropic(style=ThinkingStyle.ADAPTIVE),
    "anthropic-budget": lambda: anthropic(style=ThinkingStyle.BUDGET),
    "anthropic-budget-whole": lambda: anthropic(stream=False, style=ThinkingStyle.BUDGET),
}


@pytest.fixture(params=SUBJECTS)
async def subject(request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    async with SUBJECTS[request.param]() as made:
        yield made


async def collect(model: Model, request: ModelRequest) -> tuple[list[str], ModelReply]:
    pieces = [piece async for piece in model.reply(request)]
    *deltas, reply = pieces
    assert isinstance(reply, ModelReply), "the reply comes last"
    texts = [delta.text for delta in deltas if isinstance(delta, ReplyDelta)]
    assert len(texts) == len(deltas), "there is one reply"
    return texts, reply


async def replied(
    subject: Subject, *said: Said | str, tools: Sequence[ToolSpec] = (SHELL, TIME)
) -> ModelReply:
    return (await collect(subject.model, subject.request(*said, tools=tools)))[1]


async def test_a_model_has_the_name_it_was_given(subject: Subject) -> None:
    assert subject.model.name == "subject"


async def test_deltas_come_before_the_reply_and_add_up_to_it(subject: Subject) -> None:
    deltas, reply = await collect(subject.model, subject.request("hello from 部署 🚀, how are you today?"))
    assert "hello from 部署 🚀" in reply.text
    assert "".join(deltas) in ("", reply.text)
    assert all(deltas), "an empty delta says nothing"
    assert reply.calls == ()
    assert reply.truncated is False


async def test_a_reply_carries_its_model_and_usage(subject: Subject) -> None:
    reply = await replied(subject, "hello")
    assert reply.origin.provider
    assert reply.origin.model
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0
    assert 0 <= reply.usage.cached_input_tokens <= reply.usage.input_tokens


async def test_a_call_names_an_offered_tool_and_brings_its_arguments_as_json(subject: Subject) -> None:
    (call,) = (await replied(subject, subject.run.format("echo 部署 'a b'"))).calls
    assert call.tool == "shell"
    assert json.loads(call.arguments) == {"command": "echo 部署 'a b'"}
    assert call.provider_call_id


async def test_several_calls_in_one_reply_keep_their_order_and_have_ids_of_their_own(
    subject: Subject,
) -> None:
    reply = await replied(subject, subject.run.format("one"), subject.run.format("two"))
    assert [json.loads(call.arguments)["command"] for call in reply.calls] == ["one", "two"]
    assert len({call.provider_call_id for call in reply.calls}) == 2


async def test_only_offered_tools_are_called(subject: Subject) -> None:
    for tools in ((), (TIME,)):
        reply = await replied(subject, subject.run.format("ls"), tools=tools)
        assert reply.calls == ()
        assert "shell" in reply.text


async def conversation(subject: Subject, *results: ToolResult) -> ModelReply:
    """The reply after two calls, ids ending in 0 and 1, came to these results."""
    words = [subject.run.format("one"), subject.run.format("two")]
    first = await replied(subject, *words)
    said: list[Said] = [UserSaid(text) for text in words]
    said.append(AssistantSaid(first.text, first.origin))
    said += [ToolCalled(f"{CALL_ID}{n}", call.tool, call.arguments) for n, call in enumerate(first.calls)]
    return await replied(subject, *said, *results)


async def test_results_are_accepted_in_any_order(subject: Subject) -> None:
    reply = await conversation(
        subject,
        ToolResult(f"{CALL_ID}1", ResultStatus.OK, "second result"),
        ToolResult(f"{CALL_ID}0", ResultStatus.OK, "first result"),
    )
    assert reply.calls == ()
    assert -1 < reply.text.find("first result") < reply.text.find("second result")


@pytest.mark.parametrize(
    "status, word",
    [
        (ResultStatus.ERROR, ("error", "failed")),
        (ResultStatus.DENIED, ("denied",)),
        (ResultStatus.CANCELLED, ("cancelled",)),
        (ResultStatus.SKIPPED, ("skipped",)),
        (ResultStatus.UNKNOWN, ("unknown", "do not know")),
    ],
)
async def test_an_outcome_that_is_not_ok_is_never_reported_as_success(
    subject: Subject, status: ResultStatus, word: tuple[str, ...]
) -> None:
    reply = await conversation(
        subject,
        ToolResult(f"{CALL_ID}0", status, "for a reason"),
        ToolResult(f"{CALL_ID}1", ResultStatus.OK, "fine"),
    )
    assert any(said in reply.text.lower() for said in word), reply.text
    assert "for a reason" in reply.text


async def test_a_call_without_an_outcome_is_reported_as_such(subject: Subject) -> None:
    reply = await conversation(subject, ToolResult(f"{CALL_ID}1", ResultStatus.OK, "fine"))
    assert re.search("no recorded outcome|no outcome of `one` was recorded", reply.text.lower())


async def test_any_journal_is_accepted(subject: Subject) -> None:
    reply = await replied(
        subject,
        Summary("They spoke of the weather.", covers_to_seq=12),
        Note("Earlier parts were left out."),
        ToolResult("gone", ResultStatus.OK, "its call is out of view"),
        AssistantSaid("Good morning.", Origin("another", "model", "opaque")),
        UserSaid("", sender="Ann"),
        UserSaid("and now?", sender="Bob"),
        AssistantSaid("", Origin("openai", "sim-1", "not JSON")),
        ToolCalled(f"{CALL_ID}7", "made up.tool!", '{"cut": "of'),
        ToolResult(f"{CALL_ID}7", ResultStatus.ERROR, ""),
        Note("Use shorter arguments."),
        AssistantSaid("I give up."),
        AssistantSaid("Really."),
        UserSaid("hello again"),
    )
    assert "hello again" in reply.text


async def test_the_same_conversation_gets_the_same_text(subject: Subject) -> None:
    first, second = [await replied(subject, "hello") for _ in range(2)]
    assert first.text == second.text


async def test_replies_of_concurrent_calls_do_not_mix(subject: Subject) -> None:
    replies = await asyncio.gather(*(replied(subject, f"number {n}!") for n in range(40)))
    assert [f"number {n}!" in reply.text for n, reply in enumerate(replies)] == [True] * 40


async def test_a_reply_can_be_abandoned_halfway(subject: Subject) -> None:
    for _ in range(3):
        async with closing(
            subject.model.reply(subject.request("a few words, so that there are pieces"))
        ) as pieces:
            await anext(pieces)
    assert "hello" in (await replied(subject, "hello")).text


async def test_a_call_that_is_cancelled_ends_as_cancelled(subject: Subject) -> None:
    started = asyncio.Event()

    async def read() -> None:
        async for _ in subject.model.reply(subject.request("hello")):
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(read())
    async with asyncio.timeout(PATIENCE_S):
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert "hello" in (await replied(subject, "hello")).text
