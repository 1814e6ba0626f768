"""Every point of the story at which a hub can die; each one struck, each promise kept."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.mortal import Setup, open_mortal_hub
from tests.crash.points import AtCommit, InModel, InTelegram, InTool, Point, parse_commit_point
from tests.crash.story import judge, play
from tests.crash.striking import strike_all
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

PARTS = 6
POLLS_STRUCK = 2
"""A poll ends whenever something arrives: how many there are is not fixed, the first ones are."""


async def dry_run(directory: Path, house: Setup) -> list[Point]:
    """The points the story passes when nothing goes wrong."""
    directory.mkdir()
    async with open_mortal_hub(directory, house) as town:
        await play(town, None)
        await town.stop()
        await judge(town, None)
        commits: list[Point] = [parse_commit_point(line) for line in town.trace()]
        methods = Counter(request.method for request in town.telegram.requests())
        requests: list[Point] = [
            InTelegram(method, nth)
            for method, count in methods.items()
            for nth in range(1, (min(count, POLLS_STRUCK) if method == "getUpdates" else count) + 1)
        ]
        models: list[Point] = [InModel(nth) for nth in range(1, town.model.log.taken + 1)]
    return [*commits, *requests, *models, InTool()]


async def strike_each(directory: Path, points: Sequence[Point], house: Setup) -> list[str]:
    """Return what went wrong."""

    async def story(directory: Path, point: Point) -> None:
        async with open_mortal_hub(directory, house) as town:
            kill = await play(town, point)
            await town.stop()
            await judge(town, kill)

    return await strike_all(directory, points, story)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in range(1, PARTS))])
async def test_every_point_is_hit_and_every_promise_is_kept(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord, part: int
) -> None:
    """Every sixth in the usual profile, at length all."""
    points = await dry_run(tmp_path / "dry", Setup())
    struck = points[(profile.seed + part) % PARTS :: PARTS]
    failures = await strike_each(tmp_path, struck, Setup())
    print(f"{len(struck)} of {len(points)} kill points, {len(struck) - len(failures)} kept every promise")
    proof_record("crash", kill_points=len(struck))
    assert not failures, "\n".join(failures)
    assert {type(point) for point in points} == {AtCommit, InTelegram, InModel, InTool}


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_every_promise_is_kept_by_webhook_in_a_topic_too(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    house = Setup(groups="all", webhook=True, topic=True)
    points = await dry_run(tmp_path / "dry", house)
    every = profile.pick(test=6, proof=1)
    struck = points[profile.seed % every :: every]
    failures = await strike_each(tmp_path, struck, house)
    print(f"{len(struck)} of {len(points)} kill points, {len(struck) - len(failures)} kept every promise")
    proof_record("crash", webhook_topic_kill_points=len(struck))
    assert not failures, "\n".join(failures)
    assert InTelegram("setWebhook", 1) in points
    assert InTelegram("getUpdates", 1) not in points
