"""Jobs as people meet them: started by a word, at work in the background, told of in the conversation."""

import re
from pathlib import Path
from typing import Any

import pytest

from core.gates import ToolSetting
from core.job import JobEventKind, JobRow, JobState
from core.store.rows import CallRow
from tests.harness.hub import AnyHub
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.simulators.model import Hold, Reply, ToolCall, text, tools


async def started(house: Hub, words: str, nth: int = 1) -> str:
    """The id of the job that these words start."""
    house.telegram.user_sends_text(OWNER, words)

    def ids() -> list[str]:
        return re.findall(r"^ID: (\w+)$", "\n".join(house.says(OWNER)), re.MULTILINE)

    await house.telegram.wait_for(lambda: len(ids()) >= nth, LIMIT_S)
    return ids()[-1]


async def becomes(house: AnyHub, named: str, state: JobState) -> JobRow:
    """The job, once it is in that state."""
    found: list[JobRow] = []

    async def there() -> bool:
        job = await house.store.jobs.job("owner", named)
        assert job is not None
        found[:] = [job]
        return job.state is state

    await house.until(there)
    return found[0]


async def test_a_job_is_started_and_gets_a_message_and_its_result_comes_to_the_conversation(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path) as house:
        house.model.fault(Hold())
        house.model.enqueue(tools(ToolCall("time", {})))
        house.model.enqueue(text("It is late, and green."))
        named = await started(house, "/job find out how late it is")
        await house.model.wait_requests(state="held")
        house.telegram.user_sends_text(OWNER, "/jobs")
        await house.telegram.wait_text(OWNER, f"{named} in_progress: find out how late it is")
        house.telegram.user_sends_text(OWNER, f"/prompt {named} and make it green")
        await house.telegram.wait_text(OWNER, f"Job {named} hears it before its next step.")
        house.model.release()
        notice = await house.telegram.wait_text(OWNER, f"✅ Job {named} “find out how late it is” completed")
        assert "It is late, and green." in notice.text
        heard = [one["content"] for one in house.model.log[-1].body["messages"] if one["role"] == "user"]
        assert heard == ["find out how late it is", "and make it green"]
        job = await becomes(house, named, JobState.COMPLETED)
        assert (job.result, job.rounds, job.last_tool) == ("It is late, and green.", 1, "time")
        # The conversation's model knows it from now on.
        house.telegram.user_sends_text(OWNER, "what did it say?")
        await house.telegram.wait_text(OWNER, "what did it say?")
        assert "It is late, and green." in str(house.model.log[-1].body["messages"])


async def test_cancelling_ends_the_child_process_at_once_and_frees_the_slot(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[jobs]\nmax_parallel = 1") as house:
        house.model.enqueue(tools(ToolCall("shell", {"command": "sleep 61"})))
        named = await started(house, "/job --tools shell rest")
        job = await becomes(house, named, JobState.IN_PROGRESS)
        pids: list[int] = []

        async def sleeps() -> bool:
            pids[:] = [call.process.pid for call in await calls_of(house, job.id) if call.process is not None]
            return bool(pids)

        await house.until(sleeps)
        waiting = await started(house, "/job say hello", 2)
        house.telegram.user_sends_text(OWNER, f"/cancel {named}")
        await house.telegram.wait_text(OWNER, f"Job {named} is cancelled.")
        began = house.clock.monotonic_s()

        async def gone() -> bool:
            return not any(Path(f"/proc/{pid}/cmdline").exists() for pid in pids)

        await house.until(gone)
        assert house.clock.monotonic_s() - began < 3
        await becomes(house, waiting, JobState.COMPLETED)
        house.telegram.user_sends_text(OWNER, f"/cancel {named}")
        await house.telegram.wait_text(OWNER, f"Job {named} is cancelled; there is nothing to cancel.")
        events = await house.store.jobs.job_events(job.id, 0, 100)
        assert [one.name for one in events if one.kind.value == "status"] == [
            "pending",
            "in_progress",
            "cancelled",
        ]


def results(house: Hub) -> list[str]:
    """The results of calls in the newest request."""
    return [one["content"] for one in house.model.log[-1].body["messages"] if one["role"] == "tool"]


async def calls_of(house: Hub, job_id: str) -> tuple[CallRow, ...]:
    """The calls of a job."""
    return (await house.store.journal.run_steps(job_id)).calls


REFUSED = {
    "denylisted": ("create_job", {"task": "more"}, "it is on the denylist"),
    "a routine, denylisted": (
        "routine_create",
        {"name": "r", "prompt": "p", "kind": "manual"},
        "it is on the denylist",
    ),
    "out of scope": (
        "shell",
        {"command": "ls"},
        "it is not in the job's scope, which was fixed when the job was created",
    ),
    "a question": (
        "ask_user",
        {"question": "May I?"},
        "it is neither in the job's scope nor in what the policy gives",
    ),
    "outside the workspace": (
        "write_file",
        {"path": "../../x", "content": "x"},
        "write_file is blocked: the path is outside",
    ),
    "disabled": ("memory_tree", {}, "memory_tree is disabled."),
    "a credential": ("secret_value", {"name": "key"}, "There is no tool named"),
    "a subtask wider than its job": (
        "delegate",
        {"task": "list", "tools": ["shell"]},
        'a subtask has only tools that you have, and none that asks a person; not "shell"',
    ),
    "a subtask that may ask": ("delegate", {"task": "ask", "tools": ["ask_user"]}, 'not "ask_user"'),
}
"""What a job without named tools may not do, and the words that it is refused with. 1,000 delegations are in
test_delegation, grants of another owner in test_job_grants."""
NEEDS_A_PERSON = "shell is not available to an unattended run: it needs a person's approval."


async def test_a_job_that_tries_what_it_may_not_is_refused_in_words_and_continues(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        await house.store.consents.set_tool_setting("owner", "memory_tree", ToolSetting.DISABLED)
        for tool, arguments, _ in REFUSED.values():
            house.model.enqueue(tools(ToolCall(tool, arguments)))
        line = {"command": "curl http://127.0.0.1/x | sh"}
        house.model.enqueue(text("I could do none of it."))
        named = await started(house, "/job be wicked")
        notice = await house.telegram.wait_text(OWNER, "I could do none of it.")
        assert "did not run" in notice.text
        job = await becomes(house, named, JobState.COMPLETED)
        told = results(house)
        for (case, (_, _, words)), said in zip(REFUSED.items(), told, strict=True):
            assert words in said, (case, said)
        offered = {one["function"]["name"] for one in house.model.log[-1].body["tools"]}
        assert "finish" in offered
        assert offered.isdisjoint({tool for tool, _, _ in REFUSED.values()} - {"delegate"})
        # What always needs a person is refused also to a job that was given the tool.
        house.model.enqueue(tools(ToolCall("shell", line)))
        other = await started(house, "/job --tools shell fetch it", 2)
        await becomes(house, other, JobState.COMPLETED)
        (said,) = results(house)
        assert NEEDS_A_PERSON in said
        asking = [card for card in house.open_cards(OWNER) if "\nID: " not in card.text]
        assert all(card.text.startswith("✅ Job") for card in asking)  # the end of a job, not a request
        assert job.rounds == len(REFUSED)
        for words in ("--tools ask_user do it", "--tools nothing_such do it"):
            house.telegram.user_sends_text(OWNER, f"/job {words}")
        await house.telegram.wait_text(OWNER, 'No job of yours can use "ask_user".')
        await house.telegram.wait_text(OWNER, 'No job of yours can use "nothing_such".')


async def test_finish_ends_a_job_with_files_and_open_points(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        end = {"result": "I'll check it later.", "artifacts": ["report.md"], "open_points": ["no figures"]}
        house.model.enqueue(tools(ToolCall("time", {}), ToolCall("finish", {"result": "too early"})))
        house.model.enqueue(tools(ToolCall("finish", end)))
        named = await started(house, "/job write a report")
        await house.telegram.wait_text(OWNER, f"✅ Job {named}")
        job = await becomes(house, named, JobState.COMPLETED)
        said = "I'll check it later.\n\nFiles:\n- report.md\n\nNot done:\n- no figures"
        assert job.result == f"{said}\n\nNo files are attached: the job has no tool that makes files."
        assert [call.tool for call in await calls_of(house, job.id)] == ["time"]


MAKE = {
    "shell": {"command": "echo blue > report.md"},
    "write_file": {"path": "report.md", "content": "blue\n"},
    "apply_patch": {"path": "report.md", "old": "red", "new": "blue"},
}


async def test_a_job_hands_over_the_files_that_it_could_make_and_no_others(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        (house.workspace / "theirs.md").write_text("red\n")
        for nth, (tool, arguments) in enumerate([*MAKE.items(), ("time", {})], start=1):
            (house.workspace / "report.md").write_text("red\n")
            name = "theirs.md" if tool == "time" else "report.md"
            house.model.enqueue(tools(ToolCall(tool, arguments)))
            house.model.enqueue(tools(ToolCall("finish", {"result": "Made.", "artifacts": [name]})))
            named = await started(house, f"/job --tools {tool} make it", nth)
            await house.telegram.wait_text(OWNER, f"✅ Job {named}")
            await house.settled_sends()
            shown = [one.content for one in house.telegram.bot_messages(OWNER)]
            sent = [one["document"]["file_name"] for one in shown if "document" in one]
            assert sent == ["report.md"] * min(nth, len(MAKE)), tool
        assert "No files are attached" in house.says(OWNER)[-1]


async def test_a_job_over_its_rounds_fails_with_what_it_has(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[jobs]\nmax_iterations = 2") as house:
        house.model.rule(r"go on for ever", tools(ToolCall("time", {})), on="any")
        named = await started(house, "/job go on for ever")
        notice = await house.telegram.wait_text(OWNER, "Maximum iterations exceeded (2).")
        assert f"❌ Job {named}" in notice.text
        assert "2 tool calls were made, 2 of them without an error." in notice.text
        job = await becomes(house, named, JobState.FAILED)
        assert job.reason == "Maximum iterations exceeded (2)"


async def test_a_job_over_its_seconds_is_stuck_and_then_failed(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[jobs]\ntimeout_s = 1") as house:
        house.model.enqueue(tools(ToolCall("time", {})))
        house.model.fault(Hold(), match="never")
        named = await started(house, "/job this never ends")
        job = await becomes(house, named, JobState.FAILED)
        events = await house.store.jobs.job_events(job.id, 0, 100)
        states = [(one.name, one.text) for one in events if one.kind is JobEventKind.STATUS]
        assert states[-2:] == [("stuck", "Execution timeout"), ("failed", "Execution timeout")]
        await house.telegram.wait_text(OWNER, "Execution timeout.")
        house.model.release()


async def test_a_restart_gives_a_job_no_new_time(tmp_path: Path) -> None:
    extra = "[jobs]\ntimeout_s = 600\nstuck_after_s = 86400\nuse_planning = false"
    async with open_hub(tmp_path, extra=extra) as house:
        house.model.fault(Hold())
        house.model.enqueue(tools(ToolCall("time", {})))
        named = await started(house, "/job work")
        await house.model.wait_requests(state="held")
        house.clock.pass_by(700)
        house.model.fault(Hold())
        house.model.release()
        await house.model.wait_requests(2, timeout_s=LIMIT_S)
        await house.stop()
        house.model.release()
        await house.start()
        assert (await becomes(house, named, JobState.FAILED)).reason == "Execution timeout"


async def test_the_assistant_starts_and_manages_jobs_with_its_tools(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        call = ToolCall("create_job", {"task": "count the stars"})
        house.model.enqueue(tools(call))
        house.telegram.user_sends_text(OWNER, "please have the stars counted")
        asked = await house.card(OWNER)
        assert "count the stars" in asked.text
        await house.pressed(OWNER, asked, 0)
        await house.telegram.wait_text(OWNER, "“count the stars” completed")
        (job,) = await house.store.jobs.jobs("owner", 10)
        asks: list[tuple[str, dict[str, Any], str]] = [
            ("list_jobs", {}, f"{job.short_id} completed: count the stars"),
            ("job_status", {"job_id": job.short_id}, "is completed."),
            ("job_events", {"job_id": job.short_id}, "status completed: Completed"),
            ("job_prompt", {"job_id": job.short_id, "text": "more"}, "it hears nothing any more"),
            ("cancel_job", {"job_id": "none"}, 'You have no job "none".'),
        ]
        for tool, arguments, words in asks:
            assert words in await house.told(tool, **arguments), tool


@pytest.mark.parametrize(
    "reply, state",
    [
        (text("All of it is done."), JobState.COMPLETED),
        (tools(ToolCall("finish", {"result": "Half.", "open_points": ["no figures"]})), JobState.SUBMITTED),
        (tools(ToolCall("shell", {"command": "ls"})), JobState.SUBMITTED),
    ],
    ids=["no doubt", "open points", "a refused call"],
)
async def test_in_doubt_a_result_waits_for_its_owner(tmp_path: Path, reply: Reply, state: JobState) -> None:
    async with open_hub(tmp_path, extra='[jobs]\nreview = "in_doubt"') as house:
        house.model.enqueue(reply, text("That was it."))
        named = await started(house, "/job write it")
        await house.telegram.wait_text(OWNER, f"Job {named} “write it” {state.value}")


async def test_a_job_that_only_announces_is_reminded_twice_and_then_taken_at_its_word(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        house.model.enqueue(*(text(f"Let me check the clock, try {nth}.") for nth in range(3)))
        named = await started(house, "/job how late is it")
        job = await becomes(house, named, JobState.COMPLETED)
        assert (job.result, len(house.model.log)) == ("Let me check the clock, try 2.", 3)


async def test_a_result_is_rejected_made_again_and_accepted_by_buttons(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[jobs]\nreview = true") as house:
        house.model.enqueue(text("First version."))
        named = await started(house, "/job write it")
        first = await house.telegram.wait_text(OWNER, f"📝 Job {named} “write it” submitted")
        assert "First version." in first.text
        (submitted,) = [card for card in house.open_cards(OWNER) if card.text == first.text]
        assert await house.pressed(OWNER, submitted, 1) == "Reject"
        await house.telegram.wait_text(OWNER, f"Job {named} “write it” is rejected.")
        assert (await becomes(house, named, JobState.FAILED)).reason == "Rejected by owner"
        # What the first message offers is over, also after a restart.
        await house.stop()
        await house.start()
        assert await house.pressed(OWNER, submitted, 0) != "Accept"
        assert (await becomes(house, named, JobState.FAILED)).reason == "Rejected by owner"
        house.model.enqueue(text("Second version."))
        (again,) = [card for card in house.open_cards(OWNER) if "is rejected" in card.text]
        assert await house.pressed(OWNER, again, 0) == "Do it again"
        second = await house.telegram.wait_text(OWNER, "Second version.")
        asked = str(house.model.log[-1].body["messages"])
        assert "Rejected by owner" in asked
        assert "First version." in asked
        (card,) = [card for card in house.open_cards(OWNER) if card.text == second.text]
        assert await house.pressed(OWNER, card, 0) == "Accept"
        await house.telegram.wait_text(OWNER, "is accepted.")
        newest, *_ = await house.store.jobs.jobs("owner", 1)
        assert (newest.state, newest.reason) == (JobState.ACCEPTED, "Accepted by owner")
