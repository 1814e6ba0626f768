"""A job is started, and the hub is killed: it goes on where it was, acts once, hears all of it, ends once."""

import asyncio
import contextlib
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crash.entry import SPEED
from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.crash.points import parse_commit_point
from tests.simulators.model import Hold

SLOW = pytest.mark.slow
LINE = "please run: echo line >> out.txt"


def as_part(line: str) -> str:
    """A task whose subtask is to run the line, and not the job itself."""
    return 'please call: delegate {"task": "' + line.replace("please run", "please\\u0020run") + '"}'


PART = as_part(LINE)


async def the_job(town: MortalHub) -> dict[str, Any]:
    (job,) = json.loads(await town.command("jobs", "list", "--json"))
    return job


def times(town: MortalHub, text: str) -> int:
    """Return how many messages to the owner have that text."""
    return sum(text in message.text for message in town.shown_to(OWNER))


@pytest.mark.parametrize(
    "point, known",
    [
        pytest.param("accept_event:1:before", True, marks=SLOW),  # nothing is kept: it comes again
        pytest.param("accept_event:1:after", True, marks=SLOW),  # the job is saved and not started
        pytest.param("begin_jobs:1:before", True, marks=SLOW),
        pytest.param("begin_jobs:1:after", True, marks=SLOW),
        pytest.param("join_job_messages:1:after", True, marks=SLOW),
        pytest.param("record_reply_and_intents:1:before", True, marks=SLOW),
        pytest.param("record_reply_and_intents:1:after", True, marks=SLOW),
        pytest.param("mark_running:1:before", True, marks=SLOW),
        pytest.param("mark_running:1:after", False, marks=SLOW),  # it might have run
        pytest.param("finish_calls:1:before", False, marks=SLOW),  # it has run, and nobody knows
        pytest.param("finish_calls:1:after", True, marks=SLOW),
        pytest.param("end_job:1:before", True, marks=SLOW),  # its last words are there, and nobody knows
        pytest.param("end_job:1:after", True, marks=SLOW),  # it has ended, and nobody was told
        pytest.param("show_jobs:1:before", True, marks=SLOW),
        pytest.param("show_jobs:1:after", True, marks=SLOW),
        pytest.param("show_jobs:2:after", True, marks=SLOW),  # its message is to be changed
    ],
)
async def test_killed_at_this_point_a_job_acts_once_and_its_end_is_told_once(
    tmp_path: Path, point: str, known: bool
) -> None:
    await acts_once(tmp_path, LINE, point, known=known)


@pytest.mark.parametrize(
    "point, known",
    [
        pytest.param("record_reply_and_intents:1:after", True, marks=SLOW),
        pytest.param("begin_subtask:1:before", True, marks=SLOW),
        pytest.param("begin_subtask:1:after", True, marks=SLOW),
        pytest.param("record_reply_and_intents:2:before", True, marks=SLOW),
        pytest.param("record_reply_and_intents:2:after", True, marks=SLOW),
        pytest.param("mark_running:1:before", True, marks=SLOW),
        pytest.param("mark_running:1:after", False, marks=SLOW),
        pytest.param("record_process:1:before", False, marks=SLOW),
        pytest.param("record_process:1:after", False, marks=SLOW),
        ("finish_calls:1:before", False),  # the subtask has acted, and nobody knows
        pytest.param("finish_calls:1:after", True, marks=SLOW),
        pytest.param("end_subtask:1:before", True, marks=SLOW),
        pytest.param("end_subtask:1:after", True, marks=SLOW),  # its result is there, and its run lacks it
        pytest.param("finish_calls:2:before", True, marks=SLOW),
        pytest.param("finish_calls:2:after", True, marks=SLOW),
        pytest.param("reserve_call:1:before", True, marks=SLOW),
        pytest.param("reserve_call:1:after", True, marks=SLOW),
        pytest.param("end_job:1:before", True, marks=SLOW),
        pytest.param("end_job:1:after", True, marks=SLOW),
    ],
)
async def test_killed_at_this_point_a_subtask_acts_once_and_its_run_has_its_result(
    tmp_path: Path, point: str, known: bool
) -> None:
    await acts_once(tmp_path, PART, point, known=known)


@pytest.mark.parametrize(
    "task", [pytest.param(str, marks=SLOW, id="job"), pytest.param(as_part, id="subtask")]
)
async def test_killed_inside_the_tool_its_outcome_is_unknown_and_it_is_not_run_again(
    tmp_path: Path, task: Callable[[str], str]
) -> None:
    await acts_once(tmp_path, task(f"{LINE} && sleep 60"), None, known=False)


async def test_killed_as_a_turn_is_stopped_its_subtask_ends_with_it(tmp_path: Path) -> None:
    async with open_mortal_hub(tmp_path) as town:
        hub = await town.start(parse_commit_point("accept_event:2:after"))
        town.model.rule("count the bags", "There are three.", on="any", fault=Hold())
        town.owner_says(r'please call: delegate {"task": "count\u0020the bags"}')
        await town.model.wait_requests(state="held", timeout_s=LIMIT_S)
        town.owner_says("/stop")  # it is kept that the turn is to stop, and no more
        await hub.wait(LIMIT_S)
        assert unended(town) == [("chat", "running"), ("subtask", "running")]
        await town.start()
        town.owner_says("say: on we go")
        await town.telegram.wait_text(OWNER, "on we go", timeout_s=LIMIT_S)
        await town.account()
        await town.stop()
        assert not unended(town)


def unended(town: MortalHub) -> list[tuple[str, str]]:
    """Return the kinds and states of runs that have not ended, read beside the hub."""
    path = f"file:{town.directory / 'data' / 'hub.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
        return database.execute(
            "SELECT kind, state FROM runs WHERE ended_at IS NULL ORDER BY kind"
        ).fetchall()


async def acts_once(directory: Path, task: str, point: str | None, *, known: bool) -> None:
    """A job is killed at that point, None for inside its tool, and ends once. `known`: what it did is known
    after that."""
    async with open_mortal_hub(directory) as town:
        hub = await town.start(None if point is None else parse_commit_point(point))
        town.owner_says(f"/job --tools shell {task}")
        if point is None:
            async with asyncio.timeout(LIMIT_S):
                while not (town.workspace / "out.txt").exists():  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.01)
            await town.kill()
        else:
            await hub.wait(LIMIT_S)
        await town.start()
        notice = await town.telegram.wait_text(OWNER, "” completed", timeout_s=LIMIT_S)
        await town.telegram.wait_for(lambda: times(town, "is completed.\n") == 1, LIMIT_S)
        assert times(town, "\nID: ") == 1  # the message that shows it is the one of before
        await town.account()
        job = await the_job(town)
        results = [one["content"] for one in town.model.log[-1].body["messages"] if one["role"] == "tool"]
        await town.stop()
        assert job["state"] == "completed"
        out = town.workspace / "out.txt"
        lines = out.read_text().split() if out.exists() else []
        if point is None or known or "finish" in point:
            assert lines == ["line"]
        elif "record_process" in point:
            assert lines in (["line"], [])
        else:
            assert lines == []
        assert ("shell was interrupted" in notice.text) is not known
        assert times(town, "” completed") == 1
        (result,) = results  # exactly one, of its call or of its subtask
        assert ("interrupted" in result or "Outcome unknown" in result) is not known


@pytest.mark.parametrize(
    "point",
    [
        "join_job_messages:2:before",
        pytest.param("join_job_messages:2:after", marks=SLOW),
        pytest.param("end_job:1:before", marks=SLOW),
    ],
)
async def test_killed_at_this_point_a_job_hears_each_message_once_and_in_order(
    tmp_path: Path, point: str
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        hub = await town.start(parse_commit_point(point))
        town.model.fault(Hold())
        town.owner_says("/job wait for me")
        shown = await town.telegram.wait_text(OWNER, "ID: ", timeout_s=LIMIT_S)
        (named,) = re.findall(r"^ID: (\w+)$", shown.text, re.MULTILINE)
        await town.model.wait_requests(state="held")
        wishes = [f"wish {number}" for number in range(20)]
        for number, wish in enumerate(wishes, start=1):
            town.owner_says(f"/prompt {named} {wish}")
            await town.telegram.wait_for(lambda number=number: times(town, "hears it") >= number, LIMIT_S)
        town.model.release()
        await hub.wait(LIMIT_S)
        town.model.clear_faults()
        await town.start()
        await town.telegram.wait_text(OWNER, "wait for me” completed", timeout_s=LIMIT_S)
        heard = [one["content"] for one in town.model.log[-1].body["messages"] if one["role"] == "user"]
        await town.stop()
        assert "\n\n".join(heard).split("\n\n") == ["wait for me", *wishes]


@pytest.mark.slow
@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("button, state", [(0, "accepted"), (1, "failed")])
async def test_killed_as_its_owner_judges_it_a_job_is_judged_once(
    tmp_path: Path, button: int, state: str, side: str
) -> None:
    async with open_mortal_hub(tmp_path, Setup(extra="[jobs]\nreview = true\n")) as town:
        hub = await town.start(parse_commit_point(f"accept_event:2:{side}"))
        town.owner_says("/job write it")
        shown = await town.telegram.wait_text(OWNER, "write it” submitted", timeout_s=LIMIT_S)
        town.telegram.user_presses_button(OWNER, shown.id, button)
        await hub.wait(LIMIT_S)
        await town.start()
        word = "accepted" if state == "accepted" else "rejected"
        await town.telegram.wait_text(OWNER, f"write it” is {word}.", timeout_s=LIMIT_S)
        await town.account()
        job = await the_job(town)
        await town.stop()
        assert job["state"] == state
        assert times(town, f"write it” is {word}.") == 1


@pytest.mark.slow
@pytest.mark.parametrize("point", ["repair_job:1:before", "repair_job:1:after"])
async def test_killed_as_a_stuck_job_is_taken_up_again_it_acts_once_and_its_end_is_told_once(
    tmp_path: Path, point: str
) -> None:
    extra = "[jobs]\ntimeout_s = 172800\nstuck_after_s = 60\n\n[approvals]\ntool_timeouts = { shell = 60 }\n"
    async with open_mortal_hub(tmp_path, Setup(extra=extra)) as town:
        (town.directory / SPEED).write_text("60")  # it is stuck after two seconds; its call has a minute
        hub = await town.start(parse_commit_point(point))
        line = json.dumps({"command": f"{LINE.removeprefix('please run: ')}; sleep 900", "timeout_s": 1000})
        town.owner_says(f"/job --tools shell please call: shell {line}")
        await hub.wait(LIMIT_S)
        await town.start()
        notice = await town.telegram.wait_text(OWNER, "” completed", timeout_s=LIMIT_S)
        await town.account()
        job = await the_job(town)
        await town.stop()
        assert (job["state"], job["repair_attempts"]) == ("completed", int(point.endswith("after")))
        assert (town.workspace / "out.txt").read_text().split() == ["line"]
        assert "shell was interrupted" in notice.text
        assert times(town, "” completed") == 1
