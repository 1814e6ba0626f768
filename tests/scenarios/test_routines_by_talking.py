"""One routine of each trigger, made by talking to the bot, fired, its notice read, paused by its button: on
every platform."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.config.keys import VAULT_KEY_NAME, VaultKeyRing
from core.clock import SystemClock
from core.store.routine_rows import RoutineRow
from core.vault import Vault
from tests.harness.hub import LIMIT_S
from tests.harness.people import Shown, hears
from tests.scenarios.scenes import Scene, open_scene
from tests.webhook_senders import SECRET, Sender

SPEED = 30
"""A schedule has no slots closer than a minute: here that is two seconds."""
APPROVE, PAUSE = "Approve", "Pause"
BODY = json.dumps({"ref": "refs/heads/main"}).encode()


PUSHES = {"kind": "webhook", "path": "pushes", "secret_name": "hook", "signature": "github"}


async def presses(scene: Scene, text: str, label: str) -> None:
    """A button of the newest message with that text, once there is one."""

    def shown() -> list[Shown]:
        return [one for one in scene.owner.shown() if text in one.text and label in one.buttons]

    await scene.owner.until(shown)
    await scene.owner.press(shown()[-1], label)


@pytest.mark.slow
@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
async def test_routines_of_each_trigger_are_made_fired_read_and_paused(tmp_path: Path, platform: str) -> None:
    async with open_scene(platform, tmp_path, speed=SPEED) as scene:
        await _keep_secret(scene)
        for name, trigger in (
            ("tick", {"kind": "cron", "schedule": "* * * * *"}),
            ("watch", {"kind": "event", "pattern": "deploy (\\w+)"}),
            ("closing", {"kind": "system_event", "source": "issue", "event_type": "closed"}),
            ("pushes", PUSHES),
            ("asked", {"kind": "manual", "tools": ["time"]}),
        ):
            await _made(scene, name, trigger)
            await _fire(scene, name)
            notice = f"Routine “{name}” has something for you"
            await hears(scene.owner, notice)
            await presses(scene, notice, PAUSE)
            await hears(scene.owner, f"“{name}” is paused.")
            assert not (await _routine(scene, name)).enabled


async def _made(scene: Scene, name: str, trigger: Mapping[str, Any]) -> None:
    """Under consent: there is nothing before the owner agreed."""
    page = {"name": name, "prompt": f"say: {name} looked into it", "cooldown_s": 0, **trigger}
    scene.owner.say(f"please call: routine_create {json.dumps(page)}")
    await presses(scene, f"name: {name}", APPROVE)
    await hears(scene.owner, f"Created: {name}")
    allowed = json.loads((await _routine(scene, name)).text.definition)["action"].get("allowed_tools")
    assert allowed == trigger.get("tools")


async def _fire(scene: Scene, name: str) -> None:
    match name:
        case "watch":
            scene.owner.say("deploy production")
        case "closing":
            scene.owner.say('please call: event_emit {"source": "Issue", "event_type": "Closed"}')
        case "pushes":
            await _bring(scene)
        case "asked":
            scene.owner.say('please call: routine_fire {"name": "asked"}')
        case _:
            pass  # by itself


async def _bring(scene: Scene) -> None:
    headers = {"Content-Type": "application/json", **Sender(0).github(BODY, "d-1")}
    url = f"{scene.place.app.url}/api/webhooks/pushes"
    async with aiohttp.ClientSession() as http, http.post(url, data=BODY, headers=headers) as answer:
        assert answer.status == 202, await answer.text()


async def _keep_secret(scene: Scene) -> None:
    """With the key that the hub makes for itself when it starts."""
    async with asyncio.timeout(LIMIT_S):
        while not (scene.place.directory / "data" / VAULT_KEY_NAME).exists():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.02)
    keys = VaultKeyRing(scene.place.directory / "data", {}).keys_to_seal()
    await Vault(scene.place.app.store.secrets, keys, SystemClock()).keep("hook", SECRET)


async def _routine(scene: Scene, name: str) -> RoutineRow:
    row = await scene.place.app.store.routines.routine_named("owner", name)
    assert row is not None
    return row
