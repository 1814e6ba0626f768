"""Agent CLIs in containers: the real programs, whose models are the hub's."""

import asyncio
import time
from functools import partial
from pathlib import Path

import pytest

from core.job import JobEventKind, JobState
from tests.bot.cli.in_process import command
from tests.bot.sandbox.test_container_jobs import (
    containers,
    granted,
    house_with,
    none_left,
    press,
    running,
)
from tests.harness.images import run
from tests.harness.telegram_hub import LIMIT_S, OWNER
from tests.scenarios.test_jobs import becomes, started
from tests.simulators.model import ToolCall, text, tools

pytestmark = [
    pytest.mark.docker,
    pytest.mark.cli,
    pytest.mark.slow,
    pytest.mark.timeout(300),
]
SETTINGS = 'agents = ["claude", "qwen"]'
SHELLS = {"claude": ("Bash", {}), "qwen": ("run_shell_command", {"is_background": False})}


def bash(agent: str, command: str) -> ToolCall:
    name, more = SHELLS[agent]
    return ToolCall(name, {"command": command, "description": "Work on it", **more})


@pytest.mark.parametrize("agent", SHELLS)
async def test_an_agent_works_by_the_hubs_models_over_a_restart_and_hears_a_message(
    tmp_path: Path, agent_image: str, agent: str
) -> None:
    async with house_with(tmp_path, agent_image, SETTINGS, memory_mb=4096) as house:
        wait = "echo begun > begun.txt; while [ ! -e go ]; do sleep 0.1; done; sed -i 's/a - b/a + b/' add.py"
        house.model.enqueue(tools(bash(agent, wait)), match="mend add")
        house.model.enqueue(tools(bash(agent, "echo again")), on="tool")
        house.model.rule("", text("It is green."), on="tool")
        house.model.rule("make it green", text("It is green."))
        named = await started(house, f"/job --sandbox=app --mode={agent} mend add")
        container = await running(house)
        await house.model.wait_requests(timeout_s=LIMIT_S)  # the program is large, and slow to start
        begun = next((tmp_path / "data" / "containers").iterdir()) / "project" / "begun.txt"
        await house.until(partial(asyncio.to_thread, begun.exists))
        house.telegram.user_sends_text(OWNER, f"/prompt {named} make it green")
        await house.telegram.wait_text(OWNER, f"Job {named} hears it before its next step.")
        await house.stop()
        run("docker", "exec", container, "touch", "/workspace/go")
        await house.start()
        notice = await house.telegram.wait_text(OWNER, "It is green.", timeout_s=LIMIT_S)
        assert "+    return a + b" in notice.text
        job = await becomes(house, named, JobState.SUBMITTED)
        assert (job.rounds, job.mode) == (2, agent)
        calls = house.model.log.all()
        assert job.input_tokens == sum(one.counted[0] for one in calls)
        assert "make it green" in str(calls[-1].body)
        events = [(one.kind, one.name, one.text) for one in await house.store.jobs.job_events(job.id, 0, 100)]
        assert [name for kind, name, _ in events if kind is JobEventKind.TOOL_USE] == [SHELLS[agent][0]] * 2
        said = [words for kind, _, words in events if kind is JobEventKind.MESSAGE]
        assert (said[0], said[-1], "make it green" in said) == ("mend add", "It is green.", True)


async def test_an_agent_is_stopped_by_its_budget_and_gets_no_secret_without_a_grant(
    tmp_path: Path, agent_image: str, quickly_s: float
) -> None:
    settings = f"{SETTINGS}\n[jobs]\nmax_tokens = 60_000"
    async with house_with(tmp_path, agent_image, settings, memory_mb=4096) as house:
        value = "correct-horse-battery"
        use = "with-credential deploy-key sh -c 'printf %s \"$DEPLOY_KEY\" | wc -c'"
        house.model.rule("", tools(bash("claude", use)), on="any")
        first = await started(house, "/job --sandbox --mode=claude deploy it")
        job = await becomes(house, first, JobState.FAILED)
        notice = await house.telegram.wait_text(OWNER, "credential deploy-key", timeout_s=LIMIT_S)
        assert job.reason == "Token budget of 60000 exceeded"
        calls = house.model.log.all()
        assert len(calls) == 3
        assert job.input_tokens == sum(one.counted[0] for one in calls)
        assert "has no grant for the secret deploy-key" in str(calls[1].body)
        assert containers(house) == []
        await asyncio.to_thread(
            command, house.directory, "secrets", "set", "deploy-key", stdin=value.encode()
        )
        press(house, notice, "Allow for this job")
        await house.until(lambda: granted(house))
        house.model.rule("", tools(bash("claude", "while :; do sleep 1; done")), on="tool")
        press(house, notice, "Do it again")
        await house.model.wait_requests(len(calls) + 2, state="answered", timeout_s=LIMIT_S)
        (second,) = await house.store.jobs.jobs("owner", 1)
        assert str(len(value)) in house.model.log[len(calls) + 1].tool_results[-1]
        house.telegram.user_sends_text(OWNER, f"/cancel {second.short_id}")
        await house.telegram.wait_text(OWNER, f"Job {second.short_id} is cancelled.")
        began = time.monotonic()
        await house.until(lambda: none_left(house))
        assert time.monotonic() - began < quickly_s
        assert value not in str([one.body for one in house.model.log.all()])
