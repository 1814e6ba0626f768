"""Two of a team decide about a call that one of them changes, while the hub dies: at any point one outcome,
the changed call run once, and every copy shows it."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.nursery import Nursery
from tests.crash.points import AtCommit, InTelegram, Point, parse_commit_point
from tests.crash.team_story import judge, open_team_town, play, points_of
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

AT_ONCE = 4
ONE, TWO = ("one",), ("one", "two")
pytestmark = pytest.mark.timeout(900)


async def strike(nursery: Nursery, directory: Path, point: Point, words: tuple[str, ...]) -> tuple[bool, str]:
    """Kill there and judge: whether the hub got there, and what went wrong."""
    directory.mkdir()
    said: list[str] = []
    struck = False
    try:
        async with open_team_town(nursery, directory) as town:
            struck = await play(town, point, words)
            judge(town, words)
    except* (AssertionError, TimeoutError) as failures:
        said += [repr(failure) for failure in failures.exceptions]
    return struck, f"{point}: {'; '.join(said)} (in {directory})" if said else ""


async def strike_all(
    nursery: Nursery, directory: Path, points: Sequence[Point], words: tuple[str, ...]
) -> tuple[int, list[str]]:
    """How many were struck, and what went wrong."""
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, point: Point) -> tuple[bool, str]:
        async with at_once:
            return await strike(nursery, directory / str(number), point, words)

    async with asyncio.TaskGroup() as group:
        strikes = [group.create_task(one(n, point)) for n, point in enumerate(points)]
    ended = [task.result() for task in strikes]
    return sum(struck for struck, _ in ended), [failure for _, failure in ended if failure]


@pytest.mark.slow
@pytest.mark.parametrize("point", ["accept_event:4:after"])  # changed, and the platform brings it again
async def test_killed_at_this_point_the_changed_call_runs_once(
    nursery: Nursery, tmp_path: Path, point: str
) -> None:
    struck, failure = await strike(nursery, tmp_path / "town", parse_commit_point(point), ONE)
    assert not failure, failure
    assert struck


@pytest.mark.slow
@pytest.mark.parametrize("words", [ONE, TWO], ids=["changed", "apart-and-changed"])
async def test_killed_at_any_point_the_changed_call_runs_once(
    nursery: Nursery, tmp_path: Path, profile: Profile, proof_record: ProofRecord, words: tuple[str, ...]
) -> None:
    points = await points_of(nursery, tmp_path / "dry", words)
    every = profile.pick(test=20, proof=1)
    tried = points[profile.seed % every :: every]
    struck, failures = await strike_all(nursery, tmp_path, tried, words)
    print(
        f"{struck} kill points struck of {len(tried)} tried, {len(tried) - len(failures)} kept every promise"
    )
    proof_record("crash-team", kill_points=len(points), tried=len(tried), struck=struck)
    assert not failures, "\n".join(failures)
    assert struck >= len(tried) * 3 // 4
    assert {AtCommit("ask_person", 1, "after"), InTelegram("editMessageText", 1)} <= set(points)
