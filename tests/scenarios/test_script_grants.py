"""Always on a line that runs a script covers the script as it was, however it is changed afterwards."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.bot.cli.in_process import command
from tests.harness.telegram_hub import OWNER, Hub, open_hub

ALWAYS = 2
DIGEST = re.compile("[0-9a-f]{32}")


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path) as opened:
        yield opened


async def test_always_on_a_script_asks_again_once_the_script_is_another(house: Hub) -> None:
    script = house.workspace / "tidy.sh"
    script.write_text("touch tidied-$(ls | wc -l)\n")
    house.telegram.user_sends_text(OWNER, "please run: sh tidy.sh")
    card = await house.card(OWNER)
    assert "Always allow would cover shell: sh tidy.sh, as long as tidy.sh stays unchanged" in card.text
    await house.pressed(OWNER, card, ALWAYS)
    await house.telegram.wait_text(OWNER, "Done:")
    house.telegram.user_sends_text(OWNER, "please run: sh tidy.sh")
    await house.telegram.wait_for(lambda: sum("Done:" in said for said in house.says(OWNER)) == 2)
    assert len(list(house.workspace.glob("tidied-*"))) == 2

    listed = (await asyncio.to_thread(command, house.directory, "grants", "list")).out
    assert "sh tidy.sh, as long as tidy.sh stays unchanged" in listed
    assert not DIGEST.search(listed), "the whole pattern is for who asks for it"
    (whole,) = json.loads((await asyncio.to_thread(command, house.directory, "grants", "list", "--json")).out)
    assert DIGEST.search(whole["pattern"])

    script.write_text("touch taken-over\n")
    house.telegram.user_sends_text(OWNER, "please run: sh tidy.sh")
    await house.card(OWNER)
    assert not (house.workspace / "taken-over").exists()
    house.telegram.user_sends_text(OWNER, "/stop")
