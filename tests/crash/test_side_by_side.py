"""Calls that run side by side, and the hub is killed when some have their outcome: each ends exactly once."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, open_mortal_hub
from tests.crash.points import parse_commit_point

NAMES = ("one", "two", "three")
THREE = "\n".join(f'please call: echo {{"text": "{name}"}}' for name in NAMES)
SLOW = pytest.mark.slow


def judge(town: MortalHub) -> None:
    """The model is asked on with one result of each call, in the order of the calls."""
    given = [
        [message["content"] for message in asked.body["messages"] if message["role"] == "tool"]
        for asked in town.model.log.all()
    ]
    answered = [results for results in given if results]
    assert answered
    for results in answered:
        assert len(results) == len(NAMES)
        assert all(name in result for name, result in zip(NAMES, results, strict=True))


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("record_reply_and_intents:1:after", marks=SLOW),
        pytest.param("finish_calls:1:before", marks=SLOW),
        "finish_calls:1:after",
        pytest.param("finish_calls:2:after", marks=SLOW),
        pytest.param("finish_calls:3:before", marks=SLOW),
    ],
)
async def test_killed_at_this_point_each_call_of_a_turn_ends_once(tmp_path: Path, point: str) -> None:
    async with open_mortal_hub(tmp_path) as town:
        hub = await town.start(parse_commit_point(point))
        town.owner_says(THREE)
        await hub.wait(LIMIT_S)
        await town.start()
        await town.telegram.wait_text(OWNER, "Done: ", timeout_s=LIMIT_S)
        await town.account()
        await town.stop()
        judge(town)
        assert len([message for message in town.shown_to(OWNER) if "Done: " in message.text]) == 1


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("record_run_reply:1:after", marks=SLOW),
        "finish_calls:1:after",
        pytest.param("finish_calls:2:before", marks=SLOW),
    ],
)
async def test_killed_at_this_point_each_call_of_a_run_ends_once(tmp_path: Path, point: str) -> None:
    async with open_mortal_hub(tmp_path) as town:
        page = town.directory / "three.json"
        action = {"type": "lightweight", "prompt": "", "use_tools": True, "allowed_tools": ["echo"]}
        guardrails = {"rerun_interrupted": True, "cooldown_s": 0}
        page.write_text(json.dumps({"guardrails": guardrails, "action": action}))
        words = ("routines", "add", "three", "--match", "deploy", "--prompt", THREE, "--file", str(page))
        await town.command(*words)
        hub = await town.start(parse_commit_point(point))
        town.owner_says("deploy it")
        await hub.wait(LIMIT_S)
        await town.start()
        async with asyncio.timeout(LIMIT_S):
            while "Routine “three”" not in str(town.shown_to(OWNER)):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
        await town.account()
        await town.stop()
        judge(town)
