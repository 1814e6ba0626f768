"""A job is started, and the hub is killed: it goes on where it was, acts once, hears all of it, ends once."""

import asyncio
import contextlib
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.entry import SPEED
from tests.crash.job_story import Story, strike, the_job, times
from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.crash.points import parse_commit_point
from tests.crash.test_plans import strike_every
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model import Hold

SLOW = pytest.mark.slow
LINE = "please run: echo line >> out.txt"


def as_part(line: str) -> str:
    """A task whose subtask is to run the line, and not the job itself."""
    return 'please call: delegate {"task": "' + line.replace("please run", "please\\u0020run") + '"}'


PART = as_part(LINE)


STORIES = {"job": Story(1, ("line",), task=LINE), "subtask": Story(1, ("line",), task=PART)}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("named", STORIES)
async def test_killed_at_any_commit_a_job_acts_once_and_its_end_is_reported_once(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord, named: str
) -> None:
    await strike_every(tmp_path, STORIES[named], profile, proof_record, named)


@pytest.mark.parametrize(
    "named, point",
    [
        pytest.param("job", "begin_jobs:1:before", marks=SLOW),  # it is saved and not started
        pytest.param("job", "end_job:1:before", marks=SLOW),  # its last words are there, and nobody knows
        ("subtask", "finish_calls:1:before"),  # the subtask has acted, and nobody knows
        pytest.param(
            "subtask", "end_subtask:1:after", marks=SLOW
        ),  # its result is there, and its run lacks it
    ],
)
async def test_killed_at_this_point_a_job_acts_once_and_its_end_is_reported_once(
    tmp_path: Path, named: str, point: str
) -> None:
    assert await strike(tmp_path, STORIES[named], parse_commit_point(point)), "the hub came by"


@pytest.mark.parametrize(
    "task", [pytest.param(str, marks=SLOW, id="job"), pytest.param(as_part, id="subtask")]
)
async def test_killed_inside_the_tool_its_outcome_is_unknown_and_it_is_not_run_again(
    tmp_path: Path, task: Callable[[str], str]
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        await town.start()
        town.owner_says(f"/job --tools shell {task(f'{LINE} && sleep 60')}")
        async with asyncio.timeout(LIMIT_S):
            written = town.workspace / "out.txt"
            while not (written.exists() and written.stat().st_size):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)
        await town.kill()
        await town.start()
        notice = await town.telegram.wait_text(OWNER, "” completed", timeout_s=LIMIT_S)
        await town.telegram.wait_for(lambda: times(town, "is completed.\n") == 1, LIMIT_S)
        assert times(town, "\nID: ") == 1  # the message that shows it is the one of before
        await town.account()
        results = [one["content"] for one in town.model.log[-1].body["messages"] if one["role"] == "tool"]
        await town.stop()
        assert (town.workspace / "out.txt").read_text() == "line\n"
        assert "shell was interrupted" in notice.text
        assert times(town, "” completed") == 1
        (result,) = results  # exactly one, of its call or of its subtask
        assert "interrupted" in result or "Outcome unknown" in result


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
async def test_killed_while_its_owner_decides_a_job_is_decided_once(
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
        said = [one.text for one in town.shown_to(OWNER) if f"write it” is {word}." in one.text]
        assert (
            len([text for text in said if "\nID: " not in text]) == 1
        )  # the message that shows it says it, too


@pytest.mark.slow
@pytest.mark.parametrize("point", ["repair_job:1:before", "repair_job:1:after"])
async def test_killed_while_a_stuck_job_is_restarted_it_acts_once_and_its_end_is_reported_once(
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
