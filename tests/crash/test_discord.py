"""The story on Discord: every point at which a hub can die, each promise kept."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.crash.discord_story import InDiscord, Point, judge, open_discord_town, play, points_of
from tests.crash.nursery import Nursery
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

AT_ONCE = 4


async def strike(nursery: Nursery, directory: Path, point: Point) -> str | None:
    """Kill there and judge; what went wrong, or None."""
    directory.mkdir()
    said: list[str] = []
    try:
        async with open_discord_town(nursery, directory) as town:
            passed = await play(town, point)
            await town.end(signal.SIGINT)
            judge(town, passed)
    except* (AssertionError, TimeoutError) as failures:
        said += [repr(failure) for failure in failures.exceptions]
    return f"{point}: {'; '.join(said)} (in {directory})" if said else None


@pytest.mark.slow
async def test_on_discord_every_promise_is_kept_and_nothing_is_shown_twice(
    nursery: Nursery, tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    points = await points_of(nursery, tmp_path / "dry")
    every = profile.pick(test=20, proof=1)
    struck = points[profile.seed % every :: every]
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, point: Point) -> str | None:
        async with at_once:
            return await strike(nursery, tmp_path / str(number), point)

    async with asyncio.TaskGroup() as group:
        strikes = [group.create_task(one(n, point)) for n, point in enumerate(struck)]
    failures = [failure for task in strikes if (failure := task.result()) is not None]
    print(f"{len(struck)} of {len(points)} kill points on Discord, {len(struck) - len(failures)} kept")
    proof_record("crash-discord", kill_points=len(points), struck=len(struck))
    assert not failures, "\n".join(failures)
    assert {"createMessage", "editMessage"} <= {p.method for p in points if isinstance(p, InDiscord)}
