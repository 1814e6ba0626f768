"""Discord: what people there see of the hub."""

from pathlib import Path

from tests.scenarios.guild import LIMIT_S, OWNER, open_server


async def test_a_message_is_answered(tmp_path: Path) -> None:
    async with open_server(tmp_path) as place:
        place.discord.user_sends_text(OWNER, "hello")
        await place.hears(place.direct(), "You said: hello")


async def test_a_call_runs_once_after_its_button_was_pressed(tmp_path: Path) -> None:
    async with open_server(tmp_path) as place:
        place.discord.user_sends_text(OWNER, "please run: echo ran >> log")
        card = await place.card(place.direct())
        assert not (place.files / "log").exists()
        assert (await place.presses(OWNER, card, 0)).failure is None
        await place.hears(place.direct(), "Done:")
        assert (place.files / "log").read_text() == "ran\n"
        await place.discord.wait_for(lambda: "pproved" in card.text, LIMIT_S)
        assert not card.buttons()
