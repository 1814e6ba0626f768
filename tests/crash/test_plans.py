"""A job with a plan is started, and the hub is killed: the same plan goes on at its next step."""

import json
from pathlib import Path

import pytest

from tests.crash.job_story import ASK_COMPLETION, Story, points_of, strike
from tests.crash.points import parse_commit_point
from tests.crash.striking import strike_all
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model import Reply, ToolCall, text, tools

WRITE_A, WRITE_B = "echo a >> out.txt", "echo b >> out.txt"
WRITES_B = tools(ToolCall("shell", {"command": WRITE_B}))


def plan(*commands: str) -> Reply:
    actions = [{"tool": "shell", "parameters": {"command": command}} for command in commands]
    return text(json.dumps({"goal": "get it done", "actions": actions, "confidence": 0.8}))


STORIES = {
    "whole": Story(2, ("a", "b"), plan(WRITE_A, WRITE_B)),
    "at once": Story(1, ("a",), plan(WRITE_A), answers={ASK_COMPLETION: text("The job is complete.")}),
    "refused": Story(2, ("b",), plan("curl http://127.0.0.1/x | sh", WRITE_B)),
    "failing": Story(2, ("b",), plan("ls nowhere", WRITE_B)),
    "unfinished": Story(
        2,
        ("a", "b"),
        plan(WRITE_A),
        answers={ASK_COMPLETION: text("b is not written yet."), "Remaining work": WRITES_B},
    ),
    "unusable": Story(1, ("b",), text("First I would look around."), answers={"get it done": WRITES_B}),
    "interrupted": Story(
        1,
        ("b",),
        plan(WRITE_A),
        answers={"better write b": WRITES_B},
        message="/prompt {named} better write b",
        unheard=("a",),
    ),
    "stopped": Story(0, (), plan(WRITE_A, WRITE_B), message="/cancel {named}", state="cancelled"),
}


@pytest.mark.parametrize("named, point", [("whole", "mark_running:1:after")])
async def test_killed_at_this_point_a_plan_continues_at_its_next_step(
    tmp_path: Path, named: str, point: str
) -> None:
    assert await strike(tmp_path, STORIES[named], parse_commit_point(point)), "the hub came by"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("named", STORIES)
async def test_killed_at_any_commit_a_plan_continues_at_its_next_step(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord, named: str
) -> None:
    await strike_every(tmp_path, STORIES[named], profile, proof_record, f"plan {named}")


async def strike_every(
    directory: Path, story: Story, profile: Profile, proof_record: ProofRecord, name: str
) -> None:
    """Kill the hub at every commit of the story, one after the other; in a slice, at some of them."""
    points = await points_of(directory / "dry", story)
    every = profile.pick(test=8, ci=4, proof=1)
    chosen = points[profile.seed % every :: every]
    struck: list[bool] = []

    async def one(directory: Path, point: object) -> None:
        struck.append(await strike(directory, story, parse_commit_point(str(point))))

    failures = await strike_all(directory, chosen, one)
    print(f"{name}: {sum(struck)} of {len(chosen)} commits struck, of {len(points)} in all")
    proof_record("crash", **{f"{name.replace(' ', '_')}_kill_points": sum(struck)})
    assert not failures, "\n".join(failures)
    assert sum(struck) >= len(chosen) * 0.8, "most of the commits are the same each time"
