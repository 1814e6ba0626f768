"""Plans of jobs: carried out whole, left for a message, refused, unusable; and what follows the last step."""

import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from core.gates import ToolSetting
from core.job import JobState, PlanState
from core.transcript import ResultStatus, ToolResult
from tests.bot.web.api_client import client
from tests.core.tools.processes_support import shells_in, until
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.scenarios.test_jobs import becomes, calls_of, started
from tests.simulators.model import Hold, HttpError, Reply, ToolCall, text, tools

PLANNING = "[jobs]\nuse_planning = true\n"
WAIT = "sleep 61"
"""A line that runs until the test ends it, wherever it runs."""
FINISHED = tools(ToolCall("finish", {"result": "All of it is written."}))
INTERRUPTED = "Plan interrupted by user message, re-evaluating…"


def shell(command: str) -> dict[str, Any]:
    return {"tool": "shell", "parameters": {"command": command}, "reasoning": f"so that {command} is done"}


def plan(*actions: dict[str, Any], confidence: object = 0.8) -> str:
    return json.dumps({"goal": "get it done", "actions": actions, "confidence": confidence})


WRITES = [shell(f"echo {number} >> out.txt") for number in range(3)]


def out(house: Hub) -> list[str]:
    path = house.workspace / "out.txt"
    return path.read_text().split() if path.exists() else []


async def events_of(house: Hub, job_id: str) -> list[tuple[str, str]]:
    """The kinds and texts of a job's events."""
    return [(one.kind.value, one.text) for one in await house.store.jobs.job_events(job_id, 0, 200)]


def heard(house: Hub, number: int, role: str) -> list[str]:
    """The texts of one role in a request to the model."""
    body = house.model.log.all()[number].body
    return [one["content"] for one in body["messages"] if one["role"] == role and one["content"]]


async def statuses(house: Hub, job_id: str) -> list[ResultStatus]:
    said = (await house.store.journal.run_steps(job_id)).said
    return [one.status for one in said if isinstance(one, ToolResult)]


@contextlib.asynccontextmanager
async def during_first_step(house: Hub, words: str) -> AsyncIterator[str]:
    """A job that these words start, by its id, while `WAIT` of its plan runs: until the end of the block."""
    named = await started(house, words)
    await until(lambda: bool(shells_in(house.workspace)), "the first step began")
    yield named
    for pid in shells_in(house.workspace):
        with contextlib.suppress(ProcessLookupError):  # the job was cancelled
            os.kill(pid, signal.SIGTERM)


async def test_a_plan_is_carried_out_whole_without_a_model_call_between_its_steps(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=PLANNING, model="max_temperature = 2.0") as house:
        house.model.enqueue(text(f"```json\n{plan(*WRITES)}\n```"))
        house.model.enqueue(FINISHED)
        named = await started(house, "/job --tools shell write three lines")
        job = await becomes(house, named, JobState.COMPLETED)
        assert out(house) == ["0", "1", "2"]
        asked, question = (one.body for one in house.model.log.all())
        assert (asked["temperature"], asked["max_tokens"], asked.get("tools")) == (0.3, 2048, None)
        assert [one["function"]["name"] for one in question["tools"]] == ["finish"]
        assert (job.result, job.rounds) == ("All of it is written.", 3)
        shown = "Plan: get it done\nConfidence: 80%\n1. shell: so that echo 0 >> out.txt is done"
        events = await events_of(house, job.id)
        assert [words for kind, words in events if kind == "message" and words.startswith(shown)]
        monitor = await house.telegram.wait_text(OWNER, "is completed.\n")
        assert "Plan: get it done (80% confidence)" in monitor.text
        # No reservation of a call that was not made is left.
        counted = [one.counted or () for one in house.model.log.all()]
        assert job.input_tokens + job.output_tokens == sum(sum(tokens) for tokens in counted)


async def test_calls_are_counted_by_the_step_of_a_plan(tmp_path: Path) -> None:
    part = {"tool": "delegate", "parameters": {"task": "count the stars"}, "reasoning": "to know"}
    async with open_hub(tmp_path, extra=PLANNING) as house, client(tmp_path) as api:
        house.model.enqueue(text(plan(WRITES[0], part)), text("There are nine."), FINISHED)
        named = await started(house, "/job --tools shell,delegate count the stars and note it")
        job = await becomes(house, named, JobState.COMPLETED)
        counted = {one.counted[:2] for one in house.model.log.all()}
        rows = (await api.get("/api/usage?by=step"))["rows"]
        assert {row["name"] for row in rows} == {
            f"{job.short_id} {job.title}: {step}" for step in ("plan", "step 2", "check")
        }
        assert {(row["input_tokens"], row["output_tokens"]) for row in rows} == counted


async def test_clear_words_end_a_job_after_its_plan(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=PLANNING) as house:
        house.model.enqueue(text(plan(WRITES[0])), text("The job is complete: a line was written."))
        named = await started(house, "/job --tools shell write one line")
        job = await becomes(house, named, JobState.COMPLETED)
        assert job.result == "The job is complete: a line was written."
        assert len(house.model.log) == 2


async def test_work_that_is_left_after_a_plan_is_listed_and_the_question_leaves_no_trace(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path, extra=PLANNING) as house:
        house.model.enqueue(text(plan(WRITES[0])), text("The second line is not done yet."))
        house.model.enqueue(tools(ToolCall("shell", {"command": "echo second >> out.txt"})), FINISHED)
        named = await started(house, "/job --tools shell write two lines")
        job = await becomes(house, named, JobState.COMPLETED)
        assert out(house) == ["0", "second"]
        assert any(
            "Remaining work: The second line is not done yet." in one for one in heard(house, 2, "user")
        )
        body = json.dumps(house.model.log.all()[2].body["messages"])
        assert "Every step of the plan was made" not in body
        assert "The second line is not done yet." not in "".join(heard(house, 2, "assistant"))
        assert ("status", "Plan completed but job needs more work, continuing…") in await events_of(
            house, job.id
        )
        assert job.plan_state is PlanState.ENDED


async def test_a_message_ends_the_plan_before_its_next_step(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=PLANNING) as house:
        house.model.enqueue(text(plan(shell(WAIT), *WRITES)), FINISHED)
        async with during_first_step(house, "/job --tools shell write three lines") as named:
            house.telegram.user_sends_text(OWNER, f"/prompt {named} better not")
            await house.telegram.wait_text(OWNER, f"Job {named} hears it before its next step.")
        job = await becomes(house, named, JobState.COMPLETED)
        assert out(house) == []
        assert "better not" in heard(house, 1, "user")[-1]
        assert "shell" in {one["function"]["name"] for one in house.model.log.all()[1].body["tools"]}
        assert ("status", INTERRUPTED) in await events_of(house, job.id)


async def test_a_message_while_the_plan_is_made_ends_it_before_its_first_step(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=PLANNING) as house:
        house.model.enqueue(text(plan(*WRITES)), FINISHED)
        house.model.fault(Hold())
        named = await started(house, "/job --tools shell write three lines")
        await house.model.wait_requests(state="held")
        house.telegram.user_sends_text(OWNER, f"/prompt {named} better not")
        await house.telegram.wait_text(OWNER, f"Job {named} hears it before its next step.")
        house.model.release()
        job = await becomes(house, named, JobState.COMPLETED)
        assert out(house) == []
        assert ("status", INTERRUPTED) in await events_of(house, job.id)


async def test_cancelling_stops_a_plan_at_once(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=PLANNING) as house:
        house.model.enqueue(text(plan(shell(WAIT), *WRITES)))
        async with during_first_step(house, "/job --tools shell write three lines") as named:
            house.telegram.user_sends_text(OWNER, f"/cancel {named}")
            await becomes(house, named, JobState.CANCELLED)
        await started(house, "/job say hello", 2)
        await house.telegram.wait_text(OWNER, "“say hello” completed")
        assert out(house) == []


UNUSABLE = {
    "no JSON": (text("First I would look around."), "it is not JSON"),
    "broken JSON": (text('{"goal": "g", "actions": [}'), "it is not valid JSON"),
    "no actions": (text('{"goal": "g", "confidence": 1}'), "it does not have the form that was asked for"),
    "too sure": (text(plan(WRITES[0], confidence=1.5)), "it does not have the form that was asked for"),
    "nothing to do": (text(plan()), "it has no steps"),
    "unknown tool": (text(plan({"tool": "teleport"})), '"teleport" is not available to this job'),
    "out of scope": (
        text(plan({"tool": "write_file", "parameters": {"path": "out.txt", "content": "outside"}})),
        '"write_file" is not available to this job',
    ),
    "too many steps": (text(plan(*WRITES)), "it has 3 steps, and at most 2 are allowed"),
    "cut off": (Reply(plan(WRITES[0]), finish="length"), "it is too long"),
    "a call": (tools(ToolCall("shell", {"command": "echo called >> out.txt"})), "it is not JSON"),
}


@pytest.mark.parametrize("case", UNUSABLE)
async def test_an_unusable_plan_leaves_the_usual_rounds_and_no_trace_for_the_model(
    tmp_path: Path, case: str
) -> None:
    reply, reason = UNUSABLE[case]
    async with open_hub(tmp_path, extra=f"{PLANNING}max_iterations = 3\n") as house:
        house.model.enqueue(reply)
        house.model.rule("try it", FINISHED)
        named = await started(house, "/job --tools shell try it")
        job = await becomes(house, named, JobState.COMPLETED)
        assert out(house) == []
        assert await calls_of(house, job.id) == ()
        body = house.model.log[-1].body
        assert [one["content"] for one in body["messages"] if one["role"] != "system"] == ["try it"]
        said = [words for kind, words in await events_of(house, job.id) if "No usable plan" in words]
        assert said == [f"No usable plan, working without one: {reason}"]


async def test_a_provider_that_refuses_to_plan_leaves_the_usual_rounds(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=PLANNING) as house:
        house.model.fault(HttpError(400), match="try it")
        house.model.rule("try it", FINISHED)
        named = await started(house, "/job --tools shell try it")
        job = await becomes(house, named, JobState.COMPLETED)
        assert job.plan is None


async def test_a_refused_and_a_failing_step_are_results_and_the_next_step_runs(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=PLANNING) as house:
        nothing = {"tool": "read_file", "parameters": {"path": "nowhere.txt"}}
        steps = [shell("curl http://127.0.0.1/x | sh"), nothing, WRITES[0]]
        house.model.enqueue(text(plan(*steps)), FINISHED)
        named = await started(house, "/job --tools shell,read_file fetch it")
        job = await becomes(house, named, JobState.COMPLETED)
        assert await statuses(house, job.id) == [ResultStatus.DENIED, ResultStatus.ERROR, ResultStatus.OK]
        assert out(house) == ["0"]
        notice = await house.telegram.wait_text(OWNER, f"✅ Job {named}")
        assert "shell did not run" in notice.text
        assert len(house.model.log) == 2


async def test_a_step_is_judged_by_the_rules_in_force_when_it_runs(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=PLANNING) as house:
        write = {"tool": "write_file", "parameters": {"path": "late.txt", "content": "x"}}
        house.model.enqueue(text(plan(shell(WAIT), write)), FINISHED)
        async with during_first_step(house, "/job --tools shell,write_file write a file") as named:
            await house.store.consents.set_tool_setting("owner", "write_file", ToolSetting.DISABLED)
        job = await becomes(house, named, JobState.COMPLETED)
        assert await statuses(house, job.id) == [ResultStatus.OK, ResultStatus.DENIED]
        assert not (house.workspace / "late.txt").exists()
