"""P1: nothing is confirmed to the platform before it is committed, however long the commit takes."""

from pathlib import Path

import aiohttp
import pytest

from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, open_mortal_hub
from tests.crash.points import AtCommit, Side

GREETING = "say: hello"


async def hub_had_time(town: MortalHub) -> None:
    """The hub answered twenty requests one after the other: whatever it could do meanwhile it has done."""
    async with aiohttp.ClientSession() as session:
        for _ in range(20):
            async with session.get(f"{town.url()}/readyz") as response:
                assert response.status == 200


@pytest.mark.parametrize("side", ["before", "after"])
async def test_an_update_is_confirmed_only_when_its_event_is_known_to_be_committed(
    tmp_path: Path, side: Side
) -> None:
    async with open_mortal_hub(tmp_path) as town:
        await town.start(freeze_at=AtCommit("accept_event", 1, side))
        town.telegram.user_sends_text(OWNER, GREETING)
        (update,) = town.telegram.updates()
        await town.telegram.wait_for(lambda: bool(update.deliveries), LIMIT_S)
        await hub_had_time(town)
        assert update.confirmed_at is None

        await town.kill()
        await town.start()
        await town.telegram.wait_text(OWNER, "hello", timeout_s=LIMIT_S)
        await town.telegram.wait_for(lambda: update.confirmed_at is not None, LIMIT_S)
        assert [answer.text for answer in town.telegram.bot_messages(OWNER)] == ["hello"]
