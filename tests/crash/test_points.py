"""Every point of the story at which a hub can die; each one struck, each promise kept."""

import asyncio
from collections import Counter
from pathlib import Path

from tests.crash.nursery import Nursery
from tests.crash.points import AtCommit, InModel, InTelegram, InTool, Point, parse_commit_point
from tests.crash.story import judge, play
from tests.crash.town import open_town
from tests.plugins.proof import ProofRecord

AT_ONCE = 4
POLLS_STRUCK = 2
"""A poll ends whenever something arrives: how many there are is not fixed, the first ones are."""


async def dry_run(nursery: Nursery, directory: Path) -> list[Point]:
    """The points the story passes when nothing goes wrong."""
    directory.mkdir()
    async with open_town(nursery, directory) as town:
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


async def strike(nursery: Nursery, directory: Path, point: Point) -> str | None:
    """Kill there and judge; what went wrong, or None."""
    directory.mkdir()
    said: list[str] = []
    try:
        async with open_town(nursery, directory) as town:
            kill = await play(town, point)
            await town.stop()
            await judge(town, kill)
    except* (AssertionError, TimeoutError) as failures:
        said += [repr(failure) for failure in failures.exceptions]
    return f"{point}: {'; '.join(said)} (in {directory})" if said else None


async def test_every_point_is_struck_and_every_promise_kept(
    nursery: Nursery, tmp_path: Path, proof_record: ProofRecord
) -> None:
    points = await dry_run(nursery, tmp_path / "dry")
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, point: Point) -> str | None:
        async with at_once:
            return await strike(nursery, tmp_path / str(number), point)

    async with asyncio.TaskGroup() as group:
        strikes = [group.create_task(one(n, point)) for n, point in enumerate(points)]
    failures = [failure for task in strikes if (failure := task.result()) is not None]
    print(f"{len(points)} kill points, {len(points) - len(failures)} kept every promise")
    proof_record("crash", kill_points=len(points))
    assert not failures, "\n".join(failures)
    assert {type(point) for point in points} == {AtCommit, InTelegram, InModel, InTool}
