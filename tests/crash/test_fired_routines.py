"""A webhook, an event and the clock fire a routine, and the hub is killed wherever it can be: one run for
each delivery, event and slot, one recorded end, told; twice only as marked."""

import asyncio
from pathlib import Path

import pytest

from tests.crash.fired_story import Kind, judge, open_fired_hub, play, points_of
from tests.crash.points import AtCommit, Point
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

AT_ONCE = 3


async def strike(directory: Path, kind: Kind, point: Point, *, reruns: bool) -> None:
    """Kill there and judge."""
    async with open_fired_hub(directory, kind, reruns=reruns) as town:
        told = await play(town, kind, point)
        await town.stop()
        await judge(town, kind, told)


async def test_a_delivery_is_answered_when_its_run_is_kept(tmp_path: Path) -> None:
    """Killed before that it was not answered, and comes again."""
    await strike(tmp_path, "webhook", AtCommit("claim_run", 1, "before"), reruns=False)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["webhook", "event", "cron"])
async def test_routines_fire_once_and_notify_at_every_kill_point(
    tmp_path: Path, kind: Kind, profile: Profile, proof_record: ProofRecord
) -> None:
    points = await points_of(tmp_path / "dry", kind)
    every = profile.pick(test=10, proof=1)
    struck = points[profile.seed % every :: every]
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, point: Point) -> str | None:
        async with at_once:
            try:
                await strike(tmp_path / str(number), kind, point, reruns=number % 2 == 0)
            except* (AssertionError, TimeoutError) as failures:
                said = "; ".join(repr(failure) for failure in failures.exceptions)
            else:
                return None
            return f"{point}: {said} (in {tmp_path / str(number)})"

    async with asyncio.TaskGroup() as group:
        strikes = [group.create_task(one(n, point)) for n, point in enumerate(struck)]
    failures = [failure for task in strikes if (failure := task.result()) is not None]
    print(f"{kind}: {len(struck)} of {len(points)} kill points, {len(struck) - len(failures)} kept")
    facts = {f"{kind}_kill_points": len(points), f"{kind}_struck": len(struck)}
    proof_record("crash-routines", **facts)
    assert not failures, "\n".join(failures)
