"""A token is revoked while the hub runs: that channel says so, the others go on, and a new token takes its
place without a restart. One hub in a process of its own, three platforms, `hubbub secrets set`."""

import re
from collections.abc import Awaitable
from pathlib import Path
from typing import cast

from tests.bot.web.api_client import client
from tests.harness.process import HubProcess
from tests.scenarios.neighbours import Neighbour, Street, open_street


async def talks(neighbour: Neighbour, text: str) -> None:
    neighbour.says(text)
    await cast("Awaitable[object]", neighbour.hears(f"You said: {text}"))


async def loses_its_token(street: Street, hub: HubProcess, struck: Neighbour) -> None:
    """And says so, everywhere; nobody else is touched."""
    struck.revoke()
    struck.says("is somebody there?")
    reason = await street.becomes(hub, struck.name, "failed")
    assert "token" in reason
    async with client(street.directory) as owner:
        page = await owner.get("/api/channels")
        told = {channel["name"]: (channel["phase"], channel["reason"]) for channel in page["channels"]}
    assert told[struck.name] == ("failed", reason)
    assert f"channel.phase_changed channel={struck.name} phase=failed reason={reason}" in hub.err
    for other in street.neighbours:
        if other is not struck and other.name != struck.name:
            assert told[other.name][0] == "running"
            await talks(other, f"while {struck.name} is away")


async def gets_a_new_one(street: Street, hub: HubProcess, struck: Neighbour) -> None:
    """A wrong one changes nothing; with the right one it goes on, also with what was said meanwhile."""
    wrong = await street.keeps(struck.name, struck.token(9))
    assert wrong.code == 0
    assert re.match(rf"{struck.name}: stored; channel {struck.name} keeps its old tokens: .*token", wrong.out)
    assert await street.becomes(hub, struck.name, "failed")
    struck.renew()
    right = await street.keeps(struck.name, struck.token(2))
    assert right.out == f"{struck.name}: stored; channel {struck.name} uses the new tokens\n"
    await cast("Awaitable[object]", struck.hears("You said: is somebody there?"))
    await street.becomes(hub, struck.name, "running")
    await talks(struck, "once more")


async def test_a_revoked_token_is_replaced_without_affecting_other_channels(tmp_path: Path) -> None:
    async with open_street(tmp_path) as street, HubProcess(tmp_path) as hub:
        for neighbour in street.neighbours:
            await talks(neighbour, "hello")
        for neighbour in street.neighbours:
            await loses_its_token(street, hub, neighbour)
            await gets_a_new_one(street, hub, neighbour)
        assert await hub.stop() == 0
    everything = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    for neighbour in street.neighbours:
        for generation in (1, 2, 9):
            token = neighbour.token(generation)
            assert token not in hub.out + hub.err
            assert token.encode() not in everything
