"""Buttons that speak for a person: those of `/model` and `/think`, and what a reply suggests to say next."""

from pathlib import Path
from typing import Any

from tests.bot.web.api_client import client
from tests.harness import discord_hub, slack_hub
from tests.harness.discord_hub import open_discord_hub
from tests.harness.slack_hub import open_slack_hub
from tests.harness.telegram_hub import LIMIT_S, OWNER, open_hub
from tests.scenarios.model_house import open_house
from tests.simulators.model import text

SUGGESTED = 'Two go today.\n<suggestions>["Book the first", "/approve all", "  And   back? "]</suggestions>'
LABELS = ["Book the first", "And back?"]


async def test_a_press_puts_a_model_first_and_the_others_stay_its_fallback(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        hub = house.hub
        hub.telegram.user_sends_text(OWNER, "/model")
        card = await hub.card(OWNER)
        assert card.text.startswith("Models for this conversation")
        assert await hub.pressed(OWNER, card, 1) == "Olivia: /model backup"
        await hub.telegram.wait_text(OWNER, "✓ backup (chosen here)", timeout_s=LIMIT_S)
        hub.telegram.user_sends_text(OWNER, "who is it")
        await hub.telegram.wait_text(OWNER, "You said: who is it", timeout_s=LIMIT_S)
        assert (len(house.main.log), len(house.backup.log)) == (1, 1)
        turn = (await house.api.get("/api/why?query=who is it"))["events"][0]["turn"]
        assert (turn["model"], turn["chosen"]) == ("backup", "model backup first")
        hub.telegram.user_sends_text(OWNER, "/think")
        assert await hub.pressed(OWNER, await hub.card(OWNER), 2) == "Olivia: /think medium"
        await hub.telegram.wait_text(OWNER, "effort medium here (chosen here)", timeout_s=LIMIT_S)

        await hub.stop()
        hub.telegram.user_sends_text(OWNER, "and now")
        await hub.start()
        await hub.telegram.wait_text(OWNER, "You said: and now", timeout_s=LIMIT_S)
        assert (len(house.main.log), len(house.backup.log)) == (1, 2)
        efforts = [asked.body.get("reasoning_effort") for asked in house.backup.log.all()]
        assert efforts == [None, "medium"]


async def test_a_suggestion_is_said_once_however_often_it_is_pressed(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as hub:
        telegram = hub.telegram
        hub.model.enqueue(text(SUGGESTED, chunk_chars=5))
        telegram.user_sends_text(OWNER, "trains?")
        card = await hub.card(OWNER)
        keyboard = telegram.message(OWNER, card.id).keyboard
        assert keyboard is not None
        assert [one["text"] for row in keyboard["inline_keyboard"] for one in row] == LABELS
        assert card.text == "Two go today."
        assert all(len(data) <= 20 for data in card.choices)
        telegram.add_user(8, "Ben")
        stranger = telegram.user_presses_button(8, card.id, data=card.choices[0], chat_id=OWNER)
        answered = await telegram.wait_callback_answer(stranger.id, LIMIT_S)
        assert answered.answers[0].get("show_alert")

        telegram.user_sends_text(OWNER, "wait")
        await telegram.wait_text(OWNER, "You said: wait", timeout_s=LIMIT_S)
        await hub.stop()
        presses = [telegram.user_presses_button(OWNER, card.id, data=card.choices[at]) for at in (0, 0, 1)]
        await hub.start()
        for press in presses:
            answered = await telegram.wait_callback_answer(press.id, LIMIT_S)
            assert answered.answers[0]["text"] == "Olivia: Book the first"
        await telegram.wait_text(OWNER, "You said: Book the first", timeout_s=LIMIT_S)
        await hub.settled_sends()
        assert hub.says(OWNER) == [
            "Two go today.\n\nOlivia: Book the first",
            "You said: wait",
            "You said: Book the first",
        ]
        assert hub.open_cards(OWNER) == []
        assert "suggestions" not in str(hub.model.log[-1].body["messages"][1:])


async def test_words_of_a_model_on_a_button_are_never_consent(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as hub:
        hub.model.enqueue(text('Shall I?\n<suggestions>["yes"]</suggestions>'))
        hub.telegram.user_sends_text(OWNER, "hi")
        menu = await hub.card(OWNER)
        hub.telegram.user_sends_text(OWNER, "please run: echo ran >> log")
        await hub.telegram.wait_for(lambda: len(hub.open_cards(OWNER)) == 2, LIMIT_S)
        gate = hub.open_cards(OWNER)[1]
        hub.telegram.user_sends_text(OWNER, "hm")
        await hub.telegram.wait_text(OWNER, "Your message is queued", timeout_s=LIMIT_S)
        assert await hub.pressed(OWNER, menu, 0) == "Olivia: yes"
        await hub.settled_sends()
        assert [card.id for card in hub.open_cards(OWNER)] == [gate.id]
        assert not (hub.workspace / "log").exists()
        await hub.pressed(OWNER, gate, 1)


async def test_suggestions_are_buttons_on_slack(tmp_path: Path) -> None:
    async with open_slack_hub(tmp_path) as place:
        me, here = slack_hub.OWNER, place.direct()
        place.model.enqueue(text(SUGGESTED))
        place.slack.user_sends_text(me, "trains?")
        card = await place.card(here)
        assert [label for label, _ in place.slack.look(card).buttons] == LABELS
        press = place.slack.user_presses_button(me, here, card.ts, 1)
        assert (await place.slack.wait_settled(press.id, LIMIT_S)).state == "acked"
        await place.hears(here, "You said: And back?")
        await place.slack.wait_for(lambda: not place.slack.look(card).buttons, LIMIT_S)


async def test_suggestions_are_buttons_on_discord(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        me = discord_hub.OWNER
        place.model.enqueue(text(SUGGESTED))
        place.discord.user_sends_text(me, "trains?")
        card = await place.card(place.direct())
        assert (await place.presses(me, card, 1)).failure is None
        await place.hears(place.direct(), "You said: And back?")
        await place.discord.wait_for(lambda: not card.buttons(), LIMIT_S)
        assert "Olivia: And back?" in card.text


async def test_suggestions_are_buttons_of_the_api(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as hub, client(hub.directory) as api:
        hub.model.enqueue(text(SUGGESTED))
        sent = await api.send("trains?", new=True)
        path = f"/api/threads/{sent['thread_id']}"

        async def lines(number: int) -> list[dict[str, Any]]:
            async def there() -> bool:
                return len((await api.get(path))["items"]) >= number

            await hub.until(there)
            return (await api.get(path))["items"]

        menu = (await lines(2))[1]["menu"]
        assert menu["labels"] == LABELS
        press = {"menu_id": menu["menu_id"], "choice": 1}
        pressed = [(await api.ask("POST", "/api/chat/press", press))[1] for _ in range(2)]
        assert [one["outcome"] for one in pressed] == ["turn 2", "ignored: said before"]
        assert [one["text"] for one in await lines(4)][2:] == ["And back?", "You said: And back?"]
        assert (await lines(4))[3]["menu"] is None
