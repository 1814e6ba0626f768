"""A hub suspended for three leases while another takes over: its writes are refused, nothing is repeated."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.crash.mortal import LIMIT_S, OWNER, UNKNOWN, Setup, open_mortal_hub
from tests.crash.points import AtCommit, InTool, Point
from tests.crash.story import ANSWER, LINE, judge, make_gates, play, wait_for_writer
from tests.crash.striking import strike_all
from tests.crash.test_points import dry_run
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.telegram.world import Message

LEASE_S = 1.0
LIVED_S = 4.0
"""Long enough that no stall of a busy machine is taken for a hub that died."""
FIRST = "take_lease:1:after"


async def suspended_at(directory: Path, point: Point, request: str = "") -> None:
    async with open_mortal_hub(directory, Setup()) as town:
        kill = await play(town, point, request, lease_s=LEASE_S)
        await town.stop()
        await judge(town, kill)


@pytest.mark.parametrize(
    "point",
    [
        InTool(),
        pytest.param(AtCommit("mark_running", 1, "after"), marks=pytest.mark.slow),
        pytest.param(AtCommit("finish_calls", 1, "before"), marks=pytest.mark.slow),
        AtCommit("finish_turn_and_enqueue", 1, "after"),
    ],
    ids=str,
)
async def test_a_suspended_hub_is_fenced(tmp_path: Path, point: Point) -> None:
    """Inside a tool, before its effect, before a commit, before a send."""
    await suspended_at(tmp_path, point)


@pytest.mark.slow
async def test_a_suspended_hub_has_no_effect_that_needs_no_commit(tmp_path: Path) -> None:
    """A command's start is recorded, and so refused; a file is written by itself."""
    request = f"please call: write_file {json.dumps({'path': 'out', 'content': LINE})}"
    await suspended_at(tmp_path, AtCommit("mark_running", 1, "after"), request)


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_nothing_is_lost_or_repeated_at_every_suspension_point(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    points = [point for point in await dry_run(tmp_path / "dry", Setup()) if "lease" not in str(point)]
    first = next(at for at, point in enumerate(points) if str(point).startswith("recover:"))
    every = profile.pick(test=12, ci=6, proof=1)
    struck = points[first + profile.seed % every :: every]
    failures = await strike_all(tmp_path, struck, suspended_at)
    proof_record("leases", suspended_at=len(struck), lost_or_repeated=len(failures))
    assert not failures, "\n".join(failures)


@pytest.mark.slow
async def test_nothing_is_taken_from_a_hub_that_lives(tmp_path: Path) -> None:
    async with open_mortal_hub(tmp_path, Setup()) as town:
        owner = await town.start(lease_s=LIVED_S)
        make_gates(town)
        town.owner_says(f"please run: echo {LINE} >> out && echo . | tee written && cat gate")
        await town.telegram.wait_text(OWNER, "Run `", timeout_s=LIMIT_S)
        town.answer_cards(OWNER)
        await asyncio.to_thread(wait_for_writer, town)
        alone = tmp_path / "second.toml"
        alone.write_text((tmp_path / "hubbub.toml").read_text().partition("[channels.telegram]")[0])
        second = await town.start(lease_s=LIVED_S, config=alone.name)
        await town.served_at_last()
        # Real time is what is tested here: leases lapse by it unless they are renewed. What was sent as the
        # tool began may have renewed the first's once (`hold`): one lease would not be long enough.
        await asyncio.sleep(2.25 * LIVED_S)
        gate = os.open(town.workspace / "gate", os.O_WRONLY | os.O_NONBLOCK)  # the tool still waits there
        os.write(gate, b"go on")
        os.close(gate)
        answered: Message = await town.telegram.wait_text(OWNER, ANSWER, timeout_s=LIMIT_S)
        assert "go on" in answered.text
        assert (town.workspace / "out").read_text().split() == [LINE]
        assert not [shown for shown in town.shown_to(OWNER) if UNKNOWN in shown.text]
        assert (owner.returncode, second.returncode) == (None, None)
        assert json.loads(await town.command("why", "--json"))
        owner.kill()
        await owner.wait(LIMIT_S)
