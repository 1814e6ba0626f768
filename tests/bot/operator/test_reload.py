"""`hubbub config reload`: what a running hub takes up from what is written now, and what it leaves alone."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.bot.cli.in_process import command
from tests.bot.web.api_client import client
from tests.harness.process import Ended
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub, write_config

OTHER = "123456:BBE-a-token-of-the-usual-length-0123456"


async def reload(house: Hub, *words: str) -> Ended:
    return await asyncio.to_thread(command, house.directory, "config", "reload", *words)


def renamed(house: Hub, before: str, after: str) -> None:
    """The platform knows the bot by another token from now on."""
    bots = house.telegram.world.bots
    bots[after] = bots.pop(before)


async def answered(house: Hub, text: str) -> None:
    house.telegram.user_sends_text(OWNER, text)
    await house.telegram.wait_text(OWNER, f"You said: {text}", timeout_s=LIMIT_S)


async def test_a_new_token_applies_on_reload_and_the_rest_after_a_restart(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        nothing = await reload(house)
        assert (nothing.code, nothing.out) == (0, "channel telegram is unchanged\n")
        write_config(house, token=OTHER, direct="pairing", extra="[agent]\nqueue = 'one_by_one'")
        refused = await reload(house)
        assert refused.code == 1
        assert "channel telegram keeps its old tokens: Telegram rejected the token" in refused.out
        await answered(house, "with the old one")
        renamed(house, TOKEN, OTHER)
        taken = json.loads((await reload(house, "--json")).out)
        assert taken["channels"] == [{"name": "telegram", "outcome": "replaced", "reason": None}]
        assert set(taken["next_start"]) == {"agent.queue", "channels.telegram.direct"}
        await answered(house, "with the new one")
        renamed(house, OTHER, "123456:gone")
        house.telegram.user_sends_text(OWNER, "is somebody there?")  # ends the poll that waits
        await house.channel_becomes("failed")
        renamed(house, "123456:gone", OTHER)
        again = await reload(house)
        assert "channel telegram uses the new tokens" in again.out
        await answered(house, "let in again")


async def test_a_new_token_is_passed_to_no_model(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        write_config(house, token=OTHER)
        await reload(house)
        (house.workspace / "notes.txt").write_text(f"the token is {OTHER}\n")
        house.telegram.user_sends_text(OWNER, 'please call: read_file {"path": "notes.txt"}')
        await house.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
        assert OTHER not in str(house.model.log[-1].body)


async def test_a_wrong_configuration_changes_nothing(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        write_config(house, token="no-token")
        refused = await reload(house)
        assert refused.code == 2
        async with client(tmp_path) as owner:
            page: Any
            status, page = await owner.ask("POST", "/api/config/reload", {})
            assert (status, page["error"]["code"]) == (409, "refused")
            assert "channels.telegram.token" in page["error"]["message"]
            assert "no-token" not in page["error"]["message"]
            member = await owner.member("Mia")
            assert (await member.refusal("POST", "/api/config/reload", {}))[0] == 403
        await answered(house, "still here")


async def test_added_and_removed_channels_wait_for_a_restart(tmp_path: Path) -> None:
    async with open_hub(tmp_path) as house:
        write_config(house, extra='[channels.second]\nplatform = "telegram"\ntoken = "1:abc"')
        assert (await reload(house)).out.endswith("applied at the next start: channels.second\n")


async def test_a_changed_model_applies_on_reload_and_other_keys_after_a_restart(
    tmp_path: Path,
) -> None:
    async with open_hub(tmp_path) as house, client(tmp_path) as owner:
        write_config(house, model="max_output_tokens = 99", extra="[agent]\nmax_waiting = 9")
        status, page = await owner.ask("POST", "/api/config/reload", {})
        assert status == 200, page
        assert page["next_start"] == ["agent.max_waiting"]
        await answered(house, "short, please")
        assert house.model.log[-1].body["max_tokens"] == 99


async def test_without_a_hub_there_is_nothing_to_reload(tmp_path: Path) -> None:
    async with open_hub(tmp_path, start=False) as house:
        done = await reload(house)
        assert (done.code, done.complaint[:16]) == (1, "no hub is runnin")
