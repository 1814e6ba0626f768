"""Calls without effect, side by side in a real hub: a tool server answers only once three are in progress."""

import asyncio
from pathlib import Path

import pytest

from core.routine import RunStatus
from tests.harness.telegram_hub import OWNER, Hub, open_hub
from tests.patience import PATIENCE_S
from tests.scenarios.routine_house import fired, greeted
from tests.scenarios.test_mcp import becomes, call, section

SETTINGS = """[mcp.raw.tools.say]
effect = "none"
requirement = "never"
"""
THREE = "\n".join(call("raw__say", text=name) for name in ("one", "two", "three"))


def given(house: Hub) -> list[str]:
    """The results the model was last given, in its order."""
    messages = house.model.log[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


@pytest.mark.parametrize("by", ["a person", "a routine"])
async def test_three_calls_are_in_progress_at_once_and_answered_in_call_order(
    tmp_path: Path, by: str
) -> None:
    settings = section(tmp_path, "meets", extra=SETTINGS)
    async with open_hub(tmp_path, extra=settings) as house:
        await becomes(house, "ready")
        async with asyncio.timeout(PATIENCE_S):
            if by == "a person":
                house.telegram.user_sends_text(OWNER, THREE)
                await house.telegram.wait_text(OWNER, "Done: ")
            else:
                await greeted(house)
                action = {"prompt": THREE, "use_tools": True, "allowed_tools": ["raw__say"]}
                assert (await fired(house, "three", action)).state is RunStatus.ATTENTION
        results = given(house)
        assert len(results) == 3
        assert all(name in result for name, result in zip(("one", "two", "three"), results, strict=True))
