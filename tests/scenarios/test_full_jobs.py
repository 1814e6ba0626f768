"""Routines whose work is a job: dispatched once, waited for as long as it takes, told of with its result."""

import asyncio
import gc
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.app import Seams
from core.job import JobRow, JobState
from core.jobs.service import Readiness
from core.routine import RunStatus
from core.store.routine_rows import RoutineRunRow
from tests.bot.cli.in_process import command
from tests.bot.web.api_client import client
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.scenarios.routine_house import OLIVIA, desk_of, greeted
from tests.scenarios.test_job_repair import HANG, HOUR_S, PATIENT, hangs
from tests.simulators.model import Hold, ToolCall, text, tools

TASK = "Count the stars"
PRICES = "input_usd_per_million = 1000\noutput_usd_per_million = 2000\n"
"""A call costs cents."""
ACTION = {"type": "full_job", "title": "Stars", "description": TASK}


@dataclass
class Containers:
    """A ContainerProbe that finds what it is told."""

    state: Readiness = Readiness.HOST

    async def readiness(self) -> Readiness:
        return self.state


async def made(house: Hub, name: str = "sky", action: Mapping[str, Any] = ACTION, **page: Any) -> str:
    """The id of a new routine."""
    given = {"name": name, "trigger": {"type": "manual"}, "action": action, "guardrails": {"cooldown_s": 0}}
    async with client(house.directory) as api:
        status, saved = await api.ask("POST", "/api/routines", {**given, **page})
    assert status == 200, saved
    return saved["id"]


async def fires(house: Hub, routine_id: str) -> None:
    async with client(house.directory) as api:
        status, told = await api.ask("POST", f"/api/routines/{routine_id}/fire")
    assert status == 200, told


async def runs_in(house: Hub, routine_id: str, *states: RunStatus) -> list[RoutineRunRow]:
    """The routine's runs, newest first, once they are in these states."""
    found: list[RoutineRunRow] = []

    async def there() -> bool:
        found[:] = await house.store.run_views.routine_runs(routine_id, 10)
        return tuple(run.state for run in found) == states

    await house.until(there)
    return found


async def jobs_of(house: Hub) -> list[JobRow]:
    return list(await house.store.jobs.jobs(None, 100))


async def test_a_run_lasts_until_its_job_is_over_and_reports_its_result(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[jobs]\nmax_iterations = 7\nreview = true") as house:
        await greeted(house)
        house.model.fault(Hold())
        house.model.enqueue(text("There are 9,096."))
        sky = await made(house, guardrails={"cooldown_s": 0, "timeout_s": 10, "daily_runs": 5})
        await fires(house, sky)
        await house.model.wait_requests(state="held")
        (run,) = await runs_in(house, sky, RunStatus.RUNNING)
        (job,) = await jobs_of(house)
        assert (run.job_id, job.routine_id, job.owner_id) == (job.id, sky, "owner")
        assert (job.title, job.budget.iterations, job.thread_id) == ("Stars", 25, None)
        assert "Job of the routine “sky”" in job.task
        # It is in no hub's hand: the next one knows it by its job.
        await house.stop()
        house.model.release()
        house.model.enqueue(text("There are 9,096."))
        await house.start()
        notice = await house.telegram.wait_text(OWNER, "Routine “sky” has something for you")
        assert "There are 9,096." in notice.text
        (run,) = await runs_in(house, sky, RunStatus.ATTENTION)
        (job,) = await jobs_of(house)
        assert (run.job_id, job.state) == (job.id, JobState.COMPLETED)
        assert run.input_tokens == job.input_tokens > 0
        assert sum("sky" in said for said in house.says(OWNER)) == 1
        asked = [one for one in house.model.log if TASK in str(one.body)][-1].body["messages"]
        assert 'the routine "sky"' in str(asked)
        assert "A person asked for this run." in str(asked)


async def test_a_job_with_nothing_to_report_is_silent_and_remembers(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        await greeted(house)
        sky = await made(house)
        house.model.rule(TASK, text("ROUTINE_OK\nROUTINE_STATE:\n9,096 so far"))
        await fires(house, sky)
        await runs_in(house, sky, RunStatus.OK)
        await fires(house, sky)
        await runs_in(house, sky, RunStatus.OK, RunStatus.OK)
        assert "9,096 so far" in str(house.model.log[-1].body)
        assert house.says(OWNER) == ["You said: hi"]


async def test_a_job_that_fails_fails_its_run_with_the_reason(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        await greeted(house)
        house.model.rule(TASK, tools(ToolCall("time", {})))
        house.model.rule(TASK, tools(ToolCall("time", {})), on="tool")
        sky = await made(house, action={**ACTION, "max_iterations": 2})
        await fires(house, sky)
        (run,) = await runs_in(house, sky, RunStatus.FAILED)
        notice = await house.telegram.wait_text(OWNER, "Routine “sky” failed")
        assert "Maximum iterations exceeded (2)" in notice.text
        assert "Maximum iterations exceeded (2)" in (run.error or "")
        house.model.reset()
        house.model.fault(Hold())
        await fires(house, sky)
        await house.model.wait_requests(state="held")
        job, _ = await jobs_of(house)
        house.telegram.user_sends_text(OWNER, f"/cancel {job.short_id}")
        run, _ = await runs_in(house, sky, RunStatus.FAILED, RunStatus.FAILED)
        assert run.error == "Cancelled by its owner."


async def test_a_stuck_job_is_repaired_and_its_run_waits(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra=PATIENT) as house:
        await greeted(house)
        house.model.rule(TASK, tools(HANG))
        house.model.rule(TASK, text("Counted."), on="tool")
        sky = await made(
            house,
            action={**ACTION, "allowed_tools": ["shell"]},
            guardrails={"cooldown_s": 0, "timeout_s": 10},
        )
        await fires(house, sky)
        await hangs(house, 1)
        house.clock.pass_by(2 * HOUR_S + 60)
        (run,) = await runs_in(house, sky, RunStatus.ATTENTION)
        (job,) = await jobs_of(house)
        assert (job.repair_attempts, run.job_id, run.attempts) == (1, job.id, 1)
        notice = await house.telegram.wait_text(OWNER, "Routine “sky” has something for you")
        assert "Counted." in notice.text
        assert "shell was interrupted" in notice.text
        assert (house.workspace / "out.txt").read_text() == "line\n"


async def test_deleting_a_routine_cancels_its_job(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        house.model.fault(Hold())
        sky = await made(house)
        await fires(house, sky)
        await house.model.wait_requests(state="held")
        async with client(house.directory) as api:
            await api.ask("DELETE", f"/api/routines/{sky}")
        (job,) = await jobs_of(house)
        assert (job.state, job.reason) == (JobState.CANCELLED, "Its routine was deleted")


async def test_jobs_run_one_at_a_time_and_no_more_than_the_day_allows(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        await greeted(house)
        house.model.fault(Hold())
        sky = await made(house, guardrails={"cooldown_s": 0, "daily_tokens": 40})
        await fires(house, sky)
        await house.model.wait_requests(state="held")
        await fires(house, sky)
        await runs_in(house, sky, RunStatus.WAITING, RunStatus.RUNNING)
        assert len(await jobs_of(house)) == 1
        house.model.release()
        skipped, first = await runs_in(house, sky, RunStatus.SKIPPED, RunStatus.ATTENTION)
        assert first.input_tokens + first.output_tokens >= 40
        assert "its daily limit is 40" in (skipped.error or "")
        assert len(await jobs_of(house)) == 1


async def test_the_cooldown_begins_with_the_end_of_the_job(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        await greeted(house)
        house.model.fault(Hold(), match=TASK)
        trigger = {"type": "event", "pattern": "^go"}
        sky = await made(house, trigger=trigger, guardrails={"cooldown_s": 300})
        ended, rested = RunStatus.ATTENTION, RunStatus.SKIPPED
        for nth, ends in enumerate(([RunStatus.RUNNING], [rested, ended], [ended, rested, ended])):
            house.telegram.user_sends_text(OWNER, f"go {nth}")
            await house.telegram.wait_text(OWNER, f"You said: go {nth}")
            await runs_in(house, sky, *ends)
            if nth == 0:
                await house.model.wait_requests(state="held")
            house.clock.pass_by(301)
            if nth == 0:  # its job took longer than the cooldown
                house.model.release()
                await runs_in(house, sky, RunStatus.ATTENTION)
                await house.telegram.wait_text(OWNER, "has something for you")


async def test_the_daily_budget_holds_for_the_job_and_for_the_next_run(tmp_path: Path) -> None:
    async with open_hub(tmp_path, model=PRICES) as house:
        await greeted(house)
        house.model.rule(TASK, tools(ToolCall("time", {})))
        house.model.rule(TASK, tools(ToolCall("time", {})), on="tool")
        sky = await made(house, guardrails={"cooldown_s": 0, "daily_budget_micro_usd": 250_000})
        await fires(house, sky)
        (run,) = await runs_in(house, sky, RunStatus.FAILED)
        (job,) = await jobs_of(house)
        assert job.reason == "Stopped: the routine has reached its daily cost limit."
        assert (job.budget.day_micro_usd, run.cost_micro_usd) == (250_000, job.cost_micro_usd)
        assert 0 < job.rounds < 25
        await house.telegram.wait_text(OWNER, "Routine “sky” will not run until tomorrow")
        await fires(house, sky)
        await runs_in(house, sky, RunStatus.SKIPPED, RunStatus.FAILED)
        assert len(await jobs_of(house)) == 1


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
async def test_the_notice_brings_the_files_that_the_job_hands_over(tmp_path: Path, *, told: bool) -> None:
    """Without a notice, they are named on the page of the job, and by command."""
    async with open_hub(tmp_path) as house:
        await greeted(house)
        write = ToolCall("write_file", {"path": "report.md", "content": "9,096\n"})
        house.model.rule(TASK, tools(write))
        finish = ToolCall("finish", {"result": "Counted.", "artifacts": ["report.md"]})
        house.model.rule(TASK, tools(finish), on="tool")
        action = {**ACTION, "allowed_tools": ["write_file"], "grants": ["write_file report.md"]}
        sky = await made(house, action=action, notify={"on_attention": told})
        await fires(house, sky)
        if told:
            await house.telegram.wait_text(OWNER, "Counted.")
        else:
            await runs_in(house, sky, RunStatus.ATTENTION)
        await house.settled_sends()
        shown = [one.content for one in house.telegram.bot_messages(OWNER)]
        sent = [one["document"]["file_name"] for one in shown if "document" in one]
        assert sent == (["report.md"] if told else [])
        await runs_in(house, sky, RunStatus.ATTENTION)
        (job,) = await jobs_of(house)
        async with client(house.directory) as api:  # the console's page of the job shows them, too
            (file,) = (await api.get(f"/api/jobs/{job.short_id}/parts"))["files"]
            shown = await asyncio.to_thread(command, tmp_path, "jobs", "show", job.short_id)
            assert "files: report.md" in shown.out
            if not told:
                assert (file["name"], file["url"]) == ("report.md", None)
                return
            key = {"Authorization": f"Bearer {api.token}"}
            async with api.http.get(api.url + file["url"], headers=key) as answer:
                assert (file["name"], await answer.text()) == ("report.md", "9,096\n")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_full_job_in_a_container_never_works_on_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    action = {**ACTION, "sandbox": "."}
    async with open_hub(tmp_path, extra="[sandbox]\nenabled = true", start=False) as house:
        await house.serve(Seams(clock=house.clock, probe=Containers(Readiness.READY)))
        await greeted(house)
        asked = len(house.model.log)
        sky = await made(house, action=action)
        await fires(house, sky)
        (run,) = await runs_in(house, sky, RunStatus.FAILED)
        (job,) = await jobs_of(house)
        assert (job.project, job.state, len(house.model.log)) == (".", JobState.FAILED, asked)
        assert (run.error or "").startswith("no Docker daemon answers; install and start Docker")
        async with client(house.directory) as api:
            page = {"name": "out", "trigger": {"type": "manual"}, "action": {**ACTION, "sandbox": "../out"}}
            assert await api.refusal("POST", "/api/routines", page) == (422, "unusable", "action")
        # The hub's own look at Docker refuses every one of them, also one for the host.
        await house.stop()
        await house.start()
        host = await made(house, "host")
        for routine, before in ((sky, [RunStatus.FAILED]), (host, [])):
            await fires(house, routine)
            refused, *_ = await runs_in(house, routine, RunStatus.FAILED, *before)
            assert (refused.job_id, "Docker does not answer" in (refused.error or "")) == (None, True)
        assert len(await jobs_of(house)) == 1
    gc.collect()  # the SDK leaves sockets that could not connect


async def test_a_full_job_in_a_container_is_refused_when_it_is_saved_if_containers_are_off(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path) as house, client(house.directory) as api:
        page = {"name": "sky", "trigger": {"type": "manual"}, "action": {**ACTION, "sandbox": "."}}
        assert await api.refusal("POST", "/api/routines", page) == (422, "unusable", "action")


async def test_the_assistant_creates_a_routine_whose_work_is_a_job(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        page = {"name": "sky", "prompt": TASK, "kind": "manual", "full_job": "Stars", "max_iterations": 9}
        house.model.enqueue(tools(ToolCall("routine_create", page)))
        house.model.enqueue(text("Made."))
        house.telegram.user_sends_text(OWNER, "have the stars counted by a routine")
        await house.pressed(OWNER, await house.card(OWNER), 0)
        await house.telegram.wait_text(OWNER, "Made.")
        (row,) = await desk_of(house).listed(OLIVIA)
        assert json.loads(row.text.definition)["action"] == {**ACTION, "max_iterations": 9}
        house.model.rule(TASK, text("There are 9,096."))
        await fires(house, row.id)
        await house.telegram.wait_text(OWNER, "There are 9,096.")
        (job,) = await jobs_of(house)
        assert (job.routine_id, job.budget.iterations) == (row.id, 9)


async def test_unreachable_containers_refuse_every_full_job(tmp_path: Path) -> None:
    containers = Containers(Readiness.UNREACHABLE)
    async with open_hub(tmp_path, start=False) as house:
        await house.serve(Seams(clock=house.clock, probe=containers))
        await greeted(house)
        sky = await made(house)
        for number, (state, ends) in enumerate(
            (
                (Readiness.UNREACHABLE, RunStatus.FAILED),
                (Readiness.HOST, RunStatus.ATTENTION),
                (Readiness.READY, RunStatus.ATTENTION),
            )
        ):
            containers.state = state
            await fires(house, sky)
            before = [RunStatus.ATTENTION] * (number - 1) + [RunStatus.FAILED] * min(number, 1)
            run, *_ = await runs_in(house, sky, ends, *before)
            assert len(await jobs_of(house)) == number
            assert (run.job_id is None) is (state is Readiness.UNREACHABLE)
        notice = await house.telegram.wait_text(OWNER, "Routine “sky” failed", timeout_s=LIMIT_S)
        assert "Docker does not answer, so no job was started." in notice.text
        assert "sandbox status" in notice.text


async def test_full_jobs_are_refused_when_they_are_saved_if_jobs_are_off(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[jobs]\nenabled = false") as house, client(house.directory) as api:
        page = {"name": "sky", "trigger": {"type": "manual"}, "action": ACTION}
        assert await api.refusal("POST", "/api/routines", page) == (422, "unusable", "action.type")
        draft = await api.ask("POST", "/api/routine-drafts", {"definition": page})
        assert [one["field"] for one in draft[1]["problems"]] == ["action.type"]


async def test_a_full_job_with_an_unknown_tool_is_refused_when_it_is_saved(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house, client(house.directory) as api:
        unknown = {**ACTION, "allowed_tools": ["telescope"]}
        page = {"name": "sky", "trigger": {"type": "manual"}, "action": unknown}
        assert await api.refusal("POST", "/api/routines", page) == (422, "unusable", "action")
