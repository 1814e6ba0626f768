"""Questions as people meet them: who may answer, by what, and what the model is told."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio

from tests.bot.web.api_client import client
from tests.harness.telegram_hub import LIMIT_S, OWNER, Card, Hub, open_hub

GUEST = 100
COLOURS = {"question": "Which colour?", "choices": ["red", "dark green"]}
ANY_COLOUR = {**COLOURS, "free_text": True}
OPEN = {"question": "What shall it be called?"}


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        opened.telegram.add_user(GUEST, first_name="Gus")
        yield opened


async def asked(house: Hub, question: Mapping[str, object], person: int = OWNER) -> Card:
    """The card of a question that a turn of this person puts; one without choices has no buttons."""
    house.telegram.user_sends_text(person, f"please call: ask_user {json.dumps(question)}")
    shown = await house.telegram.wait_text(person, str(question["question"]))
    buttons = [b for row in (shown.keyboard or {}).get("inline_keyboard", []) for b in row]
    return Card(shown.id, shown.text, tuple(button["callback_data"] for button in buttons))


def told(house: Hub) -> str:
    """Return what the model was told of the call."""
    last = house.model.log[-1].body["messages"][-1]
    assert last["role"] == "tool"
    return last["content"]


async def settled(house: Hub, card: Card, person: int = OWNER) -> str:
    """The card once it is settled."""
    message = house.telegram.message(person, card.id)
    await house.telegram.wait_for(lambda: message.keyboard is None and message.history, LIMIT_S)
    return message.text


async def test_a_choice_is_the_calls_result_and_the_card_says_so(house: Hub) -> None:
    card = await asked(house, COLOURS)
    assert card.text == "Which colour?"
    assert [data.split(":")[2] for data in card.choices] == ["0", "1"]
    assert await house.pressed(OWNER, card, 1) == "owner chose: dark green"
    await house.telegram.wait_text(OWNER, "Done:")
    assert told(house) == '"owner" chose: dark green'
    assert await settled(house, card) == "Which colour?\n\nowner chose: dark green"
    assert await house.pressed(OWNER, card, 0) == "Already closed: owner chose: dark green"


@pytest.mark.parametrize("words", ["The Beagle, perhaps", "yes", "approve nowhere ABCDEFGH", "ok"])
async def test_words_written_after_the_card_are_the_answer(house: Hub, words: str) -> None:
    card = await asked(house, OPEN)
    assert card.choices == ()
    assert card.text.endswith("Type your answer: I use your next message.")
    house.telegram.user_sends_text(OWNER, words)
    await house.telegram.wait_text(OWNER, "Done:")
    assert told(house) == f'"owner" answered: {words}'
    assert (await settled(house, card)).endswith(f"owner answered: {words}")


@pytest.mark.parametrize(
    "words, result", [("purple", '"owner" answered: purple'), (" Dark GREEN ", '"owner" chose: dark green')]
)
async def test_choices_and_words_together(house: Hub, words: str, result: str) -> None:
    await asked(house, ANY_COLOUR)
    house.telegram.user_sends_text(OWNER, words)
    await house.telegram.wait_text(OWNER, "Done:")
    assert told(house) == result


async def test_the_api_takes_the_answers_that_a_question_offers(house: Hub) -> None:
    async with client(house.directory) as api:
        for question, refused, answer, result in (
            (
                COLOURS,
                ({"action": "2"}, {"action": "approve"}, {"action": "text", "text": "purple"}),
                {"action": "1"},
                '"owner" chose: dark green',
            ),
            (
                ANY_COLOUR | {"question": "And which one else?"},
                ({"action": "2"}, {"action": "text", "text": " "}),
                {"action": "text", "text": "purple"},
                '"owner" answered: purple',
            ),
        ):
            card = await asked(house, question)
            gate_id = card.choices[0].split(":")[1]
            for body in refused:
                field = list(body)[-1]
                said = {"request_id": gate_id, **body}
                assert await api.refusal("POST", "/api/chat/gate/resolve", said) == (400, "invalid", field)
            said = {"request_id": gate_id, **answer}
            assert (await api.ask("POST", "/api/chat/gate/resolve", said))[0] == 200
            await settled(house, card)
            await house.telegram.wait_text(OWNER, f"Done: {result}")


async def test_words_do_not_answer_a_question_that_takes_only_choices(house: Hub) -> None:
    card = await asked(house, COLOURS)
    house.telegram.user_sends_text(OWNER, "red")
    notice = await house.telegram.wait_text(OWNER, "Your message is queued")
    assert "your answer to: Which colour?" in notice.text
    await house.pressed(OWNER, card, 0)
    await house.telegram.wait_text(OWNER, "You said: red")


async def test_a_text_from_before_the_card_is_not_an_answer(house: Hub) -> None:
    held = house.telegram.fail("hold", method="sendMessage", when="before", count=1)
    house.telegram.user_sends_text(OWNER, f"please call: ask_user {json.dumps(OPEN)}")
    await house.telegram.wait_held()
    house.telegram.user_sends_text(OWNER, "something else")
    await house.telegram.wait_confirmed()
    house.telegram.release(held.id)
    await house.telegram.wait_text(OWNER, "Your message is queued")
    house.telegram.user_sends_text(OWNER, "Beagle")
    await house.telegram.wait_text(OWNER, "You said: something else")
    (result,) = [m["content"] for m in house.model.log[-1].body["messages"] if m["role"] == "tool"]
    assert result == '"owner" answered: Beagle'


async def test_commands_answer_no_question(house: Hub) -> None:
    card = await asked(house, ANY_COLOUR)
    gate_id = card.choices[0].split(":")[1]
    for command in (f"/approve {gate_id}", f"/deny {gate_id}", "/approve"):
        before = len(house.says(OWNER))
        house.telegram.user_sends_text(OWNER, command)
        await house.telegram.wait_for(lambda before=before: len(house.says(OWNER)) > before, LIMIT_S)
        assert house.says(OWNER)[-1].startswith("That doesn't answer this question")
    house.telegram.user_sends_text(OWNER, "/stop")
    assert (await settled(house, card)).endswith("Stopped.")
    house.telegram.user_sends_text(OWNER, "red")
    answer = await house.telegram.wait_text(OWNER, "You said:")
    assert answer.text.endswith("\nred")


async def test_a_strangers_press_is_refused_with_a_reason(house: Hub) -> None:
    house.telegram.user_sends_text(GUEST, "hi")
    shown = await house.telegram.wait_text(GUEST, "You said: hi")
    card = await asked(house, COLOURS)
    query = house.telegram.user_presses_button(GUEST, shown.id, data=card.choices[0])
    answered = (await house.telegram.wait_callback_answer(query.id)).answers[0]
    assert answered["text"] == "This question is for someone else."
    assert answered["show_alert"] is True
    assert house.open_cards(OWNER)
    await house.pressed(OWNER, card, 1)
    await house.telegram.wait_text(OWNER, "Done:")
    assert told(house) == '"owner" chose: dark green'


async def test_not_even_the_owner_answers_for_another_person(house: Hub) -> None:
    house.telegram.user_sends_text(OWNER, "hi")
    shown = await house.telegram.wait_text(OWNER, "You said: hi")
    card = await asked(house, COLOURS, GUEST)
    query = house.telegram.user_presses_button(OWNER, shown.id, data=card.choices[0])
    answered = (await house.telegram.wait_callback_answer(query.id)).answers[0]
    assert answered["text"] == "This question is for someone else."
    assert await house.pressed(GUEST, card, 0) == "Gus chose: red"


async def test_a_guest_is_asked_too(house: Hub) -> None:
    card = await asked(house, COLOURS, GUEST)
    assert "ask_user" in [tool["function"]["name"] for tool in house.model.log[-1].body["tools"]]
    assert await house.pressed(GUEST, card, 0) == "Gus chose: red"
    await house.telegram.wait_text(GUEST, "Done:")
    assert told(house) == '"Gus" chose: red'


async def test_a_question_survives_a_restart_and_an_answer_while_down(house: Hub) -> None:
    card = await asked(house, OPEN)
    await house.stop()
    house.telegram.user_sends_text(OWNER, "Beagle")
    await house.start()
    await house.telegram.wait_text(OWNER, "Done:")
    assert told(house) == '"owner" answered: Beagle'
    assert (await settled(house, card)).endswith("owner answered: Beagle")


async def test_an_unanswered_question_is_reported_as_such(tmp_path: Path) -> None:
    async with open_hub(tmp_path, extra="[approvals]\nexpires_after_s = 60", speed=100) as house:
        card = await asked(house, COLOURS)
        await house.telegram.wait_text(OWNER, "Done:")
        assert "Not answered: no one replied to the question in time." in told(house)
        assert (await settled(house, card)).endswith("No answer in time.")
