"""A hub whose model speaks Anthropic's Messages API."""

import json
from pathlib import Path

import pytest

from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, open_hub
from tests.simulators.model import Reply, ToolCall


async def test_a_call_is_approved_run_and_answered(tmp_path: Path) -> None:
    async with open_hub(tmp_path, provider="anthropic") as house:
        house.telegram.user_sends_text(OWNER, 'please call: write_file {"path": "a.txt", "content": "milk"}')
        card = await house.card(OWNER)
        assert "content: milk" in card.text
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "Wrote 4 bytes to a.txt")
        assert (house.workspace / "a.txt").read_text() == "milk"
        house.telegram.user_sends_text(OWNER, "say: and now this")
        await house.telegram.wait_text(OWNER, "and now this", timeout_s=LIMIT_S)
        assert [(one.wire, one.state) for one in house.model.log.all()] == [("anthropic", "answered")] * 3


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_call_of_a_reply_that_was_cut_is_not_run(tmp_path: Path, provider: str) -> None:
    async with open_hub(tmp_path, provider=provider) as house:
        (house.workspace / "a.txt").write_text("milk")
        whole = ToolCall("list_dir", {"path": "."})
        house.model.enqueue(Reply("Looking.", calls=(whole,), finish="length"), "I could not look.")
        house.telegram.user_sends_text(OWNER, "what is there?")
        await house.telegram.wait_text(OWNER, "I could not look.", timeout_s=LIMIT_S)
        asked = json.dumps(house.model.log[-1].body)
        assert "cut off at the output limit, so it was not run" in asked
        assert "a.txt" not in asked


async def test_thinking_goes_on_through_calls_and_a_restart(tmp_path: Path) -> None:
    async with open_hub(tmp_path, provider="anthropic", model='thinking = "low"') as house:
        house.telegram.user_sends_text(OWNER, 'please call: write_file {"path": "a.txt", "content": "milk"}')
        card = await house.card(OWNER)
        await house.stop()
        await house.start()
        await house.telegram.wait_polling(TOKEN, LIMIT_S)
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "Wrote 4 bytes to a.txt", timeout_s=LIMIT_S)
        first, second = (one.body for one in house.model.log.all())
        assert first["thinking"] == second["thinking"] == {"type": "adaptive"}
        kinds = [block["type"] for block in second["messages"][1]["content"]]
        assert kinds == ["thinking", "tool_use"]
