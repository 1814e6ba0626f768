"""Two of a team decide about a call that one of them changes, while the hub dies: at any point one outcome,
the changed call run once, and every copy shows it."""

from pathlib import Path

import pytest

from tests.crash.points import AtCommit, InTelegram, Point, parse_commit_point
from tests.crash.striking import strike_all
from tests.crash.team_story import judge, open_team_hub, play, points_of
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

ONE, TWO = ("one",), ("one", "two")
pytestmark = pytest.mark.timeout(900)


async def strike(directory: Path, point: Point, words: tuple[str, ...]) -> bool:
    """Kill there and judge; whether the hub got there."""
    async with open_team_hub(directory) as town:
        struck = await play(town, point, words)
        judge(town, words)
    return struck


@pytest.mark.slow
@pytest.mark.parametrize("point", ["accept_event:4:after"])  # changed, and the platform brings it again
async def test_killed_at_this_point_the_changed_call_runs_once(tmp_path: Path, point: str) -> None:
    assert await strike(tmp_path, parse_commit_point(point), ONE)


@pytest.mark.slow
@pytest.mark.parametrize("words", [ONE, TWO], ids=["changed", "apart-and-changed"])
async def test_killed_at_any_point_the_changed_call_runs_once(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord, words: tuple[str, ...]
) -> None:
    points = await points_of(tmp_path / "dry", words)
    every = profile.pick(test=20, proof=1)
    tried = points[profile.seed % every :: every]
    struck = 0

    async def story(directory: Path, point: Point) -> None:
        nonlocal struck
        if await strike(directory, point, words):
            struck += 1

    failures = await strike_all(tmp_path, tried, story)
    print(
        f"{struck} kill points struck of {len(tried)} tried, {len(tried) - len(failures)} kept every promise"
    )
    proof_record("crash-team", kill_points=len(points), tried=len(tried), struck=struck)
    assert not failures, "\n".join(failures)
    assert struck >= len(tried) * 3 // 4
    assert {AtCommit("ask_person", 1, "after"), InTelegram("editMessageText", 1)} <= set(points)
