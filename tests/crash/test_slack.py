"""The story on Slack: every point at which a hub can die, each promise kept."""

import signal
from pathlib import Path

import pytest

from tests.crash.errand import Inside, Point, judge, play
from tests.crash.slack_story import open_slack_errand, points_of
from tests.crash.striking import strike_all
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["socket", "http"])
async def test_on_slack_every_promise_is_kept_and_nothing_is_shown_twice(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord, mode: str
) -> None:
    points = await points_of(tmp_path / "dry", mode)
    every = profile.pick(test=14, proof=1)
    struck = points[profile.seed % every :: every]

    async def story(directory: Path, point: Point) -> None:
        async with open_slack_errand(directory, mode) as town:
            passed = await play(town, point)
            await town.end(signal.SIGINT)
            judge(town, passed)

    failures = await strike_all(tmp_path, struck, story)
    print(f"{len(struck)} of {len(points)} kill points on Slack ({mode}), {len(struck) - len(failures)} kept")
    proof_record(
        "crash-slack" if mode == "socket" else "crash-slack-http",
        kill_points=len(points),
        struck=len(struck),
    )
    assert not failures, "\n".join(failures)
    assert {"chat.postMessage", "chat.update"} <= {p.method for p in points if isinstance(p, Inside)}
