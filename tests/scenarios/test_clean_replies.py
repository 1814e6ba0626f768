"""Replies of models that think aloud and write their calls as text, as people see them on a platform."""

import json
from pathlib import Path

from core import texts
from core.runs.loop import NUDGE
from tests.bot.web.api_client import client
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.simulators.model import Reply, ToolCall, text

SPEED = 10
SECRETS = ("<think", "</think", "tool_call", "hm, he wants", "mind of mine")
"""Nothing of these may ever be shown."""
LOOK = json.dumps({"name": "list_dir", "arguments": {"path": "."}})
TOUCH = json.dumps({"name": "shell", "arguments": {"command": "touch ran.txt"}})


def shown(house: Hub) -> list[str]:
    """Every text that was ever sent to the person, previews included."""
    methods = ("sendMessage", "editMessageText")
    requests = house.telegram.requests(chat_id=OWNER)
    return [request.params["text"] for request in requests if request.method in methods]


def nothing_leaked(house: Hub) -> None:
    assert not [(text, secret) for text in shown(house) for secret in SECRETS if secret in text]


async def asked(house: Hub, words: str, *replies: Reply, ends_with: str) -> None:
    for reply in replies:
        house.model.enqueue(reply)
    house.telegram.user_sends_text(OWNER, words)
    await house.telegram.wait_text(OWNER, ends_with, timeout_s=LIMIT_S)


async def test_thinking_and_written_calls_are_never_shown_and_the_calls_run(tmp_path: Path) -> None:
    async with open_hub(tmp_path, speed=SPEED) as house:
        (house.workspace / "notes.txt").write_text("x")
        slow = {"chunk_chars": 3, "delay_s": 0.01}
        thinking = (
            f"<think>{'hm, he wants a list. ' * 12}</think>Looking around.\n<tool_call>{LOOK}</tool_call>"
        )
        answer = f"<thinking>{'mind of mine ' * 5}</thinking>{'There are notes. ' * 12}All told."
        await asked(house, "look", text(thinking, **slow), text(answer, **slow), ends_with="All told.")
        nothing_leaked(house)
        assert house.says(OWNER)[-1] == f"{'There are notes. ' * 12}All told."
        results = [one for one in house.model.log[-1].body["messages"] if one["role"] == "tool"]
        assert len(results) == 1
        assert "notes.txt" in results[0]["content"]
        said = [one["content"] for one in house.model.log[-1].body["messages"] if one["role"] == "assistant"]
        assert said[-1] == "Looking around."


async def test_a_written_call_waits_for_consent_and_its_card_shows_the_models_reason(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        house.model.enqueue(text(f'I mark the "place".\n<tool_call>{TOUCH}</tool_call>'))
        house.telegram.user_sends_text(OWNER, "go")
        card = await house.card(OWNER)
        assert "The model's reason: \"I mark the 'place'.\"" in card.text
        assert not (house.workspace / "ran.txt").exists()
        async with client(house.directory) as api:
            (approval,) = (await api.get("/api/approvals"))["approvals"]
            assert "The model's reason: \"I mark the 'place'.\"" in approval["title"]
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
        assert (house.workspace / "ran.txt").exists()


async def test_nothing_runs_that_is_quoted_not_offered_or_beside_a_real_call(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[approvals]\ndangerous_tools = []\n") as house:
        call = f"<tool_call>{TOUCH}</tool_call>"
        unknown = f"<tool_call>{json.dumps({'name': 'format_disk', 'arguments': {}})}</tool_call>"
        harmless = [
            f"```xml\n{call}\n```\nis how, 1.",
            f"Write `{call}` for it, 2.",
            f"> {call}\n\nsays he, 3.",
            f"{unknown}\nI can't, 4.",
        ]
        for number, words in enumerate(harmless, start=1):
            asked_before = len(house.model.log)
            await asked(house, f"q{number}", text(words), ends_with=f", {number}.")
            assert len(house.model.log) == asked_before + 1
        real = Reply(f"{call}\nBoth.", calls=(ToolCall("list_dir", {"path": "."}),))
        await asked(house, "both", real, text("Only one ran."), ends_with="Only one ran.")
        assert not (house.workspace / "ran.txt").exists()
        assert house.open_cards(OWNER) == []


async def test_silent_empty_and_announcing_replies_are_handled(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        await asked(house, "one", Reply("<think>hm"), text("Here I am."), ends_with="Here I am.")
        house.model.enqueue(text("NO_REPLY"))
        house.telegram.user_sends_text(OWNER, "two")
        await asked(house, "three", Reply(""), Reply("<think>hm"), ends_with=texts.EMPTY_REPLY)
        announced = text("I\u2019ll check the log.")
        await asked(house, "four", announced, announced, text("Checked."), ends_with="Checked.")
        notes = [one["content"] for one in house.model.log[-1].body["messages"]]
        assert sum(NUDGE in str(note) for note in notes) == 2
        assert house.says(OWNER) == ["Here I am.", texts.EMPTY_REPLY, "Checked."]
