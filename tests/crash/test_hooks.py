"""A hub with hooks, killed wherever it can be: nothing gets past them, what they change is changed once."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.asked_hooks import CARDS, POINTS, SAID, SEEN, AskedHooks, open_hooks
from tests.crash.mortal import OWNER, MortalHub, Setup, open_mortal_hub
from tests.crash.points import InHook, Point, parse_commit_point
from tests.crash.story import judge, play
from tests.crash.striking import strike_all
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

REQUEST = "please run: echo draft >> notes"
"""Hooks make `echo line >> out` of it: one of the message, one of the call."""


async def tell(directory: Path, point: Point | None) -> Sequence[Point]:
    """The story, judged; with its points."""
    async with (
        open_hooks() as hooks,
        open_mortal_hub(directory, Setup(extra=hooks.section)) as town,
    ):
        town.hooks = hooks
        kill = await play(town, point, REQUEST)
        await town.stop()
        await judge(town, kill)
        judge_hooks(town, hooks, killed=kill is not None)
        points: list[Point] = [parse_commit_point(line) for line in town.trace(1)]
        points += [InHook(at, nth + 1) for at, count in hooks.asked.items() for nth in range(count)]
    return points


def judge_hooks(town: MortalHub, hooks: AskedHooks, *, killed: bool) -> None:
    """By what the model was told, what is on disk, and what people see."""
    assert "draft" not in repr([exchange.body for exchange in town.model.log.all()])
    assert not (town.workspace / "notes").exists(), "a call ran as it was before hooks changed it"
    for message in town.shown_to(OWNER):
        if any(words in message.text for words in CARDS):
            continue
        assert message.text.count(SEEN) == 1, f"what went out was not changed once: {message.text}"
    (answer,) = {message.text for message in town.answers(OWNER, "Done:")}
    assert answer.count(SAID) == 1
    assert set(hooks.asked) == set(POINTS)
    if not killed:
        # One of the model's two replies says something; what went out: the card, its outcome, the answer.
        assert hooks.asked == Counter(dict.fromkeys(POINTS, 1) | {"before_outbound": 3})


@pytest.mark.slow
async def test_killed_anywhere_nothing_gets_past_hooks(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    dry = tmp_path / "dry"
    dry.mkdir()
    points = await tell(dry, None)
    every = profile.pick(test=4, proof=1)
    struck = points[profile.seed % every :: every]

    async def story(directory: Path, point: Point) -> None:
        await tell(directory, point)

    failures = await strike_all(tmp_path, struck, story)
    print(f"{len(struck)} of {len(points)} kill points, {len(struck) - len(failures)} kept every promise")
    proof_record("crash", hooks_kill_points=len(struck))
    assert not failures, "\n".join(failures)
    units = {str(point).partition(":")[0] for point in points}
    assert {"release_input", "judge_outbound", "hook"} <= units


@pytest.mark.slow
async def test_killed_while_a_hook_looks_at_an_answer_it_looks_again(tmp_path: Path) -> None:
    await tell(tmp_path, InHook("before_outbound", 3))
