"""`shell`: what a command may see, the text to return, and that nothing of it outlives the call."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidArguments, StaleTurn, ToolFailed, ToolTimeout
from core.safety.fencing import ResultLimits
from core.tool import Data, Effect, ProcessInfo, Requirement, Tool
from core.tools.builtin.shell import safe_environment, shell_tool
from core.tools.execution import run_call
from core.tools.processes import end_process
from core.transcript import ResultStatus
from tests.clock import ManualClock
from tests.core.tools.processes_support import carriers, is_alive, until
from tests.core.tools.support import Call, place, run
from tests.patience import PATIENCE_S

ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/home/olivia",
    "LC_ALL": "C.UTF-8",
    "API_TOKEN": "hunter2",
}


@cache
def shell() -> Tool:
    """One for all calls on this machine."""
    return shell_tool(ENVIRONMENT)


def shell_of(call: Call) -> Tool:
    """The tool that works where the call does."""
    return shell_tool(ENVIRONMENT, commands=call.commands) if call.commands else shell()


@pytest.fixture
def call(tmp_path: Path) -> Call:
    return Call(workspace=place(tmp_path), idempotency_key=str(uuid.uuid4()))


async def sh(call: Call, command: str, **more: Any) -> str:
    return await run(shell_of(call), {"command": command, **more}, call)


# --- the text to return ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command,said",
    [
        ("echo hello", "exit code: 0\nhello\n"),
        ("echo out; echo err >&2; echo out", "exit code: 0\nout\nerr\nout\n"),
        ("exit 3", "exit code: 3\n"),
        ("no-such-program-here", "exit code: 127\n"),
        ("kill -9 $$", "exit code: 137\nhubbub: /bin/"),
        ("printf 'a\\377b'", "exit code: 0\na\ufffdb"),
    ],
)
async def test_exit_code_and_output_come_back(command: str, said: str, call: Call) -> None:
    assert (await sh(call, command)).startswith(said)


async def test_a_command_runs_in_the_workspace_and_its_effects_stay(call: Call, tmp_path: Path) -> None:
    assert await sh(call, "pwd; echo line >> notes.txt") == f"exit code: 0\n{tmp_path.resolve()}\n"
    assert (tmp_path / "notes.txt").read_text() == "line\n"


async def test_bash_is_what_runs_because_bash_is_what_is_judged(call: Call) -> None:
    assert await sh(call, "[[ abc =~ b ]] && echo $'\\x62ash'") == "exit code: 0\nbash\n"


async def test_a_command_has_no_input(call: Call) -> None:
    assert await sh(call, "cat; read x; echo $?") == "exit code: 0\n1\n"


async def test_long_output_keeps_its_beginning_and_end(call: Call) -> None:
    text = await sh(call, "seq 1 200000")
    assert text.startswith("exit code: 0\n1\n2\n")
    assert text.endswith("\n199999\n200000\n")
    assert "bytes omitted" in text
    assert len(text) < 66_000


async def test_a_missing_workspace_is_reported(call: Call) -> None:
    call.workspace = place(call.workspace.root / "missing")
    for line in ("ls", "ls; (ls)"):
        with pytest.raises((InvalidArguments, ToolFailed), match=r"he workspace .*missing is not"):
            await sh(call, line)


async def test_a_nul_character_is_reported(call: Call) -> None:
    with pytest.raises(ToolFailed, match="NUL"):
        await sh(call, "echo a\0b")


# --- what it sees -------------------------------------------------------------------------------------


async def test_a_command_sees_no_secret_of_the_hub(call: Call) -> None:
    seen = (await sh(call, "env")).splitlines()
    assert not [line for line in seen if "hunter2" in line or "API_TOKEN" in line]
    assert {"HOME=/home/olivia", "LC_ALL=C.UTF-8", f"HUBBUB_CALL={call.idempotency_key}"} <= set(seen)


def test_only_harmless_names_pass() -> None:
    names = [
        "PATH",
        "HOME",
        "LC_TIME",
        "AWS_SECRET_ACCESS_KEY",
        "SSH_AUTH_SOCK",
        "http_proxy",
        "LD_PRELOAD",
        "LINEAR_API_KEY",
        "PYTHONPATH",
    ]
    kept = safe_environment(dict.fromkeys(names, "x"))
    assert set(names) & set(kept) == {"PATH", "HOME", "LC_TIME"}
    assert safe_environment({})["PATH"]


# --- what it declares ---------------------------------------------------------------------------------


def test_the_tool_asks_has_an_effect_and_reaches_everything(tmp_path: Path) -> None:
    tool = shell()
    assert (tool.requirement, tool.effect, tool.data) == (Requirement.ASK, Effect.EFFECT, Data.SHARED)


@pytest.mark.parametrize(
    "command,requirement,pattern,is_blocked",
    [
        ("rm -rf build", Requirement.ALWAYS_ASK, None, False),
        ("rm -rf /", Requirement.ALWAYS_ASK, None, True),
        ("ls | sh", Requirement.ALWAYS_ASK, None, False),
        ("ls $HOME", Requirement.ALWAYS_ASK, None, False),
    ],
)
def test_the_risk_of_a_call_is_that_of_its_command_line(
    command: str, requirement: Requirement, pattern: str | None, is_blocked: bool, tmp_path: Path
) -> None:
    tool = shell()
    assert tool.plan is not None
    risk = tool.plan(tool.validate({"command": command}), place(tmp_path)).risk
    assert (risk.requirement, risk.pattern, risk.blocked is not None) == (requirement, pattern, is_blocked)


@pytest.mark.parametrize(
    "arguments", [{}, {"command": ""}, {"command": "ls", "timeout_s": 0}, {"command": "ls", "timeout_s": 1.5}]
)
def test_arguments_that_make_no_sense_are_refused(arguments: Mapping[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidArguments):
        shell().validate(arguments)


# --- nothing outlives the call ------------------------------------------------------------------------


async def test_background_processes_end_with_the_command(call: Call) -> None:
    said = await sh(call, "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000; :' &); echo started")
    assert said == "exit code: 0\nstarted\n"
    assert carriers(call.idempotency_key) == []


async def test_a_command_over_its_time_ends_and_its_output_is_returned(call: Call) -> None:
    for limit_s in (1, 8, 60):  # a busy machine may not have come to the first word by then
        with pytest.raises(ToolTimeout) as stopped:
            await sh(call, "echo before; setsid sleep 1000 & sleep 1000; echo after", timeout_s=limit_s)
        if "before" in str(stopped.value):
            assert str(stopped.value) == f"Stopped after {limit_s} s. Output so far:\nbefore\n"
            break
    else:
        raise AssertionError("never said")
    assert carriers(call.idempotency_key) == []


async def test_the_deadline_of_the_call_counts_too(call: Call) -> None:
    call.deadline_s = 4.0  # the tool ends a tenth of it before; on a busy machine the call is faster
    limits = ResultLimits()
    arguments = {"command": "sleep 1000", "timeout_s": 60}
    result = await run_call("c1", shell_of(call), arguments, call, ManualClock(), limits)
    assert result.status is ResultStatus.ERROR
    assert "was stopped" in result.text
    assert carriers(call.idempotency_key) == []


async def started(call: Call, tmp_path: Path, command: str) -> "asyncio.Task[str]":
    """A call whose command has begun and stays."""
    running = asyncio.create_task(sh(call, f"{command}; touch ready; sleep 1000"), name="call")
    await until((tmp_path / "ready").exists, "the command has begun")
    return running


async def test_a_cancelled_call_ends_its_processes_before_it_returns(call: Call, tmp_path: Path) -> None:
    running = await started(call, tmp_path, "setsid sleep 1000 & sleep 1000 & true")
    assert len(carriers(call.idempotency_key)) >= 3
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert carriers(call.idempotency_key) == []


async def test_a_command_that_ignores_signals_is_ended_anyway(call: Call, tmp_path: Path) -> None:
    deaf = "trap '' TERM INT HUP"
    running = await started(call, tmp_path, f'{deaf}; set -m; sh -c "{deaf}; sleep 1000" & true')
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert carriers(call.idempotency_key) == []


async def test_cancelling_twice_still_ends_everything(call: Call, tmp_path: Path) -> None:
    running = await started(call, tmp_path, "setsid sleep 1000 & true")
    running.cancel()
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert carriers(call.idempotency_key) == []


async def test_many_calls_end_only_their_own(tmp_path: Path) -> None:
    calls = [Call(workspace=place(tmp_path), idempotency_key=str(uuid.uuid4())) for _ in range(8)]
    said = await asyncio.gather(*(sh(one, f"sleep 1000 & echo {n}") for n, one in enumerate(calls)))
    assert said == [f"exit code: 0\n{n}\n" for n in range(8)]


async def test_no_descriptor_is_left_open(call: Call) -> None:
    await sh(call, "true")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await sh(call, "sleep 1000 &")
    assert len(os.listdir("/proc/self/fd")) <= before


# --- the start gate -----------------------------------------------------------------------------------


class RefusingCall(Call):
    """The hub may not write to the turn any more."""

    async def process_started(self, process: ProcessInfo) -> None:
        await super().process_started(process)
        raise StaleTurn("the turn has ended")


async def test_a_command_that_cannot_be_recorded_never_begins(tmp_path: Path) -> None:
    call = RefusingCall(workspace=place(tmp_path), idempotency_key=str(uuid.uuid4()))
    with pytest.raises(StaleTurn):
        await sh(call, "touch it-ran")
    assert not (tmp_path / "it-ran").exists()
    assert not is_alive(call.processes[0].pid)


class LookingCall(Call):
    """Looks at the workspace in the moment the child is recorded."""

    async def process_started(self, process: ProcessInfo) -> None:
        await super().process_started(process)
        assert is_alive(process.pid)
        assert os.getpgid(process.pid) == process.process_group
        assert not (self.workspace.root / "it-ran").exists()


async def test_the_child_is_recorded_before_the_command_begins(tmp_path: Path) -> None:
    call = LookingCall(workspace=place(tmp_path), idempotency_key=str(uuid.uuid4()))
    assert await sh(call, "touch it-ran") == "exit code: 0\n"
    assert len(call.processes) == 1
    assert (tmp_path / "it-ran").exists()


HUB = """
import asyncio, json, os, pathlib, signal, sys
from dataclasses import asdict, dataclass
from core.tool import Workspace
from core.tools.builtin.shell import shell_tool

@dataclass
class Call:
    workspace: Workspace
    idempotency_key: str
    principal: object = None
    thread_id: str = "t1"
    deadline_s: float = 60

    def shows(self, output):
        pass

    async def process_started(self, process):
        print(json.dumps(asdict(process)), flush=True)
        if sys.argv[4] == "before":
            os.kill(os.getpid(), signal.SIGKILL)

tool, work = shell_tool(dict(os.environ)), pathlib.Path(sys.argv[1])
call = Call(Workspace(work, work / "results"), sys.argv[2])
asyncio.run(tool.run(call, tool.validate({"command": sys.argv[3]})))
"""


def hub(tmp_path: Path, call_id: str, command: str, dies: str) -> tuple["subprocess.Popen[str]", ProcessInfo]:
    """A hub of its own that runs one command; and the child it recorded."""
    process = subprocess.Popen(
        [sys.executable, "-c", HUB, str(tmp_path), call_id, command, dies],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert process.stdout is not None
    with process.stdout as out:
        recorded = json.loads(out.readline())
    return process, ProcessInfo(**recorded)


async def test_a_hub_that_dies_before_the_gate_opens_leaves_no_effect(tmp_path: Path) -> None:
    call_id = str(uuid.uuid4())
    process, child = hub(tmp_path, call_id, "touch it-ran", dies="before")
    assert process.wait(timeout=PATIENCE_S) == -signal.SIGKILL
    await until(lambda: not is_alive(child.pid), "the child has gone by itself")
    assert carriers(call_id) == []
    assert not (tmp_path / "it-ran").exists()


async def test_a_later_hub_ends_what_a_killed_one_left_running(tmp_path: Path) -> None:
    call_id = str(uuid.uuid4())
    command = "setsid sleep 1000 & sleep 1000 & touch ready; sleep 1000; touch it-ran"
    process, child = hub(tmp_path, call_id, command, dies="later")
    await until((tmp_path / "ready").exists, "the command has begun")
    process.kill()
    process.wait()
    await until(lambda: not is_alive(child.pid), "the leader has gone with the hub")
    await until(lambda: len(carriers(call_id)) == 1, "what left its group is all that stays")
    assert await end_process(child, call_id)
    assert carriers(call_id) == []
    assert not (tmp_path / "it-ran").exists()
    assert not await end_process(child, call_id)
