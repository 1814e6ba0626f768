"""A hub whose model speaks Anthropic's Messages API."""

from pathlib import Path

from tests.harness.telegram_hub import LIMIT_S, OWNER, open_hub


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
