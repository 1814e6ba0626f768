"""Jobs that are stuck are taken up again, a few times at most; healthy ones are left alone, however old."""

from pathlib import Path

from core.clock import SECOND_US
from core.job import JobEventKind, JobRow, JobState
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.scenarios.test_jobs import becomes, started
from tests.simulators.model import Hold, ToolCall, text, tools

HOUR_S = 3600.0
ROUNDS = 51
TWO_DAYS = "timeout_s = 172800"
PATIENT = f"[jobs]\n{TWO_DAYS}\n\n[approvals]\ntool_timeouts = {{ shell = 3600 }}"
"""Its calls may take an hour: five minutes later a job that waits for one is stuck."""
HANG = ToolCall("shell", {"command": "echo line >> out.txt; sleep 99999", "timeout_s": 3600})


async def hangs(house: Hub, nth: int) -> None:
    """Wait until the line ran for the nth time."""
    out = house.workspace / "out.txt"

    async def there() -> bool:
        return out.exists() and len(out.read_text().split()) == nth

    await house.until(there)


async def states_of(house: Hub, job: JobRow) -> list[tuple[str, str]]:
    events = await house.store.jobs.job_events(job.id, 0, 500)
    return [(one.name, one.text) for one in events if one.kind is JobEventKind.STATUS][2:]


async def test_a_job_hung_in_a_tool_is_repaired_three_times_and_then_fails_with_what_it_has(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path, extra=PATIENT) as house:
        house.model.rule(r"hang", tools(HANG), on="any")
        named = await started(house, "/job --tools shell hang")
        job = await becomes(house, named, JobState.IN_PROGRESS)
        used = [0]
        for nth in range(1, 5):
            await hangs(house, nth)
            used.append((await becomes(house, named, JobState.IN_PROGRESS)).input_tokens)
            house.clock.pass_by(HOUR_S + 360)
        job = await becomes(house, named, JobState.FAILED)
        silent = "No sign of life from shell for 1 h 5 min"
        again = [
            change
            for nth in range(1, 4)
            for change in (("stuck", silent), ("in_progress", f"Taken up again: repair {nth} of 3"))
        ]
        assert await states_of(house, job) == [
            *again,
            ("stuck", silent),
            ("failed", f"{silent}, after 3 repairs"),
        ]
        assert job.repair_attempts == 3
        # What it used is never reset.
        assert sorted(set(used)) == used
        assert job.input_tokens == used[-1]
        # Each call acted once; the model knows that the outcome is unknown, and made another one.
        assert len((house.workspace / "out.txt").read_text().split()) == 4
        told = [one["content"] for one in house.model.log[-1].body["messages"] if one["role"] == "tool"]
        assert len(told) == 3
        assert all("whether it took effect was not recorded" in one for one in told)
        notice = await house.telegram.wait_text(OWNER, "after 3 repairs.")
        assert "tool calls were made" in notice.text
        assert "shell was interrupted. It may or may not have taken effect" in notice.text


async def test_a_job_hung_in_a_model_call_is_repaired_three_times_and_then_fails_with_what_it_has(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path, extra=f"[jobs]\n{TWO_DAYS}") as house:
        house.model.enqueue(tools(ToolCall("time", {}), text="I have looked at the clock."))
        house.model.fault(Hold())
        named = await started(house, "/job hang")
        await house.model.wait_requests(state="held")
        house.model.fault(Hold(), times=None)
        house.model.release()
        job = await becomes(house, named, JobState.IN_PROGRESS)
        used = [0]
        for nth in range(4):
            await house.model.wait_requests(state="held", after=nth + 1)
            used.append((await becomes(house, named, JobState.IN_PROGRESS)).input_tokens)
            house.clock.pass_by(16 * 60)
        job = await becomes(house, named, JobState.FAILED)
        assert [name for name, _ in await states_of(house, job)] == [
            *["stuck", "in_progress"] * 3,
            "stuck",
            "failed",
        ]
        assert job.reason == "No sign of life from its model for 15 min 0 s, after 3 repairs"
        assert job.repair_attempts == 3
        assert sorted(used) == used
        assert job.input_tokens >= used[-1] > 0
        notice = await house.telegram.wait_text(OWNER, "after 3 repairs.")
        assert "I have looked at the clock.\n\n1 tool calls were made, 1 of them" in notice.text


async def test_a_healthy_job_is_left_alone_however_old_it_is(tmp_path: Path) -> None:
    async with open_hub(
        tmp_path, extra=f"[jobs]\n{TWO_DAYS}\nmax_iterations = 60\nstuck_after_s = 1200"
    ) as house:
        house.model.fault(Hold(), times=ROUNDS)
        for nth in range(ROUNDS):
            house.model.enqueue(tools(ToolCall("echo", {"text": f"{nth}"})))
        house.model.enqueue(text("A long day."))
        named = await started(house, "/job work all day")
        for nth in range(ROUNDS):
            await house.model.wait_requests(state="held", after=nth)
            house.clock.pass_by(HOUR_S * 0.48)
            house.model.release()
        job = await becomes(house, named, JobState.COMPLETED)
        assert (job.result, job.repair_attempts, job.rounds) == ("A long day.", 0, ROUNDS)
        assert job.started_at is not None
        assert job.ended_at is not None
        assert job.ended_at - job.started_at >= 24 * HOUR_S * SECOND_US
