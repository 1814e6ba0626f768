"""Agent CLIs in containers: the real programs, whose models are the hub's."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from core.job import JobEventKind, JobState
from tests.bot.sandbox.test_container_jobs import house_with, running
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
    async with house_with(tmp_path, agent_image, SETTINGS, memory_mb=1024) as house:
        wait = "echo begun > begun.txt; while [ ! -e go ]; do sleep 0.1; done; sed -i 's/a - b/a + b/' add.py"
        house.model.enqueue(tools(bash(agent, wait)), match="mend add")
        house.model.enqueue(text("I mended add."), on="tool")
        house.model.enqueue(text("It is green."), match="make it green")
        named = await started(house, f"/job --sandbox=app --mode={agent} mend add")
        container = await running(house)
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
        assert (job.rounds, job.mode) == (1, agent)
        assert job.input_tokens > 0
        events = [(one.kind, one.name, one.text) for one in await house.store.jobs.job_events(job.id, 0, 100)]
        assert [name for kind, name, _ in events if kind is JobEventKind.TOOL_USE] == [SHELLS[agent][0]]
        said = [words for kind, name, words in events if kind is JobEventKind.MESSAGE]
        assert said == ["mend add", "I mended add.", "make it green", "It is green."]
