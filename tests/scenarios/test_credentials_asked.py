"""A credential that a person is asked for and types, on every platform: into the vault, and nowhere else."""

import json
from pathlib import Path

import pytest

from bot.config.keys import VaultKeyRing
from core.store.sqlite.offline import sealed_in
from tests.harness.people import card, hears
from tests.scenarios.scenes import Scene, open_scene
from tests.scenarios.test_leaks import traces

PASSWORD = "correct horse-battery 7 Staple"
ASK = 'please call: tool_auth {"name": "garden", "purpose": "to read the sensors"}'
KEPT = "Stored in the vault as garden."
pytestmark = [
    pytest.mark.slow,  # in the usual profile on Telegram, by test_credentials
    pytest.mark.parametrize("platform", ["telegram", "slack", "discord"]),
]


def kept(scene: Scene) -> dict[str, str]:
    """The vault, opened."""
    data = scene.place.directory / "data"
    keys = VaultKeyRing(data, {}).keys()
    return {one.name: keys.open(one) for one in sealed_in(data / "hub.db")} if keys is not None else {}


async def test_a_requested_credential_is_stored_in_the_vault_only(tmp_path: Path, platform: str) -> None:
    """Looked for in every file, with the database's log as it is, in what models are asked and what is said;
    also with a restart between the question and the credential."""
    async with open_scene(platform, tmp_path) as scene:
        me = scene.owner
        for restart in (False, True):
            me.say(ASK)
            asked = await card(me, "Cancel")
            assert "the model and the logs don't see it" in asked.text
            if restart:
                await scene.restart()
            me.say(PASSWORD)
            await hears(me, "Done:", times=1 + restart)
        assert any(KEPT in one.text for one in me.shown())
        if platform != "telegram":  # where a bot may not delete what people wrote
            await hears(me, "Please delete it.")
        assert kept(scene) == {"garden": PASSWORD}
        assert traces(tmp_path, PASSWORD) == []
        everything = [json.dumps(one.body) for one in scene.model.log.all()]
        assert not [one for one in (*everything, *(one.text for one in me.shown())) if PASSWORD in one]
        assert "[stored in the vault as garden]" in everything[-1]
    assert traces(tmp_path, PASSWORD) == []


async def test_after_cancel_texts_are_messages_again(tmp_path: Path, platform: str) -> None:
    async with open_scene(platform, tmp_path) as scene:
        me = scene.owner
        me.say(ASK)
        asked = await card(me, "Cancel")
        await me.press(asked, "Cancel")
        await hears(me, "Done:")
        await me.press(asked, "Cancel")
        await me.until(lambda: any(word.startswith("Already closed: ") for word in me.asides()))
        me.say("never mind")
        await hears(me, "You said: never mind")
        assert kept(scene) == {}
