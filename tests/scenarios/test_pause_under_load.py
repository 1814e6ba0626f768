"""The kill switch while calls run in several conversations: once it has answered, no effect begins."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.scenarios.test_access import MENTION

GROUPS = 4
CALLS = 6
"""Together fewer than a person may make a minute; between the rounds an hour goes by."""
WRITE = "please run: date +%s%N >> began.txt"
"""Each program writes when it began; the clock is this process's own."""


def began_ns(house: Hub) -> list[int]:
    """When the calls so far began."""
    path = house.workspace / "began.txt"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


async def says(house: Hub, text: str, answer: str) -> None:
    """The owner writes, and is answered with these words behind all that was said before."""
    before = len(house.says(OWNER))
    house.telegram.user_sends_text(OWNER, text)
    await house.telegram.wait_for(lambda: any(answer in said for said in house.says(OWNER)[before:]), LIMIT_S)


async def answered(house: Hub, group: int, before: int) -> None:
    """Until a group's turn has ended with an answer."""
    await house.telegram.wait_for(
        lambda: any("Done:" in said for said in house.says(group)[before:]), LIMIT_S
    )


async def rounds(house: Hub, times: int) -> tuple[int, int]:
    """Pause so often while calls begin; how many began, and how many did not. Fails if one began too late."""
    groups = [house.telegram.create_group(f"Group {n}", [OWNER]).id for n in range(GROUPS)]
    house.telegram.user_sends_text(OWNER, WRITE)
    await house.pressed(OWNER, await house.card(OWNER), 2)
    await house.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
    first = len(began_ns(house))
    for number in range(times):
        said = f"{number}\n" + "\n".join([WRITE] * CALLS)
        before = {group: len(house.says(group)) for group in groups}
        enough = len(began_ns(house)) + 1 + number % (GROUPS * CALLS // 2)
        for group in groups:
            house.telegram.user_sends_text(OWNER, f"{MENTION} {said}", chat_id=group)
        async with asyncio.timeout(LIMIT_S):
            while len(began_ns(house)) < enough:  # noqa: ASYNC110 - a file tells nobody
                await asyncio.sleep(0.001)
        await says(house, "/pause", "All tools are paused.")
        answered_at_ns = time.time_ns()
        for group in groups:
            await answered(house, group, before[group])
        assert [began for began in began_ns(house) if began > answered_at_ns] == []
        await says(house, "/unpause", "Tools can run again.")
        house.clock.skip(3600)
    begun = len(began_ns(house)) - first
    return begun, times * GROUPS * CALLS - begun


@pytest.mark.slow
@pytest.mark.timeout(3600)
async def test_after_a_pause_is_confirmed_no_effect_begins(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    hubs, times = profile.pick(test=(1, 3), ci=(1, 5), proof=(20, 25))
    begun = held_back = 0
    for number in range(hubs):
        directory = tmp_path / f"hub{number}"
        directory.mkdir()
        async with open_hub(directory, extra='groups = "addressed"') as house:
            more_begun, more_held_back = await rounds(house, times)
        begun, held_back = begun + more_begun, held_back + more_held_back
    assert held_back > 0
    pauses = hubs * times
    proof_record(
        "pause", pauses=pauses, calls_begun=begun, calls_held_back=held_back, begun_after_the_answer=0
    )
