"""A hub whose model speaks Anthropic's Messages API."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bot.web.api_client import client
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


async def test_each_call_has_the_reason_that_stands_before_it(tmp_path: Path) -> None:
    key = "sk-" + "a1B2" * 12
    async with open_hub(tmp_path, provider="anthropic") as house:
        first = ToolCall("shell", {"command": "echo a >> out"}, said="<think>hm</think>First a.")
        second = ToolCall("shell", {"command": "echo b >> out"}, said=f"Then b, with {key}.")
        house.model.enqueue(Reply("", calls=(first, second, replace(first, said=""))))
        house.telegram.user_sends_text(OWNER, "go")
        card = await house.card(OWNER)
        reasons = [line for line in card.text.splitlines() if line.startswith("The model's reason:")]
        assert [reason.partition(": ")[2] for reason in reasons[:1]] == ['"First a."']
        assert reasons[1].startswith("The model's reason: \"Then b, with ")
        assert reasons[2].startswith("The model's reason: \"First a.")
        assert key not in card.text
        async with client(house.directory) as api:
            (approval,) = (await api.get("/api/approvals"))["approvals"]
            assert "First a." in approval["calls"][0]["reason"]
        await house.pressed(OWNER, card, 1)


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


@pytest.mark.parametrize(
    "provider, model, settings, sent",
    [
        ("openai", "max_temperature = 2.0", "", (0.7, 4096)),
        ("openai", "max_temperature = 2.0", "temperature = 1.7\nanswer_tokens = 500", (1.7, 500)),
        ("openai", "max_output_tokens = 300", "temperature = 1.7\nanswer_tokens = 500", (None, 300)),
        ("anthropic", "max_temperature = 1.0", "temperature = 1.7", (1.0, 4096)),
        ("anthropic", 'thinking = "low"\nmax_temperature = 1.0', "answer_tokens = 500", (None, 2548)),
    ],
)
async def test_a_model_is_sent_the_temperature_and_answer_length_that_it_accepts(
    tmp_path: Path, provider: str, model: str, settings: str, sent: tuple[float | None, int]
) -> None:
    extra = f"[agent]\n{settings}\n"
    async with open_hub(tmp_path, provider=provider, model=model, extra=extra) as house:
        house.telegram.user_sends_text(OWNER, "hello")
        await house.telegram.wait_text(OWNER, "You said: hello")
        body = house.model.log[-1].body
        assert (body.get("temperature"), body["max_tokens"]) == sent


async def test_thinking_continues_across_calls_and_a_restart(tmp_path: Path) -> None:
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
