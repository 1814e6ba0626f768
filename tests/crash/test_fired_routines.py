"""A webhook, an event and the clock fire a routine, and the hub is killed wherever it can be: one run for
each delivery, event and slot, one recorded end, told; twice only as marked."""

import asyncio
from pathlib import Path

import pytest

from tests.crash.fired_story import Kind, Work, judge, open_fired_hub, play, points_of
from tests.crash.points import AtCommit, Point, parse_commit_point
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

AT_ONCE = 3


async def strike(directory: Path, kind: Kind, point: Point, *, reruns: bool, work: Work = "prompt") -> None:
    """Kill there and judge."""
    async with open_fired_hub(directory, kind, reruns=reruns, work=work) as town:
        told = await play(town, kind, point)
        await town.stop()
        await judge(town, kind, told, work)


async def test_a_delivery_is_answered_once_its_run_is_stored(tmp_path: Path) -> None:
    """Killed before that it was not answered, and comes again."""
    await strike(tmp_path, "webhook", AtCommit("claim_run", 1, "before"), reruns=False)


@pytest.mark.slow
@pytest.mark.parametrize("at", ["dispatch_job:1:before", "dispatch_job:1:after", "end_job:1:after"])
async def test_a_run_has_one_job_that_the_next_hub_waits_for(tmp_path: Path, at: str) -> None:
    """Its own end and notice included."""
    await strike(tmp_path, "webhook", parse_commit_point(at), reruns=False, work="job")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("work", ["prompt", "job"])
@pytest.mark.parametrize("kind", ["webhook", "event", "cron"])
async def test_routines_fire_once_and_notify_at_every_kill_point(
    tmp_path: Path, kind: Kind, work: Work, profile: Profile, proof_record: ProofRecord
) -> None:
    points = await points_of(tmp_path / "dry", kind, work)
    every = profile.pick(test=10, proof=1)
    struck = points[profile.seed % every :: every]
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, point: Point) -> str | None:
        async with at_once:
            try:
                await strike(tmp_path / str(number), kind, point, reruns=number % 2 == 0, work=work)
            except* (AssertionError, TimeoutError) as failures:
                said = "; ".join(repr(failure) for failure in failures.exceptions)
            else:
                return None
            return f"{point}: {said} (in {tmp_path / str(number)})"

    async with asyncio.TaskGroup() as group:
        strikes = [group.create_task(one(n, point)) for n, point in enumerate(struck)]
    failures = [failure for task in strikes if (failure := task.result()) is not None]
    print(f"{kind}, {work}: {len(struck)} of {len(points)} kill points, {len(struck) - len(failures)} kept")
    what = kind if work == "prompt" else f"{kind}_{work}"
    facts = {f"{what}_kill_points": len(points), f"{what}_struck": len(struck)}
    proof_record("crash-routines", **facts)
    assert not failures, "\n".join(failures)
