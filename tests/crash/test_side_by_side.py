"""Calls that run side by side, and the hub is killed wherever it can be: each ends exactly once."""

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, open_mortal_hub
from tests.crash.points import AtCommit, parse_commit_point
from tests.crash.story import struck_or_over
from tests.crash.striking import strike_all
from tests.harness.forking import Forked
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

NAMES = ("one", "two", "three")
THREE = "\n".join(f'please call: echo {{"text": "{name}"}}' for name in NAMES)
ALWAYS_STRUCK = "finish_calls:1:after"

Play = Callable[[MortalHub], Coroutine[Any, Any, None]]
"""What people do before, or until it is over."""


async def _of_a_turn(town: MortalHub) -> None:
    town.owner_says(THREE)
    await town.telegram.wait_text(OWNER, "Done: ", timeout_s=LIMIT_S)


async def _of_a_run(town: MortalHub) -> None:
    town.owner_says("deploy it")
    await town.telegram.wait_text(OWNER, "Routine “three”", timeout_s=LIMIT_S)
    await town.telegram.wait_text(OWNER, "You said: deploy it", timeout_s=LIMIT_S)
    async with asyncio.timeout(LIMIT_S):
        unsettled = "SELECT 1 FROM routine_runs WHERE notice_state <> 'sent'"
        while _asked(town, unsettled):  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.05)


async def _make_routine(town: MortalHub) -> None:
    page = town.directory / "three.json"
    action = {"type": "lightweight", "prompt": "", "use_tools": True, "allowed_tools": ["echo"]}
    guardrails = {"rerun_interrupted": True, "cooldown_s": 0}
    page.write_text(json.dumps({"guardrails": guardrails, "action": action}))
    words = ("routines", "add", "three", "--match", "deploy", "--prompt", THREE, "--file", str(page))
    await town.command(*words)


async def _nothing(town: MortalHub) -> None:
    del town


STORIES: dict[str, tuple[Play, Play]] = {"turn": (_nothing, _of_a_turn), "run": (_make_routine, _of_a_run)}


async def tell(directory: Path, kind: str, point: AtCommit | None) -> list[AtCommit]:
    """The whole story, killed at the point; the commits that the hub which ended it had passed."""
    prepare, people = STORIES[kind]
    async with open_mortal_hub(directory) as town:
        await prepare(town)
        hub = await town.start(point)
        playing = asyncio.create_task(people(town))
        try:
            if point is not None:
                await struck_or_over(point, _dead(hub), playing)
                await town.kill()
                await town.start()
            await playing
        finally:
            playing.cancel()
        await town.account()
        passed = [parse_commit_point(line) for line in town.trace()]
        await town.telegram.wait_for(town.listens, LIMIT_S)
        await town.stop()
        await judge(town)
        return passed


async def _dead(hub: Forked) -> None:
    await hub.wait(LIMIT_S)


def _asked(town: MortalHub, sql: str) -> list[tuple[object, ...]]:
    path = f"file:{town.directory}/data/hub.db?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
        return database.execute(sql).fetchall()


async def judge(town: MortalHub) -> None:
    """Three calls with one result each, and the model is asked on with these, in the order of the calls."""
    ended = _asked(
        town,
        "SELECT c.state, c.status, count(*) FROM calls c LEFT JOIN entries e"
        " ON e.call_id = c.id AND e.kind = 'result' GROUP BY c.id",
    )
    assert ended == [("ended", "ok", 1)] * len(NAMES)
    given = [
        [message["content"] for message in asked.body["messages"] if message["role"] == "tool"]
        for asked in town.model.log.all()
    ]
    answered = [results for results in given if results]
    assert answered
    for results in answered:
        assert len(results) == len(NAMES)
        assert all(name in result for name, result in zip(NAMES, results, strict=True))
    await town.command("db", "check")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", STORIES)
async def test_killed_at_any_commit_each_call_ends_once(
    tmp_path: Path, kind: str, profile: Profile, proof_record: ProofRecord
) -> None:
    (tmp_path / "dry").mkdir()
    points = await tell(tmp_path / "dry", kind, None)
    every = profile.pick(test=15, proof=1)
    chosen = points[profile.seed % every :: every]
    struck = [point for point in points if point in chosen or str(point) == ALWAYS_STRUCK]

    async def story(directory: Path, point: AtCommit) -> None:
        await tell(directory, kind, point)

    failures = await strike_all(tmp_path, struck, story)
    print(f"{kind}: {len(struck)} of {len(points)} kill points, {len(struck) - len(failures)} kept")
    proof_record("side-by-side", **{f"{kind}_kill_points": len(points), f"{kind}_struck": len(struck)})
    assert not failures, "\n".join(failures)
    assert ALWAYS_STRUCK in map(str, struck)
