"""Stopping in good order: `hubbub run` ends soon and well, loses nothing, and it counts as no crash."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from core.runs.recovery import CRASH_LIMIT
from tests.crash.mortal import LIMIT_S, OWNER, UNKNOWN, MortalHub, open_mortal_hub, survivors
from tests.simulators.model import Hold

STOP_LIMIT_S = 30.0
HELD = "say: it is done"


async def interrupt(town: MortalHub, number: signal.Signals) -> int:
    """Stop the hub as Ctrl-C (or a service manager) does; its exit code. Raises TimeoutError."""
    assert town.hub is not None
    town.hub.send_signal(number)
    await town.hub.wait(STOP_LIMIT_S)
    return await town.exit_code()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_turn_interrupted_by_a_stop_is_finished_after_the_next_start(
    tmp_path: Path, number: signal.Signals
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        town.model.fault(Hold(at="mid_stream"), times=None)
        await town.run()
        town.telegram.user_sends_text(OWNER, HELD)
        await town.model.wait_requests(state="held", timeout_s=LIMIT_S)
        town.telegram.user_sends_text(OWNER, "say: and this, too")
        await town.telegram.wait_confirmed(timeout_s=LIMIT_S)
        # A long turn shows what it has of its reply.
        await town.telegram.wait_text(OWNER, "it is", timeout_s=LIMIT_S)

        assert await interrupt(town, number) == 0
        assert [answer.text for answer in town.telegram.bot_messages(OWNER)] == ["it is"]

        town.model.clear_faults()
        await town.run()
        await town.telegram.wait_text(OWNER, "and this, too", timeout_s=LIMIT_S)
        assert [answer.text for answer in town.telegram.bot_messages(OWNER)] == [
            "it is done",
            "and this, too",
        ]


async def test_a_tool_interrupted_by_a_stop_is_asked_about_and_not_run_again(tmp_path: Path) -> None:
    async with open_mortal_hub(tmp_path) as town:
        os.mkfifo(town.workspace / "gate")
        await town.run()
        town.telegram.user_sends_text(OWNER, "please run: echo line >> out && cat gate")
        await town.telegram.wait_text(OWNER, "Run `", timeout_s=LIMIT_S)
        town.answer_cards(OWNER)
        # Opening it waits for the tool to open its end; while it is open, the tool reads on.
        with await asyncio.to_thread((town.workspace / "gate").open, "w"):
            assert await interrupt(town, signal.SIGINT) == 0
        assert not survivors(town)

        await town.run()
        await town.telegram.wait_text(OWNER, UNKNOWN, timeout_s=LIMIT_S)
        await town.answer_cards_until([OWNER], lambda: bool(town.answers(OWNER, "Done:")))
        assert (town.workspace / "out").read_text() == "line\n"


async def test_an_orderly_stop_is_not_a_crash(tmp_path: Path) -> None:
    async with open_mortal_hub(tmp_path) as town:
        town.model.fault(Hold(at="before_headers"), times=None)
        town.telegram.user_sends_text(OWNER, HELD)
        for _ in range(CRASH_LIMIT):
            await town.run()
            await town.model.wait_requests(town.starts, timeout_s=LIMIT_S)
            assert await interrupt(town, signal.SIGINT) == 0
        town.model.clear_faults()
        await town.run()
        await town.telegram.wait_bot_messages(OWNER, timeout_s=LIMIT_S)
        assert [answer.text for answer in town.telegram.bot_messages(OWNER)] == ["it is done"]


@pytest.mark.slow
async def test_an_orderly_stop_is_not_a_crash_of_a_routine_run_either(tmp_path: Path) -> None:
    async with open_mortal_hub(tmp_path) as town:
        (town.directory / "held.json").write_text(json.dumps({"guardrails": {"rerun_interrupted": True}}))
        words = ("routines", "add", "held", "--match", "deploy", "--prompt", HELD, "--file")
        await town.command(*words, str(town.directory / "held.json"))
        town.model.fault(Hold(at="before_headers"), times=None)
        town.telegram.user_sends_text(OWNER, "deploy it")
        for _ in range(CRASH_LIMIT + 1):
            await town.run()
            await town.model.wait_requests(2 * town.starts, timeout_s=LIMIT_S)  # the turn's, and the run's
            assert await interrupt(town, signal.SIGINT) == 0
        town.model.clear_faults()
        await town.run()
        notice = await town.telegram.wait_text(OWNER, "Routine “held”", timeout_s=LIMIT_S)
        assert "it is done" in notice.text
