"""The hub is killed again and again while a container works: the same container goes on, and nothing is done
or counted twice."""

import asyncio
import contextlib
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.crash.fired_story import LINE, Kind, judge, open_fired_hub, play
from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.crash.points import parse_commit_point
from tests.harness.images import run

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(400)]
REQUESTS = ["messages", "model", "result", "messages", "model", "complete"]
"""What the worker of a job with one call asks for, in order."""


def rows(town: MortalHub, sql: str) -> list[tuple[Any, ...]]:
    path = f"file:{town.directory / 'data' / 'hub.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
        return database.execute(sql).fetchall()


def containers(town: MortalHub) -> list[str]:
    name = hashlib.sha256(str((town.directory / "data").resolve()).encode()).hexdigest()[:16]
    return run("docker", "ps", "--quiet", "--filter", f"label=hubbub.hub={name}").split()


def setup_with(image: str) -> Setup:
    return Setup(extra=f'[sandbox]\nenabled = true\nimage = "{image}"\nmemory_mb = 128\ndisk_mb = 50\n')


async def test_killed_around_the_commit_of_every_request_the_same_container_goes_on(
    tmp_path: Path, worker_image: str
) -> None:
    async with open_mortal_hub(tmp_path, setup_with(worker_image)) as town:
        hub = await town.start(parse_commit_point("answer_request:1:before"))
        town.owner_says("/job --sandbox please run: echo line >> out.txt")
        await hub.wait(LIMIT_S)
        seen = set(containers(town))
        for number in range(1, len(REQUESTS) + 1):
            assert len(rows(town, "SELECT seq FROM job_requests")) == number - 1
            # Its effect is stored and its answer never sent; then the next one is not even stored.
            for side in ("after", "before")[: 2 if number < len(REQUESTS) else 1]:
                hub = await town.start(parse_commit_point(f"answer_request:1:{side}"))
                await hub.wait(LIMIT_S)
                seen |= set(containers(town)) if number < len(REQUESTS) else set()
        await town.start()
        notice = await town.telegram.wait_text(OWNER, "” submitted", timeout_s=LIMIT_S)
        await town.account()
        (job,) = json.loads(await town.command("jobs", "list", "--json"))
        diff = await town.command("jobs", "diff", job["id"])
        await town.stop()
        assert len(seen) == 1, "one container"
        assert rows(town, "SELECT seq, kind FROM job_requests") == list(enumerate(REQUESTS, start=1))
        assert rows(town, "SELECT count(*) FROM usage WHERE state = 'settled'") == [
            (REQUESTS.count("model"),)
        ]
        assert rows(town, "SELECT count(*) FROM usage WHERE state = 'reserved'") == [(0,)]
        assert rows(town, "SELECT count(*) FROM entries WHERE kind = 'result' AND turn_id = thread_id") == [
            (1,)
        ]
        assert diff.count("+line") == 1, "the call was made once"
        assert "out.txt" in notice.text
        assert containers(town) == []


@pytest.mark.parametrize(
    "point",
    [
        "begin_container_jobs:1:after",
        "arm_container:1:before",
        "arm_container:1:after",
        "end_container_job:1:before",
        "end_container_job:1:after",
    ],
)
async def test_killed_as_its_container_is_made_or_collected_a_job_works_and_ends_once(
    tmp_path: Path, worker_image: str, point: str
) -> None:
    async with open_mortal_hub(tmp_path, setup_with(worker_image)) as town:
        hub = await town.start(parse_commit_point(point))
        town.owner_says("/job --sandbox please run: echo line >> out.txt")
        await hub.wait(LIMIT_S)
        await town.start()
        await town.telegram.wait_text(OWNER, "” submitted", timeout_s=LIMIT_S)
        await town.account()
        (job,) = json.loads(await town.command("jobs", "list", "--json"))
        await town.command("jobs", "accept", job["id"])
        async with asyncio.timeout(LIMIT_S):
            while rows(town, "SELECT state FROM jobs") != [("accepted",)]:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)
        await town.stop()
        assert (town.workspace / "out.txt").read_text() == "line\n"
        assert rows(town, "SELECT seq, kind FROM job_requests") == list(enumerate(REQUESTS, start=1))
        assert containers(town) == []


FIRED: tuple[tuple[Kind, str], ...] = (
    ("webhook", "claim_run:1:before"),
    ("webhook", "dispatch_job:1:before"),
    ("event", "dispatch_job:1:after"),
    ("webhook", "arm_container:1:after"),
    ("event", "end_container_job:1:before"),
    ("cron", "end_container_job:1:after"),
    ("webhook", "finish_run:1:before"),
    ("event", "finish_run:1:after"),
)
"""What fires it, and where the hub is killed: around the commits of the run, its job, and its container's
end."""


@pytest.mark.parametrize("kind, point", FIRED)
async def test_killed_as_a_routines_job_works_in_a_container_there_is_one_run_one_job_and_one_notice(
    tmp_path: Path, worker_image: str, kind: Kind, point: str
) -> None:
    """One container's work for each job, also: what a person accepts has its one line."""
    async with open_fired_hub(
        tmp_path, kind, reruns=True, work="container", setup=setup_with(worker_image)
    ) as town:
        told = await play(town, kind, parse_commit_point(point))
        await town.account()
        jobs = json.loads(await town.command("jobs", "list", "--json"))
        diffs = [await town.command("jobs", "diff", job["id"]) for job in jobs]
        await town.stop()
        await judge(town, kind, told, "container")
        assert [diff.count(f"+{LINE}") for diff in diffs] == [1] * len(jobs)
        assert rows(town, "SELECT count(*) FROM job_requests") == [(len(REQUESTS) * len(jobs),)]
        assert containers(town) == []
