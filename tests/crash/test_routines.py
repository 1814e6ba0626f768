"""A message fires a routine, and the hub is killed: one run, one recorded end, told; twice only as marked."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, open_mortal_hub
from tests.crash.points import parse_commit_point

MESSAGE = "Routine “watch”"
SLOW = pytest.mark.slow
RERUN = {"rerun_interrupted": True, "cooldown_s": 0}


async def the_run(town: MortalHub) -> dict[str, Any]:
    """The one run, once the hub has noted that its notice was sent: what is shown comes before that."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            (run,) = json.loads(await town.command("routines", "history", "watch", "--json"))
            if run["notice"] == "sent":
                return run


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("accept_event:2:before", marks=SLOW),  # nothing is kept: it comes again
        "accept_event:2:after",  # the message is kept, and with it the run
        pytest.param("begin_runs:2:after", marks=SLOW),  # the run is started and nothing was done
        pytest.param("open_run_journal:1:after", marks=SLOW),  # the question is journalled and not asked
        pytest.param("finish_run:1:before", marks=SLOW),  # the model has answered, and nobody knows
        "finish_run:1:after",  # the run has ended, and nobody was told
        "add_notice:1:after",  # the notice is in the outbox, and nobody knows
        pytest.param("settle_notice:1:after", marks=SLOW),
    ],
)
async def test_killed_at_this_point_the_routine_runs_once_and_notifies_its_owner(
    tmp_path: Path, point: str
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        page = town.directory / "watch.json"
        page.write_text(json.dumps({"guardrails": RERUN}))
        words = ("routines", "add", "watch", "--match", "deploy", "--prompt", "Look.", "--file", str(page))
        await town.command(*words)
        hub = await town.start(parse_commit_point(point))
        town.owner_says("hello")
        await town.telegram.wait_text(OWNER, "You said: hello", timeout_s=LIMIT_S)
        town.owner_says("deploy it")
        await hub.wait(LIMIT_S)
        await town.start()
        await town.telegram.wait_text(OWNER, MESSAGE, timeout_s=LIMIT_S)
        await town.telegram.wait_text(OWNER, "You said: deploy it", timeout_s=LIMIT_S)
        await town.account()
        run = await the_run(town)
        await town.stop()
        assert run["status"] == "attention"
        told = [message for message in town.shown_to(OWNER) if MESSAGE in message.text]
        assert len(told) == 1


@pytest.mark.parametrize(
    "point, known",
    [
        pytest.param(
            "open_run_journal:1:after", True, marks=SLOW
        ),  # the scope is fixed and nothing was asked
        pytest.param(
            "record_reply_and_intents:1:before", True, marks=SLOW
        ),  # the model has asked, and nobody knows
        pytest.param("record_reply_and_intents:1:after", True, marks=SLOW),  # the call is an intent
        pytest.param("mark_running:1:before", True, marks=SLOW),
        pytest.param("mark_running:1:after", False, marks=SLOW),  # it might have run
        pytest.param("finish_calls:1:before", False, marks=SLOW),  # it has run, and nobody knows
        pytest.param("finish_calls:1:after", True, marks=SLOW),
        pytest.param("finish_run:1:before", True, marks=SLOW),
    ],
)
async def test_killed_at_this_point_no_tool_of_a_run_acts_twice(
    tmp_path: Path, point: str, known: bool
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        page = town.directory / "watch.json"
        tools = {"type": "lightweight", "prompt": "", "use_tools": True, "allowed_tools": ["shell"]}
        page.write_text(json.dumps({"guardrails": RERUN, "action": tools}))
        prompt = "please run: echo line >> out.txt"
        words = ("routines", "add", "watch", "--match", "deploy", "--prompt", prompt, "--file", str(page))
        await town.command(*words)
        hub = await town.start(parse_commit_point(point))
        town.owner_says("deploy it")
        await hub.wait(LIMIT_S)
        await town.start()
        notice = await town.telegram.wait_text(OWNER, MESSAGE, timeout_s=LIMIT_S)
        await town.account()
        run = await the_run(town)
        await town.stop()
        assert run["status"] == "attention"
        out = town.workspace / "out.txt"
        lines = out.read_text().split() if out.exists() else []
        assert lines == (["line"] if known or "finish" in point else [])
        assert ("shell was interrupted" in notice.text) is not known
