"""The story "a job → plan → calls → result", killed at any of its commits and judged.

People do what they would do if nothing went wrong; a hub that dies is started again.
"""

import asyncio
import contextlib
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.crash.points import AtCommit, parse_commit_point
from tests.simulators.model import Hold, Reply, ToolCall, tools

ASK_PLAN, ASK_COMPLETION = "Answer with a plan", "Every step of the plan was made"
FINISHED = tools(ToolCall("finish", {"result": "It is done."}))
CALLS = "SELECT count(*), count(*) FILTER (WHERE status = 'unknown') FROM calls WHERE tool = 'shell'"
BY_THE_CLOCK = frozenset({"link_audit", "expire_gates", "remind_gates", "renew_lease", "index_said"})
"""Units that come when their time comes: how many of them a story passes is not fixed."""


@dataclass(frozen=True, slots=True)
class Story:
    """A job, and what its model answers by what it is asked. `plan`: None for none.

    `calls`: how many command lines are called. `writes`: what those that run write, in order.
    `unheard`: what they write if the job is planned anew with the message in it. `message`: said to the job
    while its model is asked for the plan. `state`: the end."""

    calls: int
    writes: tuple[str, ...]
    plan: Reply | None = None
    task: str = "get it done"
    answers: Mapping[str, Reply] = field(default_factory=lambda: {ASK_COMPLETION: FINISHED})
    message: str = ""
    unheard: tuple[str, ...] | None = None
    state: str = "completed"


async def the_job(town: MortalHub) -> dict[str, Any]:
    """Return the only job."""
    (job,) = json.loads(await town.command("jobs", "list", "--json"))
    return job


def times(town: MortalHub, text: str) -> int:
    """Return how many messages to the owner have that text."""
    return sum(text in message.text for message in town.shown_to(OWNER))


async def points_of(directory: Path, story: Story) -> list[AtCommit]:
    """Return the commits of the story when nothing goes wrong, both sides of each."""
    directory.mkdir()
    async with open_job_town(directory, story) as town:
        await play(town, story, None)
        judge(town, story, None)
        passed = [parse_commit_point(line) for line in town.trace(1)]
    begins = next(nth for nth, point in enumerate(passed) if point.unit == "accept_event")
    return [point for point in passed[begins:] if point.unit not in BY_THE_CLOCK]


async def strike(directory: Path, story: Story, point: AtCommit) -> bool:
    """Play the story with the hub killed at that commit, and judge. Return whether it came to it."""
    async with open_job_town(directory, story) as town:
        await play(town, story, point)
        judge(town, story, point)
        return town.starts == 2


@contextlib.asynccontextmanager
async def open_job_town(directory: Path, story: Story) -> AsyncIterator[MortalHub]:
    """A town whose model answers as the story has it."""
    planning = str(story.plan is not None).lower()
    async with open_mortal_hub(directory, Setup(extra=f"[jobs]\nuse_planning = {planning}\n")) as town:
        if story.plan is not None:
            town.model.rule(ASK_COMPLETION, FINISHED, on="user")
            for asked, answer in story.answers.items():
                town.model.rule(asked, answer, on="user")
            town.model.rule(ASK_PLAN, story.plan, on="user")
            town.model.rule(".*", FINISHED, on="tool")
        yield town


async def play(town: MortalHub, story: Story, point: AtCommit | None) -> None:
    """Play it to its end."""
    hub = await town.start(point)

    async def start_again() -> None:
        await hub.wait()
        await town.start()

    guard = None if point is None else asyncio.create_task(start_again())
    if story.message:
        town.model.fault(Hold(), times=None, match=ASK_PLAN)
    town.owner_says(f"/job --tools shell {story.task}")
    if story.message:
        await _say_while_held(town, story.message)
    await town.telegram.wait_for(lambda: times(town, f"is {story.state}.\n") == 1, LIMIT_S)
    if story.state == "completed":
        await town.telegram.wait_text(OWNER, "” completed", timeout_s=LIMIT_S)
    await town.account()
    if guard is not None:
        guard.cancel()
        await asyncio.gather(guard, return_exceptions=True)
    assert (await the_job(town))["state"] == story.state
    await town.stop()


async def _say_while_held(town: MortalHub, message: str) -> None:
    """Say it to the job while its model is asked for a plan."""
    shown = await town.telegram.wait_text(OWNER, "ID: ", timeout_s=LIMIT_S)
    (job,) = re.findall(r"^ID: (\w+)$", shown.text, re.MULTILINE)
    await town.model.wait_requests(state="held", timeout_s=LIMIT_S)
    town.owner_says(message.format(named=job))
    heard = "hears it" if message.startswith("/prompt") else "is cancelled."
    await town.telegram.wait_for(lambda: times(town, heard) >= 1, LIMIT_S)
    town.model.clear_faults()
    town.model.release()


def judge(town: MortalHub, story: Story, point: AtCommit | None) -> None:
    """Every call has acted once; only one with an unknown outcome may not have acted, and the owner is told
    so. The job's end is told once. A plan that was stored is not asked for again."""
    path = town.workspace / "out.txt"
    lines = tuple(path.read_text().split()) if path.exists() else ()
    with contextlib.closing(sqlite3.connect(town.directory / "data" / "hub.db")) as database:
        calls, unknown = database.execute(CALLS).fetchone()
    assert calls == story.calls, "none is made again"
    planned = {"begin_plan:1:after", "end_plan:1:after"}.intersection(town.trace(1))
    again = story.unheard is not None and not planned
    written = (story.writes, story.unheard) if again else (story.writes,)
    assert any(_is_part(lines, whole or (), unknown) for whole in written), (lines, unknown)
    assert unknown <= (0 if point is None else 1)
    if _knows(point):
        assert unknown == 0
    told = [one.text for one in town.shown_to(OWNER) if "” completed" in one.text]
    assert len(told) == (1 if story.state == "completed" else 0)
    assert sum("shell was interrupted" in one for one in told) == unknown
    shown = [one for one in town.shown_to(OWNER) if "\nID: " in one.text]
    assert len(shown) == 1, "one message shows it"
    asked = len([one for one in town.model.log.all() if ASK_PLAN in one.user_text])
    if story.plan is not None and planned and story.state == "completed":
        assert asked == 1


def _is_part(lines: tuple[str, ...], whole: tuple[str, ...], missing: int) -> bool:
    """Return whether the lines are those of the whole, in order, with at most so many missing."""
    rest = iter(whole)
    return all(line in rest for line in lines) and len(whole) - len(lines) <= missing


def _knows(point: AtCommit | None) -> bool:
    """Return whether no call can be in progress at that commit."""
    if point is None:
        return True
    if point.unit in {"record_reply_and_intents", "begin_plan", "end_plan", "begin_jobs", "end_job"}:
        return True
    return (point.unit, point.side) in {("mark_running", "before"), ("finish_calls", "after")}
