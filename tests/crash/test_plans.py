"""A job with a plan is started, and the hub is killed: the same plan goes on at its next step."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.crash.points import parse_commit_point
from tests.crash.test_jobs import the_job, times
from tests.simulators.model import Hold, Reply, ToolCall, text, tools

PLANNING = Setup(extra="[jobs]\nuse_planning = true\n")
ASK_PLAN, ASK_COMPLETION = "Answer with a plan", "Every step of the plan was made"
FINISHED = tools(ToolCall("finish", {"result": "It is done."}))
WRITE_A, WRITE_B = "echo a >> out.txt", "echo b >> out.txt"
WRITES_B = tools(ToolCall("shell", {"command": WRITE_B}))


def plan(*commands: str) -> Reply:
    actions = [{"tool": "shell", "parameters": {"command": command}} for command in commands]
    return text(json.dumps({"goal": "get it done", "actions": actions, "confidence": 0.8}))


def steps(*numbers: int) -> tuple[str, ...]:
    """The commits of the calls with these numbers."""
    units = ("record_reply_and_intents", "finish_calls")
    return tuple(f"{unit}:{number}" for number in numbers for unit in units)


def running(*numbers: int) -> tuple[str, ...]:
    """The commits of calls as they run."""
    return tuple(f"{unit}:{number}" for number in numbers for unit in ("mark_running", "record_process"))


@dataclass(frozen=True, slots=True)
class Story:
    """A job's plan, the commits, and what the model answers by what it is asked.

    `writes`: what the calls that run write, in order; empty where one writes nothing."""

    plan: Reply
    commits: tuple[str, ...]
    writes: tuple[str, ...]
    answers: Mapping[str, Reply] = field(default_factory=lambda: {ASK_COMPLETION: FINISHED})
    message: str = ""
    state: str = "completed"


STORIES = {
    "whole": Story(
        plan(WRITE_A, WRITE_B),
        (
            *("accept_event:1", "begin_jobs:1", "begin_plan:1", "join_job_messages:3", "end_job:1"),
            *(*steps(1, 2), *running(1, 2)),
        ),
        ("a", "b"),
    ),
    "at once": Story(
        plan(WRITE_A),
        ("begin_plan:1", *steps(1), *running(1), "end_job:1"),
        ("a",),
        answers={ASK_COMPLETION: text("The job is complete.")},
    ),
    "refused": Story(
        plan("curl http://127.0.0.1/x | sh", WRITE_B),
        ("begin_plan:1", *steps(1, 2), *running(1), "end_job:1"),
        ("b",),
    ),
    "failing": Story(
        plan("ls nowhere", WRITE_B),
        ("begin_plan:1", *steps(1, 2), *running(1, 2), "end_job:1"),
        ("", "b"),
    ),
    "unfinished": Story(
        plan(WRITE_A),
        ("begin_plan:1", *steps(1, 2), *running(1, 2), "end_plan:1", "end_job:1"),
        ("a", "b"),
        answers={ASK_COMPLETION: text("b is not written yet."), "Remaining work": WRITES_B},
    ),
    "unusable": Story(
        text("First I would look around."),
        ("end_plan:1", *steps(1), *running(1), "end_job:1"),
        ("b",),
        answers={"get it done": WRITES_B},
    ),
    "interrupted": Story(
        plan(WRITE_A),
        ("begin_plan:1", "join_job_messages:2", *steps(1), *running(1), "end_job:1"),
        ("b",),
        answers={"better write b": WRITES_B},
        message="/prompt {named} better write b",
    ),
    "stopped": Story(
        plan(WRITE_A, WRITE_B),
        ("end_job:1",),
        (),
        message="/cancel {named}",
        state="cancelled",
    ),
}
QUICK = {("whole", "mark_running:1:after")}


@pytest.mark.parametrize(
    "named, point",
    [
        pytest.param(name, point, marks=[] if (name, point) in QUICK else [pytest.mark.slow])
        for name, story in STORIES.items()
        for commit in story.commits
        for point in (f"{commit}:before", f"{commit}:after")
    ],
)
async def test_killed_at_this_point_a_plan_goes_on_at_its_next_step(
    tmp_path: Path, named: str, point: str
) -> None:
    story = STORIES[named]
    async with open_mortal_hub(tmp_path, PLANNING) as town:
        town.model.rule(ASK_COMPLETION, FINISHED, on="user")
        for asked, answer in story.answers.items():
            town.model.rule(asked, answer, on="user")
        town.model.rule(ASK_PLAN, story.plan, on="user")
        town.model.rule(".*", FINISHED, on="tool")
        hub = await town.start(parse_commit_point(point))
        if story.message:
            town.model.fault(Hold())
        town.owner_says("/job --tools shell get it done")
        if story.message:
            await say_while_held(town, story.message)
        await hub.wait(LIMIT_S)
        town.model.clear_faults()
        await town.start()
        await town.telegram.wait_for(lambda: times(town, f"“get it done” is {story.state}") == 1, LIMIT_S)
        if story.state == "completed":
            await town.telegram.wait_text(OWNER, "“get it done” completed", timeout_s=LIMIT_S)
        await town.account()
        job = await the_job(town)
        await town.stop()
        assert job["state"] == story.state
        judge(town, story, point)


async def say_while_held(town: MortalHub, message: str) -> None:
    """Say it to the job while its model is asked for a plan."""
    shown = await town.telegram.wait_text(OWNER, "ID: ", timeout_s=LIMIT_S)
    (job,) = re.findall(r"^ID: (\w+)$", shown.text, re.MULTILINE)
    await town.model.wait_requests(state="held")
    town.owner_says(message.format(named=job))
    if message.startswith("/prompt"):
        await town.telegram.wait_for(lambda: times(town, "hears it") == 1, LIMIT_S)
        town.model.release()


def judge(town: MortalHub, story: Story, point: str) -> None:
    """Every call has acted once; one that was cut short may not have acted. The plan was asked for once."""
    unit, nth, side = point.split(":")
    path = town.workspace / "out.txt"
    lines = path.read_text().split() if path.exists() else []
    replanned = side == "before" and unit in {"begin_plan", "end_plan"} and story.plan == plan(WRITE_A)
    writes = ("a",) if replanned and story.message else story.writes  # the message was heard before the plan
    certain = list(writes)
    if unit == "record_process" or (unit, side) == ("mark_running", "after"):
        certain.pop(int(nth) - 1)
    assert [line for line in lines if line in certain] == [line for line in certain if line]
    if unit == "mark_running":
        assert lines == [line for line in certain if line]
    assert len(lines) == len(set(lines))
    assert set(lines) <= set(writes)
    kept = (unit, side) not in {("begin_plan", "before"), ("end_plan", "before")}
    if story.state == "completed" and kept and unit not in {"accept_event", "begin_jobs"}:
        assert len([one for one in town.model.log.all() if ASK_PLAN in one.user_text]) == 1
