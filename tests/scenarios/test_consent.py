"""Consent as people meet it: cards, presses, words, and who may."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.clock import zone_at_noon
from tests.harness.process import hubbub
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.simulators.model import ToolCall, tools

GUEST = 100
RUN = "please run: echo line >> out.txt"
REFUSED = ("This request has expired", "Already closed: Not approved")


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        opened.telegram.add_user(GUEST, first_name="Gus")
        yield opened


def lines(house: Hub) -> list[str]:
    out = house.workspace / "out.txt"
    return out.read_text().split() if out.exists() else []


async def test_an_approved_call_runs_once_and_its_card_says_so(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    assert "echo line >> out.txt" in card.text
    assert lines(house) == []
    assert await house.pressed(OWNER, card, 0) == "Approved by owner"
    await house.telegram.wait_text(OWNER, "Done:")
    settled = house.telegram.bot_messages(OWNER)[0]
    assert settled.keyboard is None
    assert settled.text.endswith("Approved by owner")
    assert lines(house) == ["line"]


async def test_a_second_press_runs_nothing_and_tells_who_decided(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_text(OWNER, "Done:")
    assert await house.pressed(OWNER, card, 1) == "Already closed: Approved by owner"
    assert lines(house) == ["line"]


async def test_a_denied_call_does_not_run_and_the_model_learns_it(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    await house.pressed(OWNER, card, 1)
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house) == []
    told = house.model.log[-1].body["messages"][-1]
    assert told["role"] == "tool"
    assert "denied" in told["content"].lower()


@pytest.mark.parametrize("word, runs", [("yes", True), ("Approve", True), ("no", False), ("deny", False)])
async def test_a_bare_word_answers_the_only_card(house: Hub, word: str, *, runs: bool) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    await house.card(OWNER)
    house.telegram.user_sends_text(OWNER, word)
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house) == (["line"] if runs else [])


@pytest.mark.parametrize("word", ["ok", "y", "yes please", "cancel", "/queue yes"])
async def test_other_words_are_not_an_answer(house: Hub, word: str) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    house.telegram.user_sends_text(OWNER, word)
    await house.telegram.wait_text(OWNER, "Your message is queued")
    assert lines(house) == []
    await house.pressed(OWNER, card, 1)
    await house.telegram.wait_text(OWNER, f"You said: {word.removeprefix('/queue ')}")


async def test_yes_with_nothing_waiting_is_text(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "yes")
    await house.telegram.wait_text(OWNER, "You said: yes")


async def test_a_typed_id_answers_its_gate(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    gate_id = card.choices[0].split(":")[1]
    house.telegram.user_sends_text(OWNER, f"/approve {gate_id.upper()}")
    await house.telegram.wait_text(OWNER, "Done:")
    assert lines(house) == ["line"]


async def test_a_strangers_press_is_refused_with_a_reason(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    house.telegram.user_sends_text(GUEST, "hi")
    shown = await house.telegram.wait_text(GUEST, "You said: hi")
    query = house.telegram.user_presses_button(GUEST, shown.id, data=card.choices[0])
    answered = await house.telegram.wait_callback_answer(query.id)
    assert answered.answers[0]["text"] == "You are not allowed to decide this."
    assert lines(house) == []
    await house.pressed(OWNER, card, 1)


async def test_a_guest_cannot_reach_the_shell(house: Hub) -> None:
    house.telegram.user_sends_text(GUEST, RUN)
    await house.telegram.wait_bot_messages(GUEST, 1)
    offered = [tool["function"]["name"] for tool in house.model.log[-1].body.get("tools", [])]
    assert "shell" not in offered
    house.telegram.user_sends_text(GUEST, 'please call: shell {"command": "echo line >> out.txt"}')
    await house.telegram.wait_bot_messages(GUEST, 2)
    assert lines(house) == []
    assert not house.open_cards(GUEST)


async def test_a_guests_daily_model_calls_survive_a_restart(tmp_path: Path) -> None:
    limit = "[roles.guest]\ndaily_model_calls = 2"
    async with open_hub(tmp_path, extra=limit, timezone=zone_at_noon()) as house:
        house.telegram.add_user(GUEST, first_name="Gus")
        for number in range(2):
            house.telegram.user_sends_text(GUEST, f"hello {number}")
            await house.telegram.wait_text(GUEST, f"You said: hello {number}")
        await house.stop()
        await house.start()
        house.telegram.user_sends_text(GUEST, "hello again")
        await house.telegram.wait_text(GUEST, "Please try again tomorrow.")
        assert len(house.model.log) == 2
        for number in range(3):
            house.telegram.user_sends_text(OWNER, f"me {number}")
            await house.telegram.wait_text(OWNER, f"You said: me {number}")


async def test_a_waiting_call_survives_a_restart_and_a_press_while_down(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    await house.stop()
    house.telegram.user_presses_button(OWNER, card.id, data=card.choices[0])
    await house.start()
    await house.telegram.wait_text(OWNER, "Done:")
    assert await house.pressed(OWNER, card, 0) == "Already closed: Approved by owner"
    assert lines(house) == ["line"]
    assert not house.open_cards(OWNER)


async def test_stop_while_a_call_waits_settles_its_card(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    house.telegram.user_sends_text(OWNER, "/stop")
    await house.telegram.wait_for(lambda: not house.open_cards(OWNER), LIMIT_S)
    assert await house.pressed(OWNER, card, 0) == "Already closed: Stopped."
    assert lines(house) == []


async def test_an_unanswered_card_expires_as_not_approved(tmp_path: Path) -> None:
    extra = "[approvals]\nexpires_after_s = 60"
    async with open_hub(tmp_path, extra=extra, speed=100) as house:
        house.telegram.user_sends_text(OWNER, RUN)
        await house.telegram.wait_text(OWNER, "answer in time")
        await house.telegram.wait_text(OWNER, "Done:")
        assert lines(house) == []


async def test_after_its_deadline_neither_button_nor_program_nor_command_approves(house: Hub) -> None:
    """The clock jumps: what was asked is over before anybody has looked for what has expired."""
    house.telegram.user_sends_text(OWNER, RUN)
    card = await house.card(OWNER)
    api = json.loads((house.directory / "data" / "api.json").read_text())
    gate_id = card.choices[0].split(":")[-2]
    house.clock.skip(86_400)
    assert (await house.pressed(OWNER, card, 0)).startswith(REFUSED)
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {api['token']}"}) as http:
        said = {"request_id": gate_id, "action": "approve"}
        answer = await http.post(f"{house.app.url}/api/chat/gate/resolve", json=said)
        assert answer.status == 409, await answer.text()
    decided = await hubbub(house.directory, "approvals", "decide", gate_id, "approve")
    assert decided.code == 1
    await house.telegram.wait_text(OWNER, "answer in time")
    await house.stop()
    assert lines(house) == []


async def test_at_the_round_limit_a_person_may_continue(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[approvals]\nmax_rounds = 2") as house:
        house.model.rule(r".*", tools(ToolCall("time", {})), on="any")
        house.telegram.user_sends_text(OWNER, "what time is it?")
        card = await house.card(OWNER)
        assert "2 rounds" in card.text
        await house.pressed(OWNER, card, 0)
        await house.telegram.wait_for(lambda: len(house.telegram.bot_messages(OWNER)) == 2, LIMIT_S)
        assert house.model.log.taken == 4
        house.model.reset()
        await house.pressed(OWNER, house.open_cards(OWNER)[0], 1)
        await house.telegram.wait_text(OWNER, "Done:")
        assert not house.model.log[-1].body.get("tools")
