"""Kills at random moments while twenty messages are in flight."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.crowd import GUESTS, OWNERS, SETUP, Said, answered, compose, judge, reply
from tests.crash.mortal import LIMIT_S, TOKEN, MortalHub, open_mortal_hub
from tests.crash.points import ANY, AtCommit
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

ROUNDS, AT_ONCE = 10, 3
BLOCKS = 20
"""Of ten rounds each, so that a run can be cut into slices."""
COMMITS, REQUESTS = 115, 36
"""A little fewer than a round passes on a quiet machine: a kill planned for later strikes when everything is
done."""


@dataclass(frozen=True, slots=True)
class Moment:
    """So long after the platform took the request of that number."""

    request: int
    delay_s: float


def plan(rng: random.Random) -> AtCommit | Moment:
    """When the hub is to die."""
    if rng.random() < 0.5:
        return AtCommit(ANY, rng.randint(1, COMMITS), rng.choice(("before", "after")))
    return Moment(rng.randint(1, REQUESTS), rng.uniform(0, 0.02))


async def strike(town: MortalHub, when: AtCommit | Moment) -> None:
    """Until the hub is dead."""
    if isinstance(when, Moment):
        await town.telegram.wait_number(when.request, LIMIT_S)
        await asyncio.sleep(when.delay_s)  # the moment itself, not a wait for something
        await town.kill()
    assert town.hub is not None
    await town.hub.wait(LIMIT_S)


async def strike_or_settle(town: MortalHub, when: AtCommit | Moment, messages: Sequence[Said]) -> bool:
    """Until the hub was struck, or has done everything before; then it is killed at rest. Whether it was
    struck."""
    async with asyncio.TaskGroup() as group:
        ends = [
            group.create_task(strike(town, when)),
            group.create_task(town.telegram.wait_for(lambda: answered(town, messages), LIMIT_S)),
        ]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        struck = ends[0].done()
        for end in ends:
            end.cancel()
    await town.kill()
    await town.telegram.wait_for(lambda: not town.telegram.is_polling(TOKEN), LIMIT_S)
    return struck


async def play(town: MortalHub, rng: random.Random) -> bool:
    """One round, judged; whether the kill struck before everything was done."""
    messages, when = compose(rng), plan(rng)
    await town.start(when if isinstance(when, AtCommit) else None)
    if isinstance(when, Moment) and rng.random() < 0.5:
        await town.telegram.wait_polling(timeout_s=LIMIT_S)
    for said in messages:
        town.telegram.user_sends_text(said.person, said.text)
    async with asyncio.TaskGroup() as group:
        group.create_task(
            town.answer_cards_until(OWNERS, lambda: town.starts > 1 and answered(town, messages))
        )
        struck = await strike_or_settle(town, when, messages)
        await town.start()
    events = await town.account()
    await town.stop()
    judge(town, messages, events, town.ledger(1))
    return struck


async def open_and_play(directory: Path, seed: int) -> tuple[bool, str | None]:
    """A round of its own; whether the kill struck in time, and what went wrong."""
    directory.mkdir()
    said: list[str] = []
    struck = True
    try:
        async with open_mortal_hub(directory, SETUP) as town:
            for person in (*OWNERS[1:], *GUESTS):
                town.telegram.add_user(person, first_name=f"Person {person}")
            town.model.rule("mark-", reply, on="any")
            struck = await play(town, random.Random(seed))
    except* (AssertionError, TimeoutError) as failures:
        said += [repr(failure) for failure in failures.exceptions]
    return struck, f"seed {seed}: {'; '.join(said)} (in {directory})" if said else None


async def run(directory: Path, seeds: Sequence[int], proof_record: ProofRecord) -> None:
    """Rounds with these seeds, some beside each other."""
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int) -> tuple[bool, str | None]:
        async with at_once:
            return await open_and_play(directory / str(seed), seed)

    async with asyncio.TaskGroup() as group:
        rounds = [group.create_task(one(seed)) for seed in seeds]
    failures = [failure for task in rounds if (failure := task.result()[1]) is not None]
    struck = sum(task.result()[0] for task in rounds)
    print(f"random kills with seeds {seeds[0]} to {seeds[-1]}: {len(seeds)}, {struck} before all was done")
    proof_record("crash", random_kills=len(seeds), struck_in_flight=struck, seeds=[seeds[0], seeds[-1]])
    assert not failures, "\n".join(failures)
    assert struck >= len(seeds) // 2, "most kills came too late to show anything"


async def test_twenty_messages_in_flight_survive_random_kills(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    first = profile.seed * 1000
    await run(tmp_path, range(first, first + profile.pick(test=2, ci=ROUNDS, proof=ROUNDS)), proof_record)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("block", range(1, BLOCKS + 1))
async def test_messages_in_flight_survive_many_random_kills(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord, block: int
) -> None:
    first = profile.seed * 1000 + block * ROUNDS
    await run(tmp_path, range(first, first + ROUNDS), proof_record)
