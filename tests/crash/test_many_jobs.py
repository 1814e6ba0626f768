"""Many jobs of two people, the hub killed every three seconds: all end, within the limits, acting once."""

import asyncio
import contextlib
import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from core.clock import SystemClock
from core.ids import RandomIds
from core.job import JobRow, JobState, NewJob
from core.store.sqlite.store import open_store
from core.users import Role
from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.databases import lay_database
from tests.plugins.profile import Profile

MAX_PARALLEL, MAX_PER_USER = 5, 3
KILLED_AFTER_S = (1.0, 5.0)
"""Seconds between two kills: three on average."""
TOLD_WITHIN_S = 240
"""A chat takes a message a second."""
SETUP = Setup(
    extra=(
        f"[jobs]\nmax_parallel = {MAX_PARALLEL}\nmax_per_user = {MAX_PER_USER}\n"
        "[approvals]\nshell_per_minute = 10000\nshell_per_hour = 10000\n"
        '[roles.member]\ntools = ["shell", "delegate", "create_job"]\n'
    )
)


def task(name: str, number: int) -> str:
    """Return the task of a job; every third job delegates its line."""
    if number % 3:
        return f"please run: echo {name} >> out"
    return rf'please call: delegate {{"task": "please\u0020run: echo {name} >> out"}}'


async def dispatch(database: Path, each: int, thread_id: str) -> None:
    """Save so many jobs of each of two people; the owner's are told of in that thread."""
    store = await open_store(lay_database(database), SystemClock(), RandomIds())
    try:
        await store.people.ensure_user("bob", Role.MEMBER, "Bob")
        for number in range(each):
            for person, told_in in (("owner", thread_id), ("bob", None)):
                name = f"{person}-{number}"
                job = NewJob(name, person, name, task(name, number), ("shell", "delegate"), thread_id=told_in)
                await store.jobs.save_job(job)
    finally:
        await store.close()


async def the_jobs(database: Path) -> list[JobRow]:
    """Return all jobs, in the order of their starts."""
    store = await open_store(lay_database(database), SystemClock(), RandomIds())
    try:
        return sorted(await store.jobs.jobs(None, 1_000), key=lambda job: job.started_at or 0)
    finally:
        await store.close()


def ask(database: Path, question: str) -> list[Any]:
    """Return the first column of what the database says, beside the hub."""
    with contextlib.closing(sqlite3.connect(database, timeout=LIMIT_S)) as connection:
        return [row[0] for row in connection.execute(question)]


WORKING = "SELECT count(*) FROM jobs WHERE state IN ('pending', 'in_progress', 'stuck')"
UNKNOWN = (
    "SELECT coalesce(p.turn_id, c.turn_id) FROM calls c LEFT JOIN calls p ON p.id = c.turn_id"
    " WHERE c.status = 'unknown'"
)
"""The jobs of which a call has an unknown outcome, or one of their subtasks."""
NOTICES = "SELECT turn_id FROM outbox WHERE turn_id LIKE 'owner-%' AND edit_of IS NULL"
"""The messages about the ends of the owner's jobs."""
HELD = "SELECT count(*) FROM runs WHERE ended_at IS NULL"


async def over(database: Path, within_s: float) -> bool:
    """Return whether all jobs have ended, at the latest after that time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while ask(database, WORKING)[0]:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
            return True
    return False


def ends(town: MortalHub) -> Counter[str]:
    """Return the owner's messages about the ends of jobs, by the job's name, without those that show jobs."""
    said = [one.text for one in town.shown_to(OWNER) if " completed" in one.text and "\nID: " not in one.text]
    heads = [text.split("\n")[0] for text in said]
    return Counter(head.partition("echo ")[2].partition(" >>")[0] for head in heads)


def judge(town: MortalHub, database: Path, jobs: list[JobRow]) -> None:
    """Judge the promises, by what is on disk and what the platform showed."""
    assert Counter(job.state for job in jobs) == {JobState.COMPLETED: len(jobs)}
    assert ask(database, HELD) == [0], "no slot leaks"
    lead = 0
    for job in jobs:
        at = job.started_at or 0
        running = [one for one in jobs if (one.started_at or 0) <= at < (one.ended_at or 0)]
        assert len(running) <= MAX_PARALLEL
        assert max(Counter(one.owner_id for one in running).values()) <= MAX_PER_USER
        lead += 1 if job.owner_id == "owner" else -1
        # While one person's jobs take long, as after a kill, the other's go on in the slots that are left.
        assert abs(lead) <= 2 * MAX_PARALLEL, "people take turns"
    lines = Counter((town.workspace / "out").read_text().split())
    unknown = set(ask(database, UNKNOWN))
    assert set(lines.values()) == {1}
    assert {job.id for job in jobs} - set(lines) <= unknown
    told = ends(town)
    notices_of = [job.id for job in jobs if job.owner_id == "owner"]
    assert sorted(ask(database, NOTICES)) == sorted(notices_of), "one notice each"
    repeated = set(ask(database, f"{NOTICES} AND repeats = 1"))
    # A request that a kill cut off is repeated once, and marked: Telegram can't always tell what came of it.
    assert all(told[name] == 1 or (told[name] == 2 and name in repeated) for name in notices_of), told
    assert set(told) == set(notices_of)
    notices = {one.text for one in town.shown_to(OWNER) if "shell was interrupted" in one.text}
    for name in unknown & set(told):
        assert any(f"echo {name} " in text for text in notices), name


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_jobs_of_two_people_end_within_the_limits_however_often_the_hub_is_killed(
    tmp_path: Path, profile: Profile
) -> None:
    each, rng = profile.pick(test=8, ci=20, proof=100), random.Random(profile.seed)
    async with open_mortal_hub(tmp_path, SETUP) as town:
        database = town.directory / "data" / "hub.db"
        await town.start()
        town.owner_says("hello")
        await town.telegram.wait_text(OWNER, "You said: hello", timeout_s=LIMIT_S)
        await town.stop()
        (thread_id,) = ask(database, "SELECT id FROM threads WHERE kind = 'chat'")
        await dispatch(database, each, thread_id)
        await town.start()
        while not await over(database, rng.uniform(*KILLED_AFTER_S)):
            await town.kill()
            await town.start()
        await town.telegram.wait_for(lambda: ends(town).total() >= each, TOLD_WITHIN_S)
        await town.account()
        await town.stop()
        judge(town, database, await the_jobs(database))
