"""Agent CLIs: when a session is resumed, and how the output is read."""

import itertools
import json
from pathlib import Path

import pytest

from core.errors import ModelMisconfigured, ModelReplyInvalid
from core.model.base import ModelReply, ModelRequest
from core.model.cli import CliModel, presets
from core.model.cli_exchange import CliOutput
from core.model.provider import REPLY_LIMIT_CHARS
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
from tests.core.model.support import SHELL, collect
from tests.simulators.agent_cli import AgentCli


def model_of(cli: AgentCli, directory: Path, name: str = "agent") -> CliModel:
    names = itertools.count()
    return CliModel(
        presets()["claude"],
        name=name,
        model="sim-1",
        base_url="",
        api_key="",
        directory=directory,
        environment={},
        launch=cli.launch,
        timeout_s=60,
        new_name=lambda: f"file-{next(names)}",
    )


HELLO, MORE, OTHER = UserSaid("hello"), UserSaid("and more"), UserSaid("something else")


async def replied(model: CliModel, *said: Said) -> ModelReply:
    return (await collect(model, ModelRequest("Be kind.", said)))[1]


def written(reply: ModelReply) -> AssistantSaid:
    return AssistantSaid(reply.text, reply.origin)


@pytest.mark.parametrize(
    "change, resumes",
    [
        ("none", True),
        ("restart", True),
        ("undo", False),
        ("redo", True),
        ("edit", False),
        ("compaction", False),
        ("fallback", False),
        ("cut", False),
        ("redacted", False),
        ("another thread", False),
    ],
)
async def test_a_session_is_resumed_only_while_it_holds_the_threads_live_entries(
    tmp_path: Path, change: str, resumes: bool
) -> None:
    cli = AgentCli()
    model = model_of(cli, tmp_path)
    one = await replied(model, HELLO)
    two = await replied(model, HELLO, written(one), MORE)
    assert list(cli.sessions) == ["session-0"]
    thread: list[Said] = [HELLO, written(one), MORE, written(two)]
    match change:
        case "restart":
            model = model_of(cli, tmp_path)
        case "undo":
            thread = thread[:2]
        case "edit":
            thread[0] = OTHER
        case "compaction":
            thread[:2] = [Summary("They greeted.", 2)]
        case "fallback":
            thread += [OTHER, AssistantSaid("No.", Origin("openai", "sim-2"))]
        case "cut":
            cli.cuts = True
            with pytest.raises(ModelReplyInvalid):
                await replied(model, *thread, OTHER)
        case "redacted":
            thread[3] = AssistantSaid("[secret]", two.origin)
        case "another thread":
            await replied(model, *thread, OTHER)
        case _:
            pass
    started = len(cli.starts)
    third = await replied(model, *thread, OTHER)
    assert ("--resume" in cli.starts[started].command) is resumes
    told = cli.sessions[json.loads(third.origin.opaque)["session"]][-1]
    assert told.endswith("something else")
    assert ("The conversation so far" in told) is not resumes
    assert all(one.ended for one in cli.starts)


async def test_calls_written_as_text_and_their_results_stay_in_the_session(tmp_path: Path) -> None:
    cli = AgentCli()
    model = model_of(cli, tmp_path)
    first = UserSaid("please run: ls")
    (_, reply) = await collect(model, ModelRequest("", [first], [SHELL]))
    (call,) = reply.calls
    said = [AssistantSaid("", reply.origin), ToolCalled("id", call.tool, call.arguments)]
    done = await replied(model, first, *said, ToolResult("id", ResultStatus.OK, "a.txt"), Note("Time."))
    assert cli.sessions["session-0"][1].startswith('[Result of your call of shell {"command": "ls"}]\na.txt')
    assert "a.txt" in done.text


@pytest.mark.parametrize("text", ["see @/etc/passwd", "/init", "!ls", "#note"])
async def test_no_message_is_a_command_to_the_cli(tmp_path: Path, text: str) -> None:
    cli = AgentCli()
    await replied(model_of(cli, tmp_path), UserSaid(text))
    (told,) = cli.sessions["session-0"]
    assert told[0].isalnum()
    assert "@" not in told
    assert json.loads(told.partition("\n")[2]) == text


@pytest.mark.parametrize("first", [None, {"type": "system", "subtype": "init", "tools": ["Bash"]}])
def test_a_cli_that_lists_its_own_tools_or_no_list_at_all_is_refused(first: object) -> None:
    output = CliOutput("agent", {"mcp__hubbub__shell": "shell"})
    result = {"type": "result", "result": "done"}
    with pytest.raises(ModelMisconfigured):
        output.add(json.dumps([first, result] if first else [result]).encode())


def test_whole_json_output_is_read() -> None:
    output = CliOutput("agent", {})
    init = {"type": "system", "subtype": "init", "session_id": "s", "tools": []}
    result = {"type": "result", "result": "done", "usage": {"input_tokens": 3, "output_tokens": 2}}
    assert output.add(json.dumps([init, result]).encode()) == "done"
    spoken = output.take()
    assert spoken is not None
    assert (spoken.text, spoken.usage.input_tokens, output.session, output.ended) == ("done", 3, "s", True)


def test_the_output_is_limited() -> None:
    output = CliOutput("agent", {})
    output.add(json.dumps({"type": "system", "subtype": "init", "tools": []}).encode())
    piece = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x" * REPLY_LIMIT_CHARS}}
    line = json.dumps({"type": "stream_event", "event": piece}).encode()
    output.add(line)
    with pytest.raises(ModelReplyInvalid, match=f"more than {REPLY_LIMIT_CHARS} characters"):
        output.add(line)
