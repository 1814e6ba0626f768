"""A real agent CLI as a model: its text, its session, its limits, and that it has no tools of its own."""

import asyncio
import json
import os
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bot.config.load import load
from bot.models.cli import open_bridge
from bot.ops.model_trial import IMAGE, cli_findings
from bot.ops.probes import Health
from core.errors import ModelFault, ModelMisconfigured, ModelUnavailable
from core.model.base import ModelReply, ModelRequest, ReplyDelta
from core.model.cli import CliModel
from core.transcript import AssistantSaid, ResultStatus, Said, ToolCalled, ToolResult, UserSaid
from tests.bot.models.conftest import NAME, SECRET, Command, OpenCli
from tests.core.model.support import SHELL
from tests.harness.telegram_hub import LIMIT_S, OWNER, open_hub
from tests.patience import PATIENCE_S
from tests.plugins.profile import Profile
from tests.simulators.model import Exchange, Hold, ModelSimulator, Reply, ToolCall, tools

pytestmark = pytest.mark.cli
STOP_LIMIT_S = 30.0
"""Less than the CLI itself may take. In the proof, where nothing else has the processor: 2 s."""
BRIDGED = "mcp__hubbub__shell"
WITH_ITS_TOOLS = (
    *("-p", "--output-format", "stream-json", "--verbose", "--setting-sources", ""),
    *("--model", "{model}", "--system-prompt-file", "{system}"),
)


async def said_by(model: CliModel, *said: Said, **more: Any) -> ModelReply:
    *deltas, reply = [piece async for piece in model.reply(ModelRequest("Be kind.", said, **more))]
    assert isinstance(reply, ModelReply)
    assert "".join(one.text for one in deltas if isinstance(one, ReplyDelta)) == reply.text
    return reply


def journaled(reply: ModelReply) -> AssistantSaid:
    return AssistantSaid(reply.text, reply.origin)


def asked(simulator: ModelSimulator) -> Exchange:
    return [one for one in simulator.log.all() if one.path in ("/v1/messages", "/v1/chat/completions")][-1]


def processes_of(model: str) -> list[int]:
    """The living processes with a marker of that model."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"HUBBUB_CALL=cli-{model}-".encode() in (path / "environ").read_bytes():
                found.append(int(path.name))
    return found


@pytest.mark.slow
async def test_a_session_is_resumed_only_while_it_holds_the_thread(open_cli: OpenCli) -> None:
    async with ModelSimulator() as simulator:
        model = open_cli(simulator)
        first, second, third = UserSaid("say: one"), UserSaid("say: two"), UserSaid("say: three")
        one = await said_by(model, first)
        assert (one.text, one.stop, one.usage.output_tokens) == ("one", "end", 1)
        assert one.usage.input_tokens > 0
        two = await said_by(model, first, journaled(one), second)
        assert two.text == "two"
        body = asked(simulator).body
        assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
        assert SECRET not in str(body) + str(asked(simulator).headers)
        assert body["tools"] == []
        # Undone: the session holds more than the thread, so a new one is given the history.
        simulator.enqueue("three")
        undone = await said_by(model, first, journaled(one), third)
        assert undone.text == "three"
        body = asked(simulator).body
        assert [message["role"] for message in body["messages"]] == ["user"]
        assert "one" in str(body)
        assert "say: two" not in str(body)


async def test_a_cli_model_cannot_write_run_or_read_on_request(open_cli: OpenCli, tmp_path: Path) -> None:
    target, secret = tmp_path / "written", tmp_path / "secret"
    secret.write_text(SECRET)
    async with ModelSimulator() as simulator:
        model = open_cli(simulator)
        simulator.enqueue(
            tools(
                ToolCall("Bash", {"command": f"touch {target}", "description": "touch"}),
                ToolCall("Write", {"file_path": str(target), "content": "x"}),
                ToolCall("Read", {"file_path": str(secret)}),
            )
        )
        reply = await said_by(model, UserSaid(f"Do it. @{secret} and @../../../secret"))
        assert reply.calls == ()
        assert not target.exists()
        assert SECRET not in str([one.raw for one in simulator.log.all()])


async def test_a_cli_model_with_its_own_tools_is_refused(open_cli: OpenCli) -> None:
    async with ModelSimulator() as simulator:
        model = open_cli(simulator, arguments=WITH_ITS_TOOLS)
        with pytest.raises(ModelMisconfigured, match=r"tools of its own switched on: .*Bash") as refused:
            await said_by(model, UserSaid("hello"))
        assert refused.value.fault is ModelFault.OWN_TOOLS


@pytest.mark.slow
async def test_tools_offered_as_text_are_called_and_their_results_read(open_cli: OpenCli) -> None:
    async with ModelSimulator() as simulator:
        model = open_cli(simulator)
        written = 'I look.\n<tool_call>{"name": "shell", "arguments": {"command": "ls @x"}}</tool_call>'
        simulator.enqueue(Reply(written))
        first = UserSaid("look please")
        reply = await said_by(model, first, tools=[SHELL])
        (call,) = reply.calls
        assert (call.tool, json.loads(call.arguments)) == ("shell", {"command": "ls @x"})
        assert "Run a command." in str(asked(simulator).body["system"])
        results = ToolResult("id", ResultStatus.DENIED, "for a reason")
        called = ToolCalled("id", call.tool, call.arguments)
        done = await said_by(
            model, first, AssistantSaid("I look.", reply.origin), called, results, tools=[SHELL]
        )
        assert [message["role"] for message in asked(simulator).body["messages"]] == [
            "user",
            "assistant",
            "user",
        ]
        assert "Denied, the call was not run: for a reason" in done.text


async def test_tools_offered_over_the_bridge_are_run_by_the_hub(open_cli: OpenCli, tmp_path: Path) -> None:
    async with ModelSimulator() as simulator, open_bridge() as bridge:
        model = open_cli(simulator, bridge=bridge)
        commands = ("touch one", "touch two")
        simulator.enqueue(tools(*(ToolCall(BRIDGED, {"command": command}) for command in commands)))
        first = UserSaid("please touch them")
        reply = await said_by(model, first, tools=[SHELL])
        assert [call.tool for call in reply.calls] == ["shell", "shell"]
        assert [json.loads(call.arguments)["command"] for call in reply.calls] == [*commands]
        assert reply.usage.output_tokens > 0
        assert [one["name"] for one in asked(simulator).body["tools"]] == [BRIDGED]
        running = processes_of(NAME)
        called = [ToolCalled(f"id{n}", call.tool, call.arguments) for n, call in enumerate(reply.calls)]
        results = [
            ToolResult("id1", ResultStatus.OK, "two"),
            ToolResult("id0", ResultStatus.DENIED, "no"),
        ]
        done = await said_by(model, first, journaled(reply), *called, *results, tools=[SHELL])
        assert done.text == "Done: Denied, the call was not run: no | two"
        assert running
        assert processes_of(NAME) == []


async def test_calls_of_a_cli_model_are_approved_run_and_answered(tmp_path: Path, command: Command) -> None:
    written = ToolCall("mcp__hubbub__write_file", {"path": "a.txt", "content": "milk"})
    async with open_hub(
        tmp_path, provider="cli", model=f"command = {json.dumps(command('claude'))}"
    ) as house:
        house.model.enqueue(tools(written))
        house.telegram.user_sends_text(OWNER, "write it down")
        card = await house.card(OWNER)
        assert "content: milk" in card.text
        assert not (house.workspace / "a.txt").exists()
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_for(lambda: "Wrote 4 bytes to a.txt" in str(house.says(OWNER)), LIMIT_S)
        assert (house.workspace / "a.txt").read_text() == "milk"
        house.model.enqueue(tools(written), "I am done.")
        house.telegram.user_sends_text(OWNER, "once more")
        await house.telegram.wait_for(lambda: len(house.open_cards(OWNER)) == 1, LIMIT_S)
        await house.pressed(OWNER, house.open_cards(OWNER)[0], 1)
        await house.telegram.wait_text(OWNER, "I am done.", timeout_s=LIMIT_S)
        assert "Denied, the call was not run" in str(asked(house.model).body["messages"][-1])
        assert len(asked(house.model).body["messages"]) == 7, "one session holds it all"
        with sqlite3.connect(house.database) as database:
            rows = database.execute(
                "SELECT output_tokens, cached_input_tokens, cache_write_tokens FROM usage ORDER BY id"
            ).fetchall()
        counted = [one.counted[1:] for one in house.model.log.all() if one.state == "answered"]
        assert rows == counted
    assert processes_of("main") == []


async def test_an_image_is_passed_by_its_path(open_cli: OpenCli, tmp_path: Path) -> None:
    async with ModelSimulator() as simulator:
        await said_by(open_cli(simulator), UserSaid("look"), images=[IMAGE])
        assert "'media_type': 'image/png'" in str(asked(simulator).body)
    assert list((tmp_path / "cli" / NAME / "files").iterdir()) == []


async def test_cancelling_kills_the_cli_and_its_process_group(open_cli: OpenCli, profile: Profile) -> None:
    async with ModelSimulator() as simulator:
        simulator.fault(Hold("before_headers"))
        asking = asyncio.create_task(said_by(open_cli(simulator), UserSaid("hello")))
        await simulator.wait_requests(state="held", timeout_s=PATIENCE_S)
        running = processes_of(NAME)
        assert running
        environments = b"".join(Path(f"/proc/{pid}/environ").read_bytes() for pid in running)
        assert SECRET.encode() not in environments
        began_s = time.monotonic()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert time.monotonic() - began_s < profile.pick(test=STOP_LIMIT_S, proof=2.0)
        assert processes_of(NAME) == []


async def test_the_time_and_output_of_a_cli_are_limited(open_cli: OpenCli) -> None:
    async with ModelSimulator() as simulator:
        model = open_cli(simulator)
        cut = await said_by(model, UserSaid("write 2000 characters"), max_output_tokens=100)
        assert (len(cut.text), cut.stop) == (400, "length")
        assert cut.usage.output_tokens == 100
        # Asked for the rest by itself, the CLI is ended at once: at most when it has just done so.
        assert len(simulator.log.select(state="answered")) <= 2
        simulator.fault(Hold("before_headers"))
        with pytest.raises(ModelUnavailable, match="no reply within 1 s"):
            await said_by(open_cli(simulator, timeout_s=1), UserSaid("hello"))
        assert processes_of(NAME) == []


@pytest.mark.parametrize(
    "preset, arguments, health, message",
    [
        ("claude", (), Health.FINE, "the CLI neither wrote, ran nor read on its model's order"),
        pytest.param(
            "claude",
            (*WITH_ITS_TOOLS, "--allowed-tools", "Bash,Write"),
            Health.BROKEN,
            "tools of its own",
            marks=pytest.mark.slow,
        ),
        pytest.param("qwen", (), Health.FINE, "the CLI neither wrote", marks=pytest.mark.slow),
    ],
)
async def test_doctor_reports_a_cli_model_with_its_own_tools(
    command: Command, tmp_path: Path, preset: str, arguments: tuple[str, ...], health: Health, message: str
) -> None:
    config = tmp_path / "hubbub.toml"
    config.write_text(
        f"""[[models]]
name = "agent"
provider = "cli"
preset = "{preset}"
model = "sim-1"
command = {json.dumps(command(preset))}
arguments = {json.dumps(arguments)}
"""
    )
    loaded = load(config, environ={"PATH": os.environ["PATH"], "HOME": str(tmp_path)})
    (finding,) = await cli_findings(loaded)
    assert (finding.what, finding.health) == ("model agent", health), finding
    assert message in finding.message
